"""The check of proofs over tiles of any size under `maestro` at length, run by `make prove`: minutes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.certificate import OPTIMAL
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.least_cost import LeastCost
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from tests.optimum.any_cases import random_problem
from tests.optimum.any_check import SUMS, margins
from workloads import load_layer

LAYERS = 200
REAL = (("resnet18:3", "edge", "energy"), ("resnet18:3", "edge", "edp"))


@pytest.mark.parametrize("objective", SUMS)
def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_with_its_tiles(objective: str) -> None:
    for seed in range(1000, 1000 + LAYERS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, objective, 10**12, "maestro")
        for fixed in ({}, problem.fixed):
            there = problem.with_changes(fixed=fixed)
            assert margins(there, rng, LeastCost(there)).min() >= 1 - 1e-12, problem


@pytest.mark.parametrize("case", REAL, ids=" ".join)
def test_a_certificate_of_a_real_layer_that_is_too_high_by_a_per_mille_fails(
    case: tuple[str, str, str],
) -> None:
    layer, accelerator, objective = case
    problem = Problem(load_layer(layer), PRESETS[accelerator], objective, "maestro", tiles="any")
    found = certify(problem, cache=False)
    assert found.status == OPTIMAL
    assert not failed_checks(verify(problem, found))
    wrong = replace(found, status="bounded", best=None, lower_bound=found.lower_bound * 1.001)
    assert failed_checks(verify(problem, wrong))
