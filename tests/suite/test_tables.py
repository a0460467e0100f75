"""Spaces that are shipped whole, and campaigns in the files of IOHprofiler."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dse as arena
from dse.analysis.study import load_study
from dse.report.ioh import export_study
from dse.suite.tables import write_table
from tests import ROOT
from tests.conftest import Dse

SMALL = arena.suite("gemmini")["resnet50:layer4.0.downsample on gemmini-32-64-128, edp"]


def test_a_table_has_every_point_and_its_least_loss_is_the_proven_one(tmp_path: Path) -> None:
    path = write_table(SMALL, tmp_path)
    assert path is not None
    assert path.stat().st_size < 8 << 20
    with np.load(path) as table:
        loss, sizes, reason = table["loss"], table["sizes"], table["reason"]
        assert loss.shape == tuple(sizes.tolist()) == tuple(SMALL.problem.space.sizes.tolist())
        assert table["genes"].tolist() == [gene.name for gene in SMALL.problem.space.genes]
    assert loss.min() == SMALL.loss == loss[tuple(SMALL.entry.genes)]
    assert (np.isfinite(loss) == (reason == 0)).all()
    points = SMALL.problem.space.sample(np.random.default_rng(0), 50)
    assert loss[tuple(points.T)].tolist() == SMALL.problem.price(points).loss.tolist()


def test_a_suite_without_small_spaces_says_so(dse: Dse, tmp_path: Path) -> None:
    refused = dse("suite", "table", "short", "--out", str(tmp_path)).refused()
    assert "no space of suite 'short' has 1,000,000 points or fewer; the smallest 346,816,512" in refused


def test_a_campaign_is_written_as_the_library_writes_its_runs(dse: Dse, tmp_path: Path) -> None:
    campaign = ROOT / "results" / "final-loopnest"
    shown = dse("export", str(campaign), "--format", "ioh", "--out", str(tmp_path), "--json").json
    study = load_study(campaign)
    problem = study.problems[1]
    (about,) = (tmp_path / "team").glob("IOHprofiler_f2_*.json")
    assert str(about) in shown["files"]
    said = json.loads(about.read_text(encoding="utf-8"))
    (scenario,) = said["scenarios"]
    runs = study.cells(problem, "team")
    assert [run["best"]["y"] for run in scenario["runs"]] == [run.best for run in runs]
    lines = (tmp_path / "team" / scenario["path"]).read_text(encoding="utf-8").splitlines()
    assert lines.count("evaluations raw_y") == len(runs)
    assert float(lines[-1].split()[1]) == runs[-1].best
    assert int(lines[-1].split()[0]) == runs[-1].samples


def test_the_keys_are_those_of_the_library(tmp_path: Path) -> None:
    ioh = pytest.importorskip("ioh")
    function = ioh.get_problem(1, 1, 5, ioh.ProblemClass.REAL)
    logger = ioh.logger.Analyzer(root=str(tmp_path), algorithm_name="x")
    function.attach_logger(logger)
    function([0.0] * 5)
    logger.close()
    (theirs,) = tmp_path.rglob("*.json")
    ours = export_study(load_study(ROOT / "results" / "chains"), tmp_path / "ours")
    mine = json.loads(next(path for path in ours if path.suffix == ".json").read_text(encoding="utf-8"))
    there = json.loads(theirs.read_text(encoding="utf-8"))
    assert set(there) <= set(mine)
    assert set(there["scenarios"][0]) == set(mine["scenarios"][0])
    assert set(there["scenarios"][0]["runs"][0]) == set(mine["scenarios"][0]["runs"][0])


def test_an_export_of_a_mapping_still_needs_its_layer(dse: Dse, tmp_path: Path) -> None:
    asked = ("export", "nvdla", "--format", "json", "--out", str(tmp_path))
    assert "missing option '--layer'" in dse(*asked).refused()
    assert "missing option '--accelerator'" in dse(*asked, "--layer", "vgg16:1").refused()
    refused = dse("export", str(tmp_path), "--format", "ioh", "--out", str(tmp_path / "o")).refused()
    assert "curves" in refused or "campaign" in refused
