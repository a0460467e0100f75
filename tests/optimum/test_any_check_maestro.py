"""The check of proofs over tiles of any size under `maestro`: no mapping is below the bound of its box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.domains.clustered.check.covered import box_checks
from dse.models.maestro.check.least_cost import LeastCost
from tests.optimum.any_cases import random_problem
from tests.optimum.any_check import SUMS, bounded, claimed, margins

LAYERS, MOST = 6, 10_000
PARTIAL = 135
"""A layer that has steps with a single unit that is partial."""


def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_with_its_tiles() -> None:
    for seed in (*range(LAYERS), PARTIAL):
        rng = np.random.default_rng(seed)
        problem = random_problem(
            rng, SUMS[1 if seed == PARTIAL else seed % len(SUMS)], 10**12, "maestro"
        ).with_changes(fixed={})
        assert margins(problem, rng, LeastCost(problem)).min() >= 1 - 1e-12, problem


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_a_right_certificate_passes_and_one_that_is_too_high_fails(objective: str) -> None:
    problem = random_problem(np.random.default_rng(1), objective, MOST, "maestro")
    right = claimed(problem)
    assert right.best is not None
    cost = LeastCost(problem)
    assert all(check.passed for check in box_checks(problem, right, np.random.default_rng(0), cost))
    wrong = replace(bounded(right, 1.001), best=None)
    assert not all(check.passed for check in box_checks(problem, wrong, np.random.default_rng(0), cost))
