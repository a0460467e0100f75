"""Designs of another package where every command and worker is a process of its own; run by `make prove`."""

from __future__ import annotations

import json
from pathlib import Path

from tests import third_party
from tests.domains.blocking.test_another_domain import campaign, installed, layers

__all__ = ["installed", "layers"]


def test_commands_and_workers_of_their_own_find_it(installed: Path, layers: Path, tmp_path: Path) -> None:
    listed = json.loads(third_party.dse(installed, "list", "--json").stdout)
    assert [cache["name"] for cache in listed["caches"]] == ["small-cache", "large-cache"]
    ran = third_party.dse(installed, *campaign(layers, tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert "4,096 words of cache" in (tmp_path / "out" / "index.html").read_text()
