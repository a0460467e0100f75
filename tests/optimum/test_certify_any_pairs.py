"""Over tiles of any size, what is left out of a proof is never better than what is looked at instead."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.any_pairs import best_in_place, mirrored, square_layer, square_problem, undominated

PROBLEMS, DRAWN, SQUARES, MOST = 60, 40, 3, 200_000


def test_a_dominated_pair_of_tiles_has_a_better_one_whatever_is_beside_it() -> None:
    seen = 0
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, "energy", 10**12).with_changes(fixed={})
        rows = problem.space.decode(problem.space.sample(rng, DRAWN)).rows
        for row in rows[np.isfinite(problem.evaluate(MappingBatch(rows)).loss)][:8]:
            loss, least = best_in_place(problem, row, int(rng.integers(4)))
            assert least <= loss, (problem, row)
            seen += least < loss
    assert seen > 0


def test_most_pairs_of_tiles_of_a_large_dim_are_dominated() -> None:
    problem = Problem(square_layer(np.random.default_rng(0), 100), PRESETS["edge"], "energy", "loopnest")
    row = problem.space.decode(np.zeros((1, len(problem.space.genes)), np.int64)).rows[0]
    assert 0 < undominated(problem, row, 2).mean() < 0.2


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_where_rows_are_like_columns_a_mapping_costs_what_its_mirror_image_does(objective: str) -> None:
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        layer = square_layer(rng, 12)
        problem = Problem(layer, PRESETS["edge-small"], objective, "loopnest", tiles="any")
        rows = problem.space.decode(problem.space.sample(rng, DRAWN)).rows
        losses = problem.evaluate(MappingBatch(rows)).loss
        assert np.array_equal(losses, problem.evaluate(MappingBatch(mirrored(rows))).loss), layer


def test_the_optimum_where_rows_are_like_columns_is_what_pricing_every_mapping_finds() -> None:
    for seed in range(SQUARES):
        problem = square_problem(seed, MOST)
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem
