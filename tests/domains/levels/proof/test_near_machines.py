"""Lists of all nests near a proven optimum of machines of levels, beside what pricing every nest finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.layer import Layer
from dse.core.listed import Listed, Wanted
from dse.domains.levels.layout import RowArray
from dse.domains.levels.nests import nest_keys, nest_of
from dse.domains.levels.problem import MachineProblem
from dse.optimum.near import with_near
from dse.optimum.verification import failed_checks
from dse.optimum.verification.near import verify_near
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from tests.domains.levels.proof.test_certify_machines import LAYERS, random_machine, with_waits
from tests.domains.levels.test_uneven import open_levels, two_levels
from workloads import load_layer

FEW = 2_000
"""Vectors of a space that is gone through."""


def every_row(problem: MachineProblem) -> tuple[RowArray, FloatArray]:
    """All mappings of a problem as rows, and their losses."""
    space = problem.space
    every = np.stack(np.unravel_index(np.arange(space.vectors), space.sizes), axis=1)
    return space.decode(every).rows, problem.price(every).loss


def nests_within(problem: MachineProblem, share: float) -> set[Any]:
    """The nests of all mappings whose loss is within a share of the least."""
    rows, losses = every_row(problem)
    near = rows[losses <= losses.min() * (1 + share)]
    machine, layout = problem.accelerator, problem.space.layout
    return {nest_of(machine, layout.decode(row)) for row in near}


def listed_nests(problem: MachineProblem, listed: Listed) -> list[Any]:
    return [nest_of(problem.accelerator, one.mapping) for one in listed]


@cache
def small_problems(
    nests: str, objective: str, orders: str = "undominated", count: int = 3
) -> list[MachineProblem]:
    """Machines and layers of which every mapping can be priced, and some mapping fits."""
    found, rng, number = [], np.random.default_rng((len(nests), len(objective), len(orders))), 0
    fixed = {"nests": nests, "orders": orders}
    while len(found) < count:
        number += 1
        layer, machine = LAYERS[number % len(LAYERS)], random_machine(rng)
        if nests == "uneven":
            layer, machine = Layer.gemm(*rng.choice([1, 2, 3, 4], 3).tolist()), open_levels(rng)
        if number % 3 == 0:
            machine = with_waits(machine, rng)
        problem = MachineProblem(layer, machine, objective, "timeloop", fixed=fixed)
        if 50 < problem.space.vectors <= FEW and np.isfinite(every_row(problem)[1].min()):
            found.append(problem)
    return found


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@pytest.mark.parametrize(
    ("nests", "orders"), [("even", "undominated"), ("even", "all"), ("uneven", "undominated")]
)
def test_every_nest_within_a_share_is_listed_once(nests: str, orders: str, objective: str) -> None:
    """`prove_near_machines.py` has more problems."""
    assert assert_every_nest_is_listed_once(small_problems(nests, objective, orders)) > 4


def assert_every_nest_is_listed_once(problems: list[MachineProblem]) -> int:
    """How many nests there were in all, each of them in its list."""
    listed = 0
    for number, problem in enumerate(problems):
        share = (0.0, 0.02, 0.2)[number % 3]
        found = dse.certify(problem, cache=False, within=share)
        assert found.within is not None
        assert found.within.complete
        every, own = nests_within(problem, share), listed_nests(problem, found.within)
        assert len(own) == len(set(own))
        assert set(own) == every, (number, problem.layer, problem.accelerator)
        assert found.within[0] == found.best
        listed += len(own)
    return listed


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_so_many_of_the_best_nests_are_listed(nests: str) -> None:
    for problem in small_problems(nests, "edp")[:1]:
        whole = dse.certify(problem, cache=False, within=0.5).within
        few = dse.certify(problem, cache=False, best=5).within
        near = dse.certify(problem, cache=False, best=3, within=0.5).within
        assert whole is not None
        assert few is not None
        assert near is not None
        assert few.complete
        assert [one.loss for one in few][: len(whole)] == [one.loss for one in whole][:5]
        assert [one.loss for one in near] == [one.loss for one in whole][:3]
        assert few.bound <= few[len(few) - 1].loss * (1 + 1e-12)


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_what_is_the_same_nest_costs_the_same(nests: str) -> None:
    """So of those that are written differently one may stand for all."""
    alike = 0
    for problem in small_problems(nests, "energy + 0.25 * latency"):
        rows, losses = every_row(problem)
        machine, layout = problem.accelerator, problem.space.layout
        _, kinds = np.unique(nest_keys(machine, layout, rows), axis=0, return_inverse=True)
        kinds = kinds.reshape(-1)
        fit = np.isfinite(losses)
        firsts = {kind: losses[kinds == kind][0] for kind in np.unique(kinds[fit]).tolist()}
        same = np.array([firsts[kind] for kind in kinds[fit].tolist()])
        np.testing.assert_allclose(losses[fit], same, rtol=1e-12)
        own = [nest_of(machine, layout.decode(row)) for row in rows[fit]]
        assert len(set(own)) == len(firsts)
        alike += len(same) - len(firsts)
    assert alike > 100


@pytest.mark.parametrize(("nests", "share"), [("even", 3.0), ("uneven", 0.1)])
def test_a_list_with_limits_is_of_the_nests_that_keep_them(nests: str, share: float) -> None:
    problem = MachineProblem(
        Layer.gemm(4, 2, 3), two_levels(14), "edp", "timeloop", fixed={"nests": nests},
        limits=["B_use <= 0.8"],
    )  # fmt: skip
    found = dse.certify(problem, cache=False, within=share)
    assert found.within is not None
    assert len(found.within) > 3
    assert set(listed_nests(problem, found.within)) == nests_within(problem, share)


@pytest.mark.parametrize(("nests", "share"), [("even", 3.0), ("uneven", 0.02)])
def test_a_list_is_verified_and_one_that_lacks_nests_is_not(nests: str, share: float) -> None:
    problem = MachineProblem(Layer.gemm(4, 3, 2), two_levels(12), "edp", "timeloop", fixed={"nests": nests})
    found = dse.certify(problem, cache=False, within=share)
    assert found.within is not None
    listed = found.within.mappings
    assert len(listed) > 5
    assert failed_checks(verify_near(problem, found)) == []
    for words, mappings in (
        ("missing in the list", (*listed[:1], *listed[2:])),
        ("there twice", (*listed, listed[-1])),
        ("cost what is claimed", (*listed[:-1], replace(listed[-1], cycles=1))),
    ):
        wrong = replace(found, within=replace(found.within, mappings=mappings))
        (line,) = failed_checks(verify_near(problem, wrong))
        assert words in line


def test_a_list_whose_time_ran_out_says_so_and_what_nothing_is_below() -> None:
    problem = dse.make_problem(load_layer("resnet18:6"), "gemmini", "edp", "timeloop")
    found = dse.certify(problem, cache=False)
    again = with_near(problem, found, Wanted(0.5), 1e-9).within
    assert again is not None
    assert not again.complete
    assert again[0] == found.best
    assert again.bound <= found.lower_bound * 1.5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tiles": "any"}, "are listed over perfect factors only: say --tiles factors"),
        ({"fixed": {"DRAM.order": "KCP", "nests": "uneven"}}, "proven without fixed loops"),
    ],
)
def test_what_cannot_be_listed_is_refused_in_a_line(changes: dict[str, Any], said: str) -> None:
    problem = MachineProblem(Layer.gemm(6, 4, 4), two_levels(24), "edp", "timeloop").with_changes(**changes)
    with pytest.raises(InputError, match=said) as raised:
        dse.certify(problem, cache=False, best=3)
    assert "\n" not in str(raised.value)


def test_uneven_nests_that_are_too_many_to_list_are_refused_before_anything_is_proven() -> None:
    problem = MachineProblem(
        Layer("CONV", 64, 64, 112, 112, 12, 12), open_levels(np.random.default_rng(0)), "edp", "timeloop",
        fixed={"nests": "uneven"},
    )  # fmt: skip
    with pytest.raises(InputError, match=r"too many to"):
        dse.certify(problem, cache=False, best=3)
