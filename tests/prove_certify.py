"""The long proof of the certifier, run by `make prove`: minutes, too long for every change.

For each cost model: a million random mappings on each of ten problems, brute force over spaces of up to 64
million vectors, and the whole check of every distinct layer of four networks on four machines.
"""

from __future__ import annotations

import numpy as np
import pytest

from dse.accelerator import PRESETS
from dse.certify import verify
from dse.certify.bench import ACCELERATORS, NETWORKS, OBJECTIVES
from dse.certify.loopnest.instance import OBJECTIVES as LOOPNEST_OBJECTIVES
from dse.certify.models import MODELS, solve
from dse.certify.verification import failures
from dse.problem import Problem
from tests.certify_cases import LARGE, REAL, Case, brute_force, real_problem
from tests.certify_loopnest_cases import LARGE as LARGE_LOOPNEST
from tests.certify_loopnest_cases import MODEL
from workloads import load

MILLION = 1_000_000
BATCH = 50_000


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("layer", "accelerator", "objective"), REAL)
def test_a_million_random_mappings_do_not_beat_the_certificate(
    layer: str, accelerator: str, objective: str, model: str
) -> None:
    problem = real_problem(layer, accelerator, objective, model)
    found, rng = solve(problem), np.random.default_rng(10)
    for _ in range(MILLION // BATCH):
        losses = problem.price(problem.space.sample(rng, BATCH)).loss
        assert found.beaten_by(losses) is None


@pytest.mark.parametrize("case", LARGE + LARGE_LOOPNEST, ids=lambda case: f"{case.cost_model}-{case.name}")
def test_the_certificate_is_what_pricing_every_mapping_finds(case: Case) -> None:
    for objective, (least, beside) in brute_force(case).items():
        if case.cost_model == MODEL and objective not in LOOPNEST_OBJECTIVES:
            continue
        found = solve(case.problem(objective)).best
        assert found is not None
        assert (found.loss, found.cycles if objective == "energy" else found.energy_nj) == (least, beside)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_layer_of_every_network_passes_the_check(network: str, accelerator: str, model: str) -> None:
    for layer in load(network).layers:
        for objective in OBJECTIVES:
            problem = Problem(layer, PRESETS[accelerator], objective, model)
            assert failures(verify(problem, solve(problem))) == [], f"{layer.name} {objective}"
