"""The check of optima of machines of levels by bounds of its own: right ones pass, and wrong ones do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dse
from dse.core.certificate import Certificate
from dse.core.layer import Layer
from dse.core.proofs import Check
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.check import choices
from dse.models.timeloop.check.choices import Factors, check_choices, least_losses
from dse.models.timeloop.proof import whole
from dse.optimum.verification import failed_checks
from tests.domains.levels.proof.test_near_machines import every_row, small_problems
from tests.domains.levels.test_uneven import two_levels


def checked(problem: MachineProblem, found: Certificate) -> Check:
    (check,) = check_choices(problem, found, np.random.default_rng(0))
    return check


def as_asked(problem: MachineProblem) -> MachineProblem:
    """The problem with all that its machine leaves open."""
    return problem.with_changes(fixed={"nests": problem.accelerator.nests})


@pytest.mark.parametrize("objective", ["edp", "latency", "energy", "energy + 0.25 * latency"])
@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_proven_optima_pass_and_lower_ones_that_there_are_do_not(nests: str, objective: str) -> None:
    wrong = 0
    for problem in map(as_asked, small_problems(nests, objective)):
        found = dse.certify(problem, cache=False)
        check = checked(problem, found)
        assert check.passed, check.seen
        assert "drawn" not in check.seen
        assert "left" not in check.seen
        losses = np.unique(every_row(problem)[1])
        worse = losses[losses > found.lower_bound * (1 + 1e-6)]
        if len(worse) and np.isfinite(worse[0]):
            # The second best mapping, said to be the best one.
            planted = checked(problem, replace(found, lower_bound=float(worse[0])))
            assert not planted.passed
            assert f"is below {float(worse[0])!r}" in planted.seen
            wrong += 1
    assert wrong


def test_an_optimum_of_a_solver_that_leaves_orders_out_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [as_asked(one) for one in small_problems("even", "energy", count=5)]
    right = [dse.certify(problem, cache=False) for problem in problems]
    known = whole._level_orders
    monkeypatch.setattr(whole, "_level_orders", lambda names, dims: known(names[:1], dims))
    # A proof begins with a good mapping, which may be the one that its solver would leave out.
    monkeypatch.setattr("dse.models.timeloop.proof.search.good_mapping", lambda *args: None)
    caught = 0
    for problem, true in zip(problems, right, strict=True):
        found = dse.certify(problem, cache=False)
        if found.best is None:
            continue
        is_wrong = found.lower_bound > true.lower_bound * (1 + 1e-6)
        assert checked(problem, found).passed != is_wrong
        caught += is_wrong
    assert caught


@pytest.mark.parametrize("nests", ["even", "uneven"])
@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_no_mapping_is_below_the_bound_of_its_choice(objective: str, nests: str) -> None:
    seen = 0
    for problem in small_problems(nests, objective):
        rows, losses = every_row(problem)
        layout, tensors = problem.space.layout, problem.space.workload.tensor_names
        levels = rows.reshape(len(rows), layout.levels, layout.width).astype(np.int64)
        dims = len(layout.dims)
        kept, which = np.unique(levels[:, :, 3 * dims :], axis=0, return_inverse=True)
        for number, one in enumerate(kept):
            here = np.flatnonzero((which.reshape(-1) == number) & np.isfinite(losses))
            if not len(here):
                continue
            keep = tuple(
                frozenset(name for name, bit in zip(tensors, level, strict=True) if bit) for level in one
            )
            factors = Factors(levels[here, :, :dims], levels[here, :, dims : 2 * dims])
            bounds = least_losses(problem, keep, factors)
            assert (bounds <= losses[here] * (1 + 1e-9)).all()
            seen += len(here)
    assert seen > 100


def test_of_more_choices_than_are_looked_at_it_says_how_many_were_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = MachineProblem(Layer.gemm(6, 4, 4), two_levels(24), "edp", "timeloop")
    found = dse.certify(problem, cache=False)
    monkeypatch.setattr(choices, "MOST_CHOICES", 10)
    check = checked(problem, found)
    assert check.passed
    assert check.name == choices.DRAWN
    assert "10 of " in check.seen
    assert "drawn" in check.seen


def test_what_is_fixed_is_not_looked_at_and_verify_has_the_check_else() -> None:
    problem = MachineProblem(Layer.gemm(6, 4, 4), two_levels(24), "edp", "timeloop")
    found = dse.certify(problem, cache=False)
    checks = dse.verify(problem, found)
    assert failed_checks(checks) == []
    assert choices.NAME in [one.name for one in checks]
    fixed = problem.with_changes(fixed={"DRAM.order": "KPC"})
    assert check_choices(fixed, dse.certify(fixed, cache=False), np.random.default_rng(0)) == ()
