"""Chains that are left out are in no mapping that is as good: on that rest proofs of latency, and of caps."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.components import Component, components_of
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import OPEN, First, orders_of
from dse.models.timeloop.proof.parallel import Parallel
from dse.models.timeloop.proof.search import solve
from dse.models.timeloop.proof.whole import Rows
from tests.domains.levels.proof.test_certify_machines import LAYERS, MAX, least, random_machine
from workloads import load_layer


def test_a_mapping_keeps_its_chains_until_it_has_to_be_better_than_it_is() -> None:
    rng, seen = np.random.default_rng(2), 0
    for layer in LAYERS:
        for objective in ("latency", "energy where latency <= 1"):
            problem = MachineProblem(layer, random_machine(rng), objective, "timeloop")
            space, genes = problem.space, problem.space.sample(rng, 6)
            priced, rows = problem.price(genes), space.decode(genes).rows
            components = components_of(problem)
            counts = [Counts(space.workload, problem.accelerator, one) for one in components]
            orders = orders_of(problem)
            by_row = Rows(problem, counts, orders)
            unit = 1 / problem.criteria.hertz if objective == "latency" else 1e-12
            for place in np.flatnonzero(priced.reason == 0).tolist():
                row = rows[place]
                keep = np.array([row[space.layout.keep(level)] for level in range(space.layout.levels)])
                branch = Branch(problem, 0, components, counts, orders, keep.astype(bool), by_row)
                new, _ = branch.relaxed(branch.root(), math.log(priced.loss[place] / unit + 1e-6), 24)
                assert new is not None
                assert math.exp(new.bound) <= priced.loss[place] / unit * (1 + 1e-9)
                for component, chains in zip(components, new.chains, strict=True):
                    assert chain_of(problem, component, row) in chains
                seen += 1
    assert seen > 30


def chain_of(problem: MachineProblem, component: Component, row: np.ndarray) -> int:
    """The place of a mapping's chain among those of a component."""
    layout, dims = problem.space.layout, list(component.dims)
    temporal = np.stack([row[layout.temporal(level)][dims] for level in range(layout.levels)], axis=-1)
    spatial = np.stack([row[layout.spatial(level)][dims] for level in range(layout.levels)], axis=-1)
    same = (component.temporal == temporal).all(axis=(1, 2)) & (component.spatial == spatial).all(axis=(1, 2))
    return int(np.flatnonzero(same)[0])


def test_optima_under_caps_are_those_of_all_mappings() -> None:
    rng, proven = np.random.default_rng(4), 0
    for number in range(12):
        layer, machine = LAYERS[number % len(LAYERS)], random_machine(rng)
        free = MachineProblem(layer, machine, "latency", "timeloop")
        if free.space.vectors > MAX:
            continue
        every = np.array(list(product(*map(range, free.space.sizes.tolist()))))
        losses = np.sort(free.price(np.unique(free.space.canonical(every), axis=0)).loss)
        losses = losses[np.isfinite(losses)]
        for cap in losses[[0, len(losses) // 4]].tolist() if len(losses) else ():
            problem = MachineProblem(layer, machine, f"energy where latency <= {cap!r}", "timeloop")
            assert solve(problem).lower_bound == least(problem), (number, layer, machine)
            proven += 1
    assert proven > 4


def test_spatial_factors_are_those_that_fit_together() -> None:
    problem = MachineProblem(load_layer("resnet18:2"), load_machine("eyeriss_like"), "latency", "timeloop")
    components, fan_outs = components_of(problem), [level.fan_out for level in problem.accelerator.levels]
    every = [np.arange(len(one)) for one in components]
    parallel = Parallel(components, fan_outs)
    # Of 14 columns Q and K fill all, of 12 rows S, C and K do.
    assert parallel.wide_enough(every, 14 * 12) is not None
    assert parallel.wide_enough(every, 14 * 12 + 1) is None
    left = parallel.wide_enough(every, 14 * 12)
    assert any(not here.all() for here in left)


def test_the_least_cycles_are_those_of_computing_where_all_transfers_fit() -> None:
    problem = MachineProblem(load_layer("resnet18:2"), load_machine("eyeriss_like"), "latency", "timeloop")
    found = solve(problem)
    assert (found.status, found.best.cycles) == ("optimal", 57_802_752 // 168)
    assert found.counts.groups == 1


def four_levels() -> Machine:
    """A machine on which every level keeps everything and may loop over all dims."""
    inner = [
        Level(name, size, fan_out, TENSORS, bandwidth=Bandwidth(shared=rate), energy=Energy.of_any(pj))
        for name, size, fan_out, rate, pj in (("L2", 131_072, 16, 32, 8), ("L1", 1024, 16, 16, 1))
    ]
    registers = Level("RF", 32, 1, TENSORS, bandwidth=Bandwidth(shared=4), energy=Energy.of_any(0.1))
    link = Level("DRAM", keeps=TENSORS, bandwidth=Bandwidth(shared=8), energy=Energy.of_any(6400), block=64)
    return Machine("four", (link, *inner, registers), 0.5)


def test_latency_on_four_levels_is_bound_by_the_words_that_have_to_move() -> None:
    layer = load_layer("resnet50:1")
    found = solve(MachineProblem(layer, four_levels(), "latency", "timeloop"))
    assert (found.status, found.best.cycles) == ("optimal", (64 * 64 + 2 * 64 * 56 * 56) // 8)


def test_a_proof_of_latency_that_was_stopped_has_a_bound_and_goes_on() -> None:
    problem = MachineProblem(Layer.gemm(16, 24, 20), four_levels(), "latency", "timeloop")
    whole, found = solve(problem), solve(problem, Clock(1e-9))
    assert found.status == "bounded"
    for _ in range(3):
        assert 0 < found.lower_bound <= whole.best.loss <= found.best.loss
        found = solve(problem, Clock(1e-9), found)
    found = solve(problem, Clock(), found)
    assert (found.status, found.best.loss) == ("optimal", whole.best.loss)


def test_of_two_mirror_images_one_is_left_out_only_where_all_outer_loops_are_said() -> None:
    problem = MachineProblem(load_layer("resnet18:3"), four_levels(), "latency", "timeloop")
    orders, names = orders_of(problem), problem.space.workload.names
    rows, columns = (First((names.index(dim),), True) for dim in "PQ")
    first, second = sorted((rows, columns))
    assert orders.is_second((second, OPEN, OPEN, OPEN))
    assert not orders.is_second((first, second, OPEN, OPEN))
    # The outer one may still be the first.
    assert not orders.is_second((OPEN, second, OPEN, OPEN))


def test_the_loop_that_a_bound_waits_for_is_that_of_the_next_level_outside() -> None:
    orders = orders_of(MachineProblem(load_layer("resnet18:3"), four_levels(), "latency", "timeloop"))
    weights, outputs_and_inputs = 0, First((orders.left.index(frozenset({0})),), True)
    assert orders.unknown((OPEN, OPEN, OPEN, OPEN), weights, 3) == 2
    # A loop that leaves weights in place has the next one outside of it count.
    assert orders.unknown((OPEN, OPEN, outputs_and_inputs, OPEN), weights, 3) == 1
    assert orders.unknown((OPEN, OPEN, First((orders.looped[2][0],), False), OPEN), 0, 1) == 0
