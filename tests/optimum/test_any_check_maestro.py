"""The check of proofs over tiles of any size under `maestro`: no mapping is below the bound of its box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.check.covered import box_checks, covered_check
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.least_cost import LeastCost
from dse.optimum import certify
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


@pytest.mark.parametrize("layer", [Layer.gemm(2, 1, 3), Layer("DSCONV", 1, 3, 4, 2, 1, 1, stride=(2, 2))])
@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_what_is_inside_of_a_step_that_leaves_clusters_idle_is_gone_through(tiles: str, layer: Layer) -> None:
    problem = Problem(layer, Accelerator(5, 99, 302, 5, 1), "energy", "maestro", tiles=tiles)
    found = certify(problem, cache=False)
    for share, holds in ((1.0, True), (1 + 1e-6, False)):
        bound = found.lower_bound * share
        check, _ = covered_check(problem, bound, np.random.default_rng(0), LeastCost(problem))
        assert check.passed is holds
