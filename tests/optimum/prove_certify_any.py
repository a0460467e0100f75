"""The long proof of the certifier over tiles of any size, run by `make prove`: minutes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.traffic import add_up
from dse.support.arrays import AnyArray
from dse.support.compiling import kernel
from tests.optimum.any_boxes import box_margins
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.any_pairs import best_in_place, square_problem
from tests.optimum.test_certify_any import assert_inner_loops_keep_a_part

PROBLEMS, MOST = 100, 300_000
LAYERS, DRAWN = 1000, 2000


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_the_certificate_is_what_pricing_every_mapping_finds(objective: str) -> None:
    for seed in range(1000, 1000 + PROBLEMS):
        problem = random_problem(np.random.default_rng(seed), objective, MOST)
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_around_it(objective: str) -> None:
    for seed in range(LAYERS):
        rng = np.random.default_rng(seed)
        problem: Problem = random_problem(rng, objective, 10**12).with_changes(fixed={})
        assert box_margins(problem, rng, DRAWN).min() >= 1.0, problem


def test_the_optimum_where_rows_are_like_columns_is_what_pricing_every_mapping_finds() -> None:
    for seed in range(1000, 1000 + PROBLEMS):
        problem = square_problem(seed, MOST)
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


def test_a_dominated_pair_of_tiles_has_a_better_one_whatever_is_beside_it() -> None:
    for seed in range(LAYERS):
        rng = np.random.default_rng(seed)
        problem: Problem = random_problem(rng, "energy", 10**12).with_changes(fixed={})
        rows = problem.space.decode(problem.space.sample(rng, DRAWN // 10)).rows
        feasible = np.isfinite(problem.evaluate(MappingBatch(rows)).loss)
        for row in rows[feasible][:20]:
            loss, least = best_in_place(problem, row, int(rng.integers(4)))
            assert least <= loss, (problem, row)


@kernel
def measured(dims: AnyArray) -> None:
    measure_dim(dims[0])


@kernel
def added_up(dims: AnyArray, dim: int) -> None:
    add_up(dims[0], dim)


def test_what_inner_loops_keep_is_a_part_of_what_they_need() -> None:
    assert_inner_loops_keep_a_part(20_000, measured, added_up)
