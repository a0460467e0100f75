"""Proofs of uneven nests against descents, on machines too large for all nests; minutes."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof import search
from dse.support.arrays import IntArray
from tests.domains.levels.test_uneven import open_levels

LIMIT = 60.0


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof does not begin with what was found, which could be better than what it proves."""
    monkeypatch.setattr(search, "good_mapping", lambda *_: None)


def test_a_loop_stays_where_one_two_levels_further_in_needs_it() -> None:
    """A loop over P below the inputs of L0, which it moves: else the weights of L2 come anew."""
    free = Bandwidth(shared=1.0)
    levels = (
        Level("DRAM", keeps=TENSORS, bandwidth=Bandwidth(shared=0.25), energy=Energy.of_any(100)),
        Level(
            "L0", 20, 2, ("I", "O"), ("W",), spread=("K", "P"), energy=Energy(4, 8, 4), leak_pj=0.5
        ),
        Level(
            "L1", 3, 2, ("I",), ("O",), spread=("C", "Q"), multicast=False, bandwidth=free,
            energy=Energy(1, 2, 1), leak_pj=0.5,
        ),
        Level("L2", 3, keeps=TENSORS, may_keep=(), bandwidth=free, energy=Energy.of_any(1)),
    )  # fmt: skip
    machine = Machine("three", levels, 1.0, "counted")
    problem = MachineProblem(Layer.gemm(16, 8, 6), machine, "edp", "timeloop", fixed={"nests": "uneven"})
    best = HierarchyMapping.parse(
        "L8[WIO] P4 K2 - L7[O] C6 - L6[I] K2 - L5[] P2 K2X - L4[I] P2 - L3[] - L2[W] - L1[I] - L0[O]"
    )
    found = search.solve(problem, Clock(600.0))
    assert found.status == "optimal"
    assert found.lower_bound == pytest.approx(float(problem.evaluate(best).loss[0]), rel=1e-12, abs=0)


def gone_down(problem: MachineProblem, rng: np.random.Generator) -> float:
    """The least loss that descents from the best of random nests find, by one move and some of two."""
    points = problem.space.sample(rng, 2000)
    losses, least = problem.price(points).loss, np.inf
    for start in np.argsort(losses, kind="stable")[:4].tolist():
        here, loss = points[start], float(losses[start])
        for _ in range(60):
            near = around(problem, here)
            twice = [around(problem, point) for point in near[rng.integers(len(near), size=20)]]
            near = np.concatenate([near, *twice])
            found = problem.price(near).loss
            if not found.min() < loss:
                break
            here, loss = near[int(found.argmin())], float(found.min())
        least = min(least, loss)
    return least


def around(problem: MachineProblem, point: IntArray) -> IntArray:
    """The points one move from a point."""
    return np.concatenate([block.neighbours(point) for block in problem.space.blocks])


def test_no_descent_ends_below_what_is_proven() -> None:
    rng, proven, reached = np.random.default_rng(8), 0, 0
    for number in range(24):
        sizes = rng.choice([2, 4, 6, 8], 3).tolist()
        layer = Layer.gemm(*sizes) if number % 3 else Layer("CONV", 2, 4, 6, 1, int(rng.choice([1, 3])), 1)
        objective = ("edp", "energy", "latency")[number % 3]
        problem = MachineProblem(layer, open_levels(rng), objective, "timeloop", fixed={"nests": "uneven"})
        least = gone_down(problem, rng)
        found = search.solve(problem, Clock(LIMIT))
        assert found.lower_bound <= least * (1 + 1e-9), (number, layer, problem.accelerator)
        proven += found.status == "optimal"
        reached += found.status == "optimal" and least <= found.lower_bound * (1 + 1e-9)
    assert proven > 12
    assert reached > 6
