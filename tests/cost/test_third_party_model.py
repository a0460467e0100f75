"""A cost model in somebody else's package is found, checked and used like ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dse.cost.registry import OURS
from tests import ROOT
from tests.third_party import dse, install, run

EXAMPLE = ROOT / "examples" / "third_party_cost_model"
WHERE = ("--layer", "resnet18:0", "--accelerator", "edge", "--cost-model", "roofline")
CAMPAIGN = """\
name = "roofline"
budget = 20
seeds = 1
cost_model = "roofline"
layers = ["resnet18:0"]
accelerators = ["edge"]
objectives = ["edp"]
[searchers.random]
"""
FROM_PYTHON = """\
import dse
from dse.spec.accelerator import PRESETS
from workloads import load_layer
problem = dse.Problem(load_layer("resnet18:0"), PRESETS["edge"], "edp", "roofline")
print(dse.search(problem, "random", budget=20, seed=0).best.loss)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(EXAMPLE, tmp_path_factory.mktemp("third_party_model"))


def test_it_is_listed_with_its_package_and_what_it_can_do(installed: Path) -> None:
    listed = json.loads(dse(installed, "list", "cost-models", "--json").stdout)["cost-models"]
    models = {entry["name"]: entry for entry in listed}
    assert set(models) == {*OURS, "roofline"}
    assert models["roofline"]["package"] == "dse-roofline"
    assert not any(models["roofline"][ability] for ability in ("default", "strides", "cases", "proofs"))


def test_it_keeps_the_contract(installed: Path) -> None:
    checked = dse(installed, "check-cost-model", "roofline")
    assert "FAIL" not in checked.stdout
    assert checked.stdout.splitlines()[-1].startswith("roofline keeps all")


def test_the_same_search_by_the_command_a_campaign_and_python(installed: Path, tmp_path: Path) -> None:
    options = ("--objective", "edp", "--searcher", "random", "--budget", "20", "--seed", "0", "--json")
    searched = json.loads(dse(installed, "search", *WHERE, *options).stdout)
    assert searched["cost_model"] == "roofline"
    python = run([sys.executable, "-c", FROM_PYTHON], PYTHONPATH=str(installed))
    assert float(python.stdout) == searched["best"]["loss"]
    campaign, out = tmp_path / "campaign.toml", tmp_path / "out"
    campaign.write_text(CAMPAIGN)
    dse(installed, "run", str(campaign), "--out", str(out), "--workers", "1", "--tables-only")
    [cell] = (out / "cells").glob("*.parquet")
    import pyarrow.parquet as pq

    assert min(pq.read_table(cell)["loss"].to_pylist()) == searched["best"]["loss"]


def test_what_it_does_not_declare_is_refused_in_a_line(installed: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text("{}\n")
    for arguments, message in (
        (("evaluate", "--cases", str(cases), *WHERE[4:]), "'roofline' prices no cases; expected loopnest or"),
        (("certify", *WHERE, "--objective", "edp"), "can be certified, got 'roofline'"),
        (
            ("evaluate", *WHERE[:4], "--mapping", "nvdla", "--cost-model", "roofline(x=1)"),
            "unknown cost model",
        ),
    ):
        refused = dse(installed, *arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
