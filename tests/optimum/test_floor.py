"""Where the solvers do not reach, a floor below every mapping and a good mapping above it are certified."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof import descent, floor
from dse.domains.clustered.proof.solver import solve_problem
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError
from tests.conftest import Dse

SMALL = Layer("CONV", 4, 3, 6, 5, 3, 3)
MACHINE = Accelerator(16, 128, 1024, 4, 2)
PARTS = {"dims": "KCYXRS", "cluster": "fit", "num_pes": [4, 6, 16]}


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many are enough for a small layer."""
    monkeypatch.setattr(descent, "DRAWN", 2000)
    monkeypatch.setattr(descent, "STARTS", 2)


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
@pytest.mark.parametrize("objective", [*floor.FIGURES, "edp", "area * latency^1.5"])
def test_no_mapping_of_another_space_is_below_the_floor(model: str, objective: str) -> None:
    problem = Problem(SMALL, MACHINE, objective, model, space=PARTS)
    found = certify(problem)
    losses = problem.price(problem.space.sample(np.random.default_rng(1), 5000)).loss
    assert found.best is not None
    assert 0 < found.lower_bound <= min(found.best.loss, losses.min())
    assert failed_checks(verify(problem, found)) == []
    assert found.beaten_by([0.999 * found.lower_bound])


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
@pytest.mark.parametrize("space", ["default", "paper"])
def test_the_least_area_is_proven_where_the_smallest_mapping_is_in_the_space(model: str, space: str) -> None:
    problem = Problem(SMALL, MACHINE, "area", model, space=space)
    found = certify(problem)
    assert found.best is not None
    assert problem.price(np.array([found.best.genes])).loss[0] == found.best.loss
    assert found.status == ("optimal" if found.best.loss == found.lower_bound else "bounded")
    assert found.gap < 0.5


def test_a_filter_in_pieces_needs_less_area_than_a_whole_one() -> None:
    layer = Layer("CONV", 4, 3, 10, 10, 5, 5)
    whole, cut = ({**PARTS, "dims": dims} for dims in ("KCYX", "KCYXRS"))
    floors = [certify(Problem(layer, MACHINE, "area", "maestro", space=parts)) for parts in (whole, cut)]
    assert floors[1].lower_bound < floors[0].lower_bound


def test_what_has_no_floor_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match="products of their powers such as 'edp' have a bound, got 'power'"):
        certify(Problem(SMALL, MACHINE, "power", "maestro", space=PARTS))
    with pytest.raises(InputError, match="the solver takes"):
        solve_problem(Problem(SMALL, PRESETS["edge"], "area", "maestro"))


def test_the_command_says_the_bound_the_gap_and_the_machine(dse: Dse) -> None:
    where = ("--layer", "mobilenet_v2:2", "--accelerator", "paper", "--space", "paper", "--objective", "edp")
    shown = dse("certify", *where, "--cost-model", "loopnest")
    assert shown.code == 0
    assert "best found, at most " in shown.out
    assert "no mapping is below " in shown.out
    assert " PEs in " in shown.out
