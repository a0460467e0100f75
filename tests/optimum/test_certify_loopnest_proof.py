"""Proofs under `loopnest`: the check finds what is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dse.core.certificate import INFEASIBLE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.models.loopnest.bound.boxes import LoopNestBoxes
from dse.optimum import verify
from dse.optimum.verification import Check, failed_checks
from dse.proof.contract import Bounded
from dse.support.arrays import IntArray
from tests.optimum.certify_cases import Case, real_problem
from tests.optimum.certify_loopnest_cases import MODEL, SMALL


def real(layer: str, accelerator: str, objective: str) -> Problem:
    return real_problem(layer, accelerator, objective, MODEL)


def broken(checks: tuple[Check, ...]) -> list[str]:
    """The names of the checks that do not hold."""
    return [check.name for check in checks if not check.passed]


def test_a_lower_bound_that_is_a_cycle_too_high_fails_the_check() -> None:
    problem = real("mobilenet_v2:25", "edge", "latency")
    found = solve_problem(problem)
    assert found.best is not None
    late = (found.best.cycles + 1) / (problem.accelerator.clock_ghz * 1e9)
    assert broken(verify(problem, replace(found, lower_bound=late)))


def test_a_model_whose_bound_is_too_high_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, bound = real("mobilenet_v2:25", "edge", "latency"), LoopNestBoxes.bound

    def too_high(self: LoopNestBoxes, boxes: IntArray, to_beat: float) -> Bounded:
        return Bounded(bound(self, boxes, to_beat).losses * 1.5)

    monkeypatch.setattr(LoopNestBoxes, "bound", too_high)
    monkeypatch.setattr("dse.domains.clustered.proof.solver.first_mapping", lambda problem: None)
    wrong = solve_problem(problem)
    assert broken(verify(problem, wrong))


def test_a_best_mapping_that_is_not_the_best_fails_the_check() -> None:
    problem = real("resnet18:fc", "edge", "energy")
    found, worse = solve_problem(problem), solve_problem(replace(problem, fixed={"outer.tile.K": 1}))
    wrong = replace(found, best=worse.best, lower_bound=worse.lower_bound)
    assert broken(verify(problem, wrong))


def test_calling_a_feasible_problem_infeasible_fails_the_check() -> None:
    problem = real("resnet18:fc", "edge", "latency")
    wrong = replace(solve_problem(problem), status=INFEASIBLE, best=None, lower_bound=math.inf)
    assert len(broken(verify(problem, wrong))) >= 2


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_certificates_of_fixed_genes_and_of_nothing_feasible_pass_the_check(case: Case) -> None:
    problem = case.problem("edp")
    found = solve_problem(problem)
    assert failed_checks(verify(problem, found)) == []
