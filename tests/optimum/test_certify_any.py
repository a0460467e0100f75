"""Optima over tiles of any size under `loopnest`: equal to brute force, with bounds below every price."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.domains.clustered.accelerator import PRESETS, Accelerator, load_accelerator
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import first_mapping, solve_problem
from dse.models.loopnest.bound.boxes import LoopNestBoxes
from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.records import DIM
from dse.models.loopnest.traffic import C, K, add_up
from dse.optimum import certify, verify
from dse.optimum.front import certify_front, verify_front
from dse.optimum.verification import failed_checks
from tests.optimum.any_boxes import box_margins
from tests.optimum.any_cases import least_loss, least_pairs, random_problem
from tests.optimum.plain_kernels import plain
from workloads import load_layer

PROBLEMS, MOST, BOXED = 5, 20_000, 60
GIVEN = "extent", "tile", "piece", "clusters", "places", "pitch", "overlap"
Kernel = Callable[..., Any]


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_the_certificate_is_what_pricing_every_mapping_finds(objective: str) -> None:
    for seed in range(PROBLEMS):
        problem = random_problem(np.random.default_rng(seed), objective, MOST)
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_parallel_dim_that_is_fixed_in_a_depthwise_layer_is_named_as_it_was(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.domains.clustered.proof.solver.first_mapping", lambda problem: None)
    layer, fixed = load_layer("mobilenet_v2:features.14.depthwise"), {"outer.parallel": "K"}
    found = solve_problem(Problem(layer, PRESETS["edge-small"], "edp", model, fixed=fixed))
    assert found.status == OPTIMAL
    assert found.best is not None
    assert found.best.mapping.outer.parallel == "K"


def test_tiles_of_any_size_are_never_worse_than_perfect_factors() -> None:
    # Of its 13 output rows no tile is a perfect factor but one and all.
    layer, edge = Layer("CONV", 32, 3, 15, 15, 3, 3), PRESETS["edge"]
    problem = Problem(layer, edge, "edp", "loopnest", tiles="any")
    found, factors = (
        certify(problem, cache=False),
        certify(problem.with_changes(tiles="factors"), cache=False),
    )
    assert found.status == factors.status == OPTIMAL
    assert found.lower_bound < factors.lower_bound
    assert not failed_checks(verify(problem, found))


def test_a_proof_whose_time_runs_out_has_a_bound_and_goes_on() -> None:
    layer, fixed = load_layer("resnet18:3"), {"cluster": 16}
    problem = Problem(layer, PRESETS["edge"], "energy", "loopnest", tiles="any", fixed=fixed)
    first = solve_problem(problem, Clock(1e-9), threads=1)
    assert (first.status, first.best is not None) == (BOUNDED, True)
    assert first.best is not None
    assert 0.8 < first.lower_bound / first.best.loss < 1
    # A second step of no time does more; one without a limit ends where a proof in one go does.
    second = solve_problem(problem, Clock(1e-9), first, threads=1)
    assert second.status == OPTIMAL or second.counts.inner_levels > first.counts.inner_levels > 0
    assert second.lower_bound >= first.lower_bound
    last, whole = solve_problem(problem, known=second, threads=1), solve_problem(problem, threads=1)
    assert last.status == whole.status == OPTIMAL
    assert last.lower_bound == whole.lower_bound
    assert last.all_seconds > last.seconds


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_proof_begins_with_a_mapping_no_worse_than_the_best_of_perfect_factors(model: str) -> None:
    """Of a vocabulary's product descents over all tiles end higher."""
    problem = Problem(Layer.gemm(1, 128256, 4096), PRESETS["edge"], "edp", model, tiles="any")
    found, factors = first_mapping(problem), solve_problem(problem.with_changes(tiles="factors"))
    assert factors.status == OPTIMAL
    assert found is not None
    assert factors.best is not None
    assert found.loss <= factors.best.loss


