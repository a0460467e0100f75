"""The long proof of `maestro`'s certifier over tiles of any size, run by `make prove`: minutes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dse.domains.clustered.proof.solver import solve_problem
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.any_points import point_margins

OBJECTIVES = ("latency", "energy", "edp")
PROBLEMS, MOST = 200, 300_000
LAYERS, DRAWN = 1000, 2000


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_certificate_is_what_pricing_every_mapping_finds(objective: str) -> None:
    for seed in range(1000, 1000 + PROBLEMS):
        problem = random_problem(np.random.default_rng(seed), objective, MOST, "maestro")
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_around_it(objective: str) -> None:
    for seed in range(LAYERS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, objective, 10**12, "maestro").with_changes(fixed={})
        assert point_margins(problem, rng, DRAWN).min(initial=1.0) >= 1.0, problem
