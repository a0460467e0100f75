"""The orders of a space: whatever the factors, no other order brings less of any tensor than all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.domains import definition_of, problem_from_definition
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof import boxes, search
from dse.models.timeloop.reference import Costs, evaluate_mapping
from tests.domains.levels.test_uneven import least

LAYERS = (
    Layer("CONV", 4, 2, 9, 1, 4, 1, stride=(2, 1)),
    Layer("CONV", 2, 2, 8, 1, 4, 1, dilation=(2, 1)),
    Layer("DSCONV", 1, 3, 11, 1, 4, 1),
    Layer("CONV", 2, 2, 5, 5, 2, 2),
    Layer("CONV", 2, 1, 9, 3, 2, 2, stride=(1, 1), dilation=(2, 1)),
    Layer("DSCONV", 1, 2, 5, 7, 2, 4),
)


def three_levels(loops: tuple[str, ...] | None = None) -> Machine:
    """Three levels that keep all; those on the chip loop over some dims."""
    free = Bandwidth(shared=1.0)
    inner = [
        Level(name, keeps=TENSORS, may_keep=(), loops=loops, bandwidth=free, energy=Energy.of_any(1))
        for name in ("A", "B")
    ]
    outer = Level("DRAM", keeps=TENSORS, may_keep=(), bandwidth=free, energy=Energy.of_any(9))
    return Machine("three", (outer, *inner), 1.0)


def random_loops(problem: MachineProblem, rng: np.random.Generator) -> list[list[Loop]]:
    """Loops of three levels in any order, those that run more than once."""
    machine, sizes = problem.accelerator, problem.space.workload.sizes
    factors = [dict.fromkeys(sizes, 1) for _ in machine.levels]
    for dim, size in sizes.items():
        while size > 1:
            prime = next(number for number in range(2, size + 1) if size % number == 0)
            able = [
                place
                for place, level in enumerate(machine.levels)
                if level.loops is None or dim in level.loops
            ]
            factors[int(rng.choice(able))][dim] *= prime
            size //= prime
    return [
        [(dim, level[dim]) for dim in rng.permutation(list(level)).tolist() if level[dim] > 1]
        for level in factors
    ]


def deliveries(problem: MachineProblem, loops: list[list[Loop]]) -> tuple[int, ...]:
    """The words that each level receives of each tensor."""
    mapping = HierarchyMapping(tuple(LevelMapping(TENSORS, tuple(here), ()) for here in loops))
    costs = evaluate_mapping(problem.space.workload, problem.accelerator, mapping)
    assert isinstance(costs, Costs)
    return tuple(counts.fills for kept in costs.counts.values() for counts in kept.values())


def in_order(
    problem: MachineProblem, nest: list[list[Loop]], place: int, order: Sequence[str]
) -> tuple[int, ...]:
    """What is delivered with the loops of one level in another order."""
    factors = dict(nest[place])
    here = [(dim, factors[dim]) for dim in order if dim in factors]
    return deliveries(problem, [*nest[:place], here, *nest[place + 1 :]])


def test_no_order_brings_less_than_all_orders_of_the_space() -> None:
    rng, gained, seen = np.random.default_rng(2), 0, 0
    for number in range(100):
        loops = (None, ("P", "C"), ("R", "P", "K"), ("R", "S", "Q"))[number % 4]
        problem = MachineProblem(LAYERS[number % len(LAYERS)], three_levels(loops), "edp", "timeloop")
        nest = random_loops(problem, rng)
        place = int(rng.integers(2))
        if not 1 < len(nest[place]) < 6:
            continue
        level = problem.space.levels[place]
        ours, plain = (
            {in_order(problem, nest, place, order) for order in orders}
            for orders in (level.orders, level.orders[: level.plain])
        )
        for every in permutations(dict(nest[place])):
            found = in_order(problem, nest, place, every)
            assert any(all(map(int.__le__, here, found)) for here in ours), (number, nest, every)
            gained += not any(all(map(int.__le__, here, found)) for here in plain)
        seen += 1
    assert seen > 40
    assert gained > 4


WINDOWS = (
    Layer("CONV", 2, 1, 5, 1, 2, 1),
    Layer("CONV", 3, 1, 6, 1, 3, 1),
    Layer("CONV", 2, 1, 9, 1, 2, 1, stride=(2, 1)),
    Layer("CONV", 3, 1, 7, 1, 2, 1, dilation=(3, 1)),
    Layer("CONV", 2, 2, 5, 1, 2, 1),
    Layer("DSCONV", 1, 3, 6, 1, 3, 1),
    Layer("DSCONV", 1, 2, 8, 1, 4, 1),
)


def small_machine(rng: np.random.Generator) -> Machine:
    """A dear level and one that keeps inputs, and perhaps more, of a few words."""
    kept = ("I", *(name for name in ("W", "O") if rng.random() < 0.4))
    levels = (
        Level(
            "DRAM", keeps=TENSORS, may_keep=(), bandwidth=Bandwidth(shared=0.25),
            energy=Energy.of_any(float(rng.choice([1, 100]))),
        ),
        Level(
            "B", capacity=int(rng.integers(1, 7)), keeps=kept, may_keep=(), energy=Energy.of_any(1),
            fan_out=int(rng.choice([1, 2])), spread=("P",),
        ),
    )  # fmt: skip
    return Machine("small", levels, 1.0)


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_a_proof_is_over_all_orders_whatever_it_begins_with(
    nests: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof that begins with a mapping as good as the best would hide a bound that is too high."""
    monkeypatch.setattr(search, "good_mapping", lambda *_: None)
    monkeypatch.setattr(boxes, "MAX_WHOLE", 0)
    rng, proven, gained = np.random.default_rng(4), 0, 0
    for number in range(42):
        layer, objective = WINDOWS[number % len(WINDOWS)], ("energy", "edp", "latency")[number % 3]
        problem = MachineProblem(layer, small_machine(rng), objective, "timeloop", fixed={"nests": nests})
        every = problem.with_changes(fixed={"nests": nests, "orders": "all"})
        if every.space.vectors > 60_000:
            continue
        best = least(every)
        found = search.solve(problem, Clock(60.0))
        assert found.lower_bound == pytest.approx(best, rel=1e-9, abs=0), (number, layer, problem.accelerator)
        proven += found.best is not None
        before = problem.with_changes(fixed={"nests": nests, "orders": "innermost"})
        gained += least(before) > best * (1 + 1e-9)
    assert proven > 10
    assert gained


def test_what_was_written_before_orders_were_named_is_of_one_for_each_innermost_loop() -> None:
    problem = MachineProblem(LAYERS[0], three_levels(), "edp", "timeloop")
    written = definition_of(problem)
    assert written["fixed"] == {"orders": "undominated"}
    assert problem_from_definition(written, "timeloop").identity == problem.identity
    before = problem_from_definition({**written, "fixed": {}}, "timeloop")
    assert before.space.identity["fixed"] == {}
    assert before.space.vectors < problem.space.vectors
    product = MachineProblem(Layer.gemm(4, 4, 4), three_levels(), "edp", "timeloop")
    assert definition_of(product)["fixed"] == {}
