"""Fixtures of several of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.search.searcher import GROUP


@pytest.fixture
def misbehaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Searchers of these tests, as a distribution offers them that is installed in this folder."""
    info = tmp_path / "site" / "misbehaving-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    entries = {
        "stopping": "tests.cli.misbehaving_searchers:Stopping",
        "partial": "tests.cli.misbehaving_searchers:Partial",
        "raising": "tests.campaign.campaign_searchers:Raising",
        "quitter": "tests.campaign.campaign_searchers:Quitter",
    }
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    monkeypatch.syspath_prepend(info.parent)
    return info.parent