def test_where_a_perfect_factor_mapping_is_as_good_it_is_the_one() -> None:
    layer, machine = load_layer("examples/network.toml:conv1"), load_accelerator("examples/accelerator.toml")
    problem = Problem(layer, machine, "edp", "loopnest", tiles="any")
    found, factors = (
        solve_problem(problem, threads=1),
        solve_problem(problem.with_changes(tiles="factors"), threads=1),
    )
    assert found.best is not None
    assert factors.best is not None
    assert found.best.loss == factors.best.loss
    # Orders of loops that do not move are no part of it.
    assert [level.tile for level in (found.best.mapping.outer, found.best.mapping.inner)] == [
        level.tile for level in (factors.best.mapping.outer, factors.best.mapping.inner)
    ]


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_around_it(tiles: str) -> None:
    """`prove_certify_any.py` looks at more of them."""
    for seed in range(BOXED):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, ("latency", "energy", "edp")[seed % 3], 10**12)
        problem = problem.with_changes(fixed={}, tiles=tiles)
        assert box_margins(problem, rng, 400).min() >= 1.0, problem


def test_weights_that_idle_pes_keep_in_a_short_last_step_are_not_counted_again() -> None:
    # Of 21 channels in tiles of 8 on 4 PEs, the last 5 leave 3 PEs idle in their second inner step.
    layer = Layer("CONV", 1, 21, 10, 1, 1, 1, bits=Widths(W=16, I=1, O=1))
    machine = Accelerator(4, 10**6, 10**6, 1, 1000, 0, simd_lanes=9)
    problem, order = Problem(layer, machine, "latency", "loopnest", tiles="any"), tuple("CYKXRS")
    mapping = Mapping(Level("K", order, (1, 8, 1, 1, 1, 1)), 4, Level("C", order, (1, 1, 1, 1, 1, 1)))
    loss = problem.evaluate(MappingBatch.of([mapping])).loss[0]
    tiles = [[1, 1, 1, 1], [8, 8, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    box = np.array([[*np.ravel(tiles), mapping.cluster_size, K, C]])
    assert LoopNestBoxes(problem).bound(box, np.inf).losses[0] <= loss


def test_what_inner_loops_keep_is_a_part_of_what_they_need() -> None:
    """`prove_certify_any.py` looks at more of them, compiled."""
    measured, added_up = plain(measure_dim), plain(add_up)
    assert_inner_loops_keep_a_part(
        1200, lambda dims: measured(dims[0]), lambda dims, dim: added_up(dims[0], dim)
    )


def assert_inner_loops_keep_a_part(draws: int, measured: Kernel, added_up: Kernel) -> None:
    """By functions of records of one dim: one measures it, one adds up what its loops move."""
    rng = np.random.default_rng(0)
    dims = np.zeros(1, DIM)
    for _ in range(draws):
        size, clusters, places = rng.integers(1, [60, 9, 9]).tolist()
        tile = int(rng.integers(1, size + 1))
        inner, pitch, overlap = rng.integers([1, 1, 0], [tile + 1, 4, 8]).tolist()
        for dim in (0, 2):
            dims[:] = np.zeros(1, DIM)
            rows = (pitch, overlap) if dim == 2 else (1, 0)
            for name, value in zip(GIVEN, (size, tile, inner, clusters, places, *rows), strict=True):
                dims[name] = value
            measured(dims)
            added_up(dims, dim)
            sums = dims["sums"][0]
            new = sums["everything"] - sums["inner_next"] - sums["inner_back"]
            assert min(new.min(), sums.view(np.int64).min()) >= 0, dims


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_front_over_tiles_of_any_size_is_that_of_all_mappings(model: str) -> None:
    found = 0
    for seed in (1, 2):
        problem = random_problem(np.random.default_rng(seed), "latency, energy", 10**5, model)
        front, every = certify_front(problem, cache=False), least_pairs(problem)
        assert [(point.cycles, point.energy_nj) for point in front.points] == every, problem
        assert front.status == (OPTIMAL if every else INFEASIBLE)
        assert not failed_checks(verify_front(front))
        found += len(every)
    assert found > 2
