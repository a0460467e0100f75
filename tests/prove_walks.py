"""What a run goes through on its way into the report calls nothing above itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.campaign import executors
from dse.cli import main
from tests.test_walks import Walk, said, walking

RUN = ("dse.search", "dse.campaign", "dse.analysis", "dse.report")
CAMPAIGN = """
name = "walk"
budget = 20
seeds = 1
objectives = ["latency"]
accelerators = ["edge"]
layers = ["resnet18:3"]
[searchers.random]
"""


def test_a_run_becomes_a_report_with_no_call_upward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "LocalProcesses", executors.InProcess)
    (tmp_path / "walk.toml").write_text(CAMPAIGN)
    walk = Walk(RUN)
    with walking(walk.look):
        assert main(["run", str(tmp_path / "walk.toml"), "--out", str(tmp_path / "out")]) == 0
    assert walk.climbs == set()
    assert {"dse.campaign.ledger", "dse.report.page.page"} <= walk.modules
    assert len(walk.modules) <= said("files of search")
