"""Co-design as a campaign: machine and mappings under one gate, and regret to the certified machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.campaign.curves import open_curves
from dse.core.domains import definition_of, problem_from_definition, problem_from_identity
from dse.core.whole_network import WholeNetwork
from dse.optimum import certify, verify
from dse.optimum.codesign.problem import CodesignProblem
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips
from tests.optimum.codesign.enumerated import LAYERS

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
    asked = problem()
    plain: Any = json.loads(json.dumps([definition_of(asked), asked.identity]))
    again = problem_from_definition(plain[0], "codesign"), problem_from_identity(plain[1])
    assert [one.fingerprint for one in again] == [asked.fingerprint] * 2
    points = asked.space.sample(np.random.default_rng(0), 20)
    assert (again[0].price(points).loss == asked.price(points).loss).all()


def test_a_design_is_its_vector_and_its_file() -> None:
    asked = problem()
    points = asked.space.canonical(asked.space.sample(np.random.default_rng(1), 12))
    designs = asked.space.decode(points)
    for row, one in zip(points, designs, strict=True):
        read = asked.read_mapping(json.loads(one.to_json()))
        assert (asked.vectors([read])[0] == row).all()
        assert asked.judge(read).feasible == (asked.explain(read) == "feasible")
    assert (asked.evaluate(designs).loss == asked.price(points).loss).all()


def test_the_certificate_is_the_certified_machine_and_holds() -> None:
    asked = problem()
    found = certify(asked)
    proven = dse.codesign(LAYERS[:2], asked.accelerator, "edp", cache=False)
    assert found.best is not None
    assert (found.status, found.best.loss) == ("optimal", pytest.approx(proven.best["value"], rel=1e-12))
    assert dict(found.best.mapping.machine) == proven.best["parameters"]
    assert all(check.passed for check in verify(asked, found))
    assert certify(asked.with_changes(objective="latency")).lower_bound < np.inf


def test_a_campaign_knows_the_certified_machine_and_no_search_is_below_it(tmp_path: Path, dse: Dse) -> None:
    for name, text in (("space", SPACE), ("net", NETWORK), ("chips", CAMPAIGN)):
        (tmp_path / f"{name}.toml").write_text(text)
    out = tmp_path / "out"
    found = dse("run", str(tmp_path / "chips.toml"), "--out", str(out), "--workers", "1", "--tables-only")
    assert found.code == 0, found.err
    kept = open_curves(out / "curves.parquet")
    (optimum,) = kept.about["optima"].values()
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--json")
    proven = json.loads(dse("codesign", *given).out)
    assert optimum["status"] == "optimal"
    assert optimum["loss"] == pytest.approx(proven["best"]["value"], rel=1e-12)
    best = [cell.best for cell in kept.summaries()]
    assert len(best) == 4
    assert min(best) < np.inf
    assert min(best) >= optimum["lower_bound"]


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
