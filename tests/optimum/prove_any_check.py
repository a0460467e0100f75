"""The check of proofs over tiles of any size at length, run by `make prove`: minutes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.certificate import OPTIMAL
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.check.covered import covered_check
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.check.least_cost import LeastCost
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from tests.optimum.any_cases import random_problem
from tests.optimum.any_check import SUMS, claimed, margins
from tests.optimum.test_any_check import NAME
from workloads import load_layer

LAYERS, PROBLEMS, MOST = 200, 30, 200_000
REAL = (
    ("resnet18:3", "edge", "edp"),
    ("mobilenet_v2:3", "edge", "edp"),
    ("vgg16:conv1_2", "eyeriss-small", "edp"),
    ("vit-b16:scores", "eyeriss-small", "energy"),
)


@pytest.mark.parametrize("objective", SUMS)
def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_with_its_tiles(objective: str) -> None:
    for seed in range(1000, 1000 + LAYERS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, objective, 10**12)
        for fixed in ({}, problem.fixed):
            assert margins(problem.with_changes(fixed=fixed), rng).min() >= 1 - 1e-12, problem


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_a_right_certificate_passes_and_one_that_is_too_high_fails(objective: str) -> None:
    for seed in range(2000, 2000 + PROBLEMS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, objective, MOST)
        least = claimed(problem).lower_bound
        assert covered_check(problem, least, rng, LeastCost(problem))[0].passed, problem
        if np.isfinite(least):
            for more in (1e-9, 1e-3):
                wrong = least * (1 + more)
                assert not covered_check(problem, wrong, rng, LeastCost(problem))[0].passed, problem


@pytest.mark.parametrize("case", REAL, ids=" ".join)
def test_of_real_layers_every_mapping_is_ruled_out_or_priced(case: tuple[str, str, str]) -> None:
    layer, accelerator, objective = case
    problem = Problem(load_layer(layer), PRESETS[accelerator], objective, "loopnest", tiles="any")
    found = certify(problem, cache=False)
    assert found.status == OPTIMAL
    checks = verify(problem, found)
    assert not failed_checks(checks)
    (seen,) = [check.seen for check in checks if check.name == NAME]
    assert seen.startswith("all of ")
    assert "of the rest" not in seen
    for share in (1.0001, 1.001):
        wrong = replace(found, status="bounded", best=None, lower_bound=found.lower_bound * share)
        assert any(line.startswith(NAME) for line in failed_checks(verify(problem, wrong)))
