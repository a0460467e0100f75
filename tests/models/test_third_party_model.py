"""A cost model in somebody else's package is found, checked and used like ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dse import Problem, search
from dse.core.cost_models import all_models
from dse.domains.clustered.accelerator import PRESETS
from tests import ROOT
from tests.conftest import Dse
from tests.third_party import found, install
from workloads import load_layer

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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = install(EXAMPLE, tmp_path_factory.mktemp("third_party_model"))
    with found(folder):
        yield folder


@pytest.mark.usefixtures("installed")
def test_it_is_listed_with_its_package_and_what_it_can_do(dse: Dse) -> None:
    listed = dse("list", "cost-models", "--json").json["cost-models"]
    models = {entry["name"]: entry for entry in listed}
    assert set(models) == {*all_models()}
    assert models["roofline"]["package"] == "dse-roofline"
    assert not any(models["roofline"][ability] for ability in ("default", "strides", "cases"))
    assert models["roofline"]["proofs"]


@pytest.mark.usefixtures("installed")
def test_it_keeps_the_contract(dse: Dse) -> None:
    checked = dse("check-cost-model", "roofline")
    assert "FAIL" not in checked.out
    assert checked.out.splitlines()[-1].startswith("roofline keeps all")


@pytest.mark.usefixtures("installed")
def test_the_same_search_by_the_command_a_campaign_and_python(tmp_path: Path, dse: Dse) -> None:
    options = ("--objective", "edp", "--searcher", "random", "--budget", "20", "--seed", "0", "--json")
    searched = dse("search", *WHERE, *options).json
    assert searched["cost_model"] == "roofline"
    problem = Problem(load_layer("resnet18:0"), PRESETS["edge"], "edp", "roofline")
    found = search(problem, "random", budget=20, seed=0)
    assert found.best is not None
    assert found.best.loss == searched["best"]["loss"]
    assert dse(*command(tmp_path)).code == 0
    assert best(tmp_path) == searched["best"]["loss"]


@pytest.mark.usefixtures("installed")
def test_its_optimum_is_proven_checked_and_not_beaten(dse: Dse) -> None:
    where = ("--layer", "mobilenet_v2:1", "--accelerator", "eyeriss-small", "--cost-model", "roofline")
    proof = dse("certify", *where, "--objective", "edp", "--verify", "--json").json
    assert proof["status"] == "optimal"
    options = ("--objective", "edp", "--searcher", "genetic", "--budget", "500", "--json")
    assert dse("search", *where, *options).json["best"]["loss"] >= proof["best"]["loss"]


def command(folder: Path) -> tuple[str, ...]:
    """What runs the campaign in a folder."""
    campaign = folder / "campaign.toml"
    campaign.write_text(CAMPAIGN)
    return "run", str(campaign), "--out", str(folder / "out"), "--workers", "1", "--tables-only"


def best(folder: Path) -> float:
    """The least loss of the campaign's one cell."""
    import pyarrow.parquet as pq

    [cell] = (folder / "out" / "cells").glob("*.parquet")
    return min(pq.read_table(cell)["loss"].to_pylist())


@pytest.mark.usefixtures("installed")
def test_what_it_does_not_declare_is_refused_in_a_line(tmp_path: Path, dse: Dse) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text("{}\n")
    for arguments, message in (
        (("evaluate", "--cases", str(cases), *WHERE[4:]), "'roofline' prices no cases; expected loopnest or"),
        (("certify", *WHERE, "--objective", "power"), "under cost model 'roofline' only latency and energy"),
        (
            ("evaluate", *WHERE[:4], "--mapping", "nvdla", "--cost-model", "roofline(x=1)"),
            "unknown cost model",
        ),
    ):
        assert message in dse(*arguments).refused()
