"""Co-design as a campaign: machine and mappings under one gate, and regret to the certified machine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.core.edges import WholeNetwork
from dse.core.layer import Layer
from dse.optimum import certify, verify
from dse.optimum.codesign.domain import CodesignProblem
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS
from tests.optimum.network_problems import campaign_of, is_made_again, read_from_files

CAMPAIGN = """
name = "chips"
budget = 30
seeds = 2
cost_model = "codesign"
objectives = ["edp"]
accelerators = ["space.toml"]
layers = ["net.toml"]
[searchers.random]
[searchers.genetic]
population_size = 10
"""


def problem() -> CodesignProblem:
    space = chips(num_pes=[4, 6], l1_size=[64, 128], l2_size=[1024, 2048], constraints={"area_mm2": 0.1})
    return CodesignProblem(WholeNetwork("two", LAYERS[:2]), space, "edp")


def test_a_problem_is_made_again_from_what_a_folder_says_of_it() -> None:
    is_made_again(problem())
    space = gemmini([2, 4], [1, 2], [1])
    is_made_again(CodesignProblem(WholeNetwork("one", (Layer.gemm(4, 4, 4),)), space, "edp"))


def test_a_design_is_its_vector_and_its_file() -> None:
    asked = problem()
    for row, _, read in read_from_files(asked):
        assert (asked.vectors([read])[0] == row).all()


def test_the_certificate_is_the_certified_machine_and_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.optimum.verification.RANDOM_MAPPINGS", 1000)
    asked = problem()
    found = certify(asked, cache=False)
    proven = dse.codesign(LAYERS[:2], asked.accelerator, "edp", cache=False)
    assert found.best is not None
    assert (found.status, found.best.loss) == ("optimal", pytest.approx(proven.best["value"], rel=1e-12))
    assert dict(found.best.mapping.machine) == proven.best["parameters"]
    assert all(check.passed for check in verify(asked, found))
    assert certify(asked.with_changes(objective="latency"), cache=False).lower_bound < np.inf


def test_a_campaign_knows_the_certified_machine_and_no_search_is_below_it(tmp_path: Path, dse: Dse) -> None:
    optimum = campaign_of(dse, tmp_path, {"chips": CAMPAIGN, "space": SPACE, "net": NETWORK})
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--json")
    proven = json.loads(dse("codesign", *given).out)
    assert optimum["loss"] == pytest.approx(proven["best"]["value"], rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"space.toml"', '"edge"', "needs a space of hardware, a TOML file"),
        ('"edp"', '"area"', "no sum, of latency and energy"),
        ("seeds = 2", 'seeds = 2\ntiles = "any"', "perfect factors"),
    ],
)
def test_what_a_campaign_of_co_design_cannot_be_is_refused(
    tmp_path: Path, dse: Dse, old: str, new: str, says: str
) -> None:
    for name, text in (("space", SPACE), ("net", NETWORK), ("chips", CAMPAIGN.replace(old, new))):
        (tmp_path / f"{name}.toml").write_text(text)
    assert says in dse("run", str(tmp_path / "chips.toml"), "--out", str(tmp_path / "out")).refused()
