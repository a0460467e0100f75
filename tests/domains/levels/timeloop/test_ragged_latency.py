"""Fill, drain and buffering where tiles do not divide: closed forms are a walk of all steps."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.levels.checks import OVERLAPPED, SINGLE
from dse.domains.levels.machine import FIRST_FILLS, RETURNED, TENSORS, Bandwidth, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.tiles import has_ragged_tiles
from dse.domains.levels.uneven import NESTS, with_nests
from dse.domains.levels.workload import Workload, workload_of
from dse.models.timeloop import layout_of, prepared_prices, reference
from dse.models.timeloop.proof.boxes import LevelBoxes
from dse.models.timeloop.proof.branches import OpenBranches
from dse.models.timeloop.proof.terms import unit_of_loss
from dse.proof.proving import prove_optimum
from tests.domains.levels.proof.test_certify_machines import with_waits
from tests.domains.levels.proof.test_ragged_proofs import FEW, PRODUCTS, bound_of, least_of_all
from tests.domains.levels.proof.test_ragged_proofs import LAYERS as SMALL
from tests.domains.levels.test_ragged import LAYERS, random_mapping
from tests.domains.levels.test_uneven import open_levels
from tests.domains.levels.walk_ragged import RaggedWalk


def waiting_machine(rng: np.random.Generator) -> Machine:
    """Levels with buffering of all kinds, of which at least one makes all else wait."""
    while True:
        machine = with_waits(open_levels(rng), rng)
        first = str(rng.choice([*FIRST_FILLS, RETURNED]))
        if machine.waits:
            return replace(machine, first_fill=first)


def walked(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> int:
    """The cycles of a mapping by going through the steps of the instance that does most, in fractions."""
    walk, last = RaggedWalk(workload, machine, mapping), len(machine.levels)
    left = dict.fromkeys([(place, kind) for place in range(last) for kind in ("read", "write")], 0)
    clock = Fraction(0)
    links = []
    for tensor in workload.tensors:
        places = [place for place in range(last) if tensor.name in mapping.levels[place].keep]
        for place in places:
            reads, fills, updates = walk.counted(tensor, place)[0]
            left[machine.storages[place], "read"] += reads * tensor.bits
            left[machine.storages[place], "write"] += (fills + updates) * tensor.bits
        links += [(tensor, *link) for link in pairwise(places)]
    for tensor, outer, inner in links:
        single = machine.levels[inner].buffering == SINGLE
        if not single and not machine.fill_and_drain:
            continue
        words = walk.waited(tensor, outer, inner, single=single)
        comes, sent, goes = (count * tensor.bits for count in words)
        above, below = machine.storages[outer], machine.storages[inner]
        moved = {(above, "read"): sent, (below, "write"): comes}
        for ports in (moved, {(above, "write"): goes}):
            clock += slowest(machine, ports)
            for port, count in ports.items():
                left[port] = max(left[port] - count, 0)
    return ceil(clock + max(Fraction(walk.steps()), slowest(machine, left)))


def slowest(machine: Machine, words: dict[tuple[int, str], int]) -> Fraction:
    """Cycles of the port that takes longest."""
    found = Fraction(0)
    for place, level in enumerate(machine.levels):
        read, write = words.get((place, "read"), 0), words.get((place, "write"), 0)
        for count, rate in zip((read, write, read + write), level.bandwidth.each, strict=True):
            found = found if rate is None else max(found, Fraction(count) / Fraction(rate))
    return found


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_the_closed_form_is_a_walk_of_all_steps_and_the_kernel_has_it_too(nests: str) -> None:
    """`prove_ragged_latency.py` has more mappings."""
    assert assert_the_closed_form_is_a_walk(nests, 18 if nests == "even" else 180) > 4


def assert_the_closed_form_is_a_walk(nests: str, draws: int) -> int:
    """How many of the mappings drawn wait; the closed form and the kernel have the cycles of each."""
    rng, seen = np.random.default_rng(4), 0
    for number in range(draws):
        workload = workload_of(LAYERS[number % len(LAYERS)])
        machine = with_nests(waiting_machine(rng), nests).unlimited
        mapping = random_mapping(rng, workload, machine)
        costs = reference.evaluate_mapping(workload, machine, mapping)
        # Of parts of a level each tensor is in one, which is left to chance here.
        if isinstance(costs, reference.NotPriced) or not has_ragged_tiles(workload, mapping):
            continue
        assert costs.cycles == walked(workload, machine, mapping), (number, mapping.text())
        priced = prepared_prices(workload, machine)(
            layout_of(workload, machine, any_tiles=True).encode([mapping])
        )
        assert priced.cycles[0] == costs.cycles, (number, mapping.text())
        assert priced.energy_pj[0] == costs.energy_pj
        seen += costs.cycles > costs.steps
    return seen


def two_levels(buffering: str, *, fills: bool) -> Machine:
    link = Bandwidth(shared=1.0)
    levels = (
        Level("DRAM", keeps=TENSORS, bandwidth=link),
        Level("Buffer", keeps=TENSORS, buffering=buffering),
    )
    return Machine("two", levels, 1.0, fill_and_drain=fills)


@pytest.mark.parametrize(
    ("buffering", "fills", "cycles"),
    [
        # A weight, seven inputs and seven outputs pass the link; seven steps compute.
        (OVERLAPPED, False, 15),
        # First come the weight and four inputs, and as a last tile counts as long, four outputs go last.
        (OVERLAPPED, True, 5 + 4 + 7),
        # Nothing is hidden.
        (SINGLE, False, 15 + 7),
        (SINGLE, True, 15 + 7),
    ],
)
def test_tiles_of_four_and_three_are_counted_by_hand(buffering: str, fills: bool, cycles: int) -> None:
    workload = workload_of(Layer.gemm(7, 1, 1))
    (dim,) = [name for name, size in workload.dims if size == 7]
    mapping = HierarchyMapping.parse(f"L1[WIO] {dim}2:4 - L0[WIO] {dim}4:1")
    machine = two_levels(buffering, fills=fills)
    costs = reference.evaluate_mapping(workload, machine, mapping)
    assert isinstance(costs, reference.Costs), costs
    assert (costs.steps, costs.cycles) == (7, cycles)
    assert walked(workload, machine, mapping) == cycles


@pytest.mark.parametrize("objective", ["edp", "latency"])
@pytest.mark.parametrize(("nests", "layers"), [("even", SMALL), ("uneven", PRODUCTS)])
def test_proven_optima_of_any_tiles_are_the_least_of_all_where_all_else_waits(
    nests: str, layers: list[Layer], objective: str
) -> None:
    """`prove_ragged_latency.py` has more problems."""
    assert assert_proven_optima_are_the_least(nests, layers, objective, 5 if nests == "even" else 9) > 2


def assert_proven_optima_are_the_least(nests: str, layers: list[Layer], objective: str, draws: int) -> int:
    """How many of the problems drawn had few mappings; the optimum of each is the least of all."""
    rng, seen = np.random.default_rng(6), 0
    for number in range(draws):
        layer, machine = layers[number % len(layers)], waiting_machine(rng)
        problem = MachineProblem(layer, machine, objective, "timeloop", "any", fixed={"nests": nests})
        if problem.space.vectors > FEW:
            continue
        # Nothing to begin with: the proof has to come upon the best mapping itself.
        boxes = LevelBoxes(problem, may_be_small=False)
        found, least = (
            prove_optimum(problem, boxes, boxes.mapping_of, lambda: None, Clock()),
            least_of_all(problem),
        )
        assert found.status == ("infeasible" if np.isinf(least) else "optimal")
        if found.best:
            assert found.best.loss == pytest.approx(least), (number, layer)
        seen += 1
    return seen


@pytest.mark.parametrize("objective", ["edp", "latency"])
def test_no_nest_of_any_tiles_waits_less_than_the_bound_of_its_chains(objective: str) -> None:
    rng, seen = np.random.default_rng(2), 0
    for number in range(6):
        layer, nests = (Layer.gemm(10, 7, 3), *SMALL[1::3])[number % 3], NESTS[number % 2]
        problem = MachineProblem(
            layer, waiting_machine(rng), objective, "timeloop", "any", fixed={"nests": nests}
        )
        branches = OpenBranches(problem)
        unit = unit_of_loss(objective_named(objective), float(problem.criteria.hertz))
        points = problem.space.sample(rng, 60)
        losses = problem.price(points).loss
        for row, loss in zip(problem.space.decode(points).rows, losses, strict=True):
            if loss < np.inf:
                assert math.exp(bound_of(problem, branches, row)) * unit <= loss * (1 + 1e-9), number
                seen += 1
    assert seen > 50, seen
