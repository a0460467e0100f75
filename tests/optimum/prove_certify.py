"""The long proof of the certifier, run by `make prove`: minutes, too long for every change.

For each cost model: a million random mappings on each of ten problems, brute force over spaces of up to 64
million vectors, and the whole check of every distinct layer of four networks on four machines. Under
`loopnest`, brute force of hundreds of random small problems too.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dse.bench.certify import ACCELERATORS, NETWORKS, OBJECTIVES
from dse.core.certificate import INFEASIBLE, OPTIMAL
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.optimum import verify
from dse.optimum.ties import settle_ties
from dse.optimum.verification import failed_checks
from tests.optimum.certify_cases import LARGE, OF_WORK, REAL, WHOLE, Case, brute_force, real_problem
from tests.optimum.certify_loopnest_cases import LARGE as LARGE_LOOPNEST
from tests.optimum.certify_loopnest_cases import MODEL
from tests.optimum.test_certify import CERTIFIED, assert_the_best_of_several_orders
from workloads import load

MODELS = ("loopnest", "maestro")
"""Of machines of two levels."""
MILLION = 1_000_000
BATCH = 50_000
SMALL_PROBLEMS, MAX_VECTORS = 300, 400_000


@pytest.mark.parametrize("seed", range(2, 10))
def test_the_optimum_of_several_orders_is_the_best_of_each_alone(seed: int) -> None:
    for model, kind, objective in product(MODELS, ("CONV", "DSCONV"), ("latency", "edp")):
        assert_the_best_of_several_orders(model, kind, objective, seed)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("layer", "accelerator", "objective"), REAL)
def test_a_million_random_mappings_do_not_beat_the_certificate(
    layer: str, accelerator: str, objective: str, model: str
) -> None:
    problem = real_problem(layer, accelerator, objective, model)
    found, rng = solve_problem(problem), np.random.default_rng(10)
    for _ in range(MILLION // BATCH):
        losses = problem.price(problem.space.sample(rng, BATCH)).loss
        assert found.beaten_by(losses) is None


@pytest.mark.parametrize(
    "case", WHOLE + LARGE + LARGE_LOOPNEST, ids=lambda case: f"{case.cost_model}-{case.name}"
)
def test_the_certificate_is_what_pricing_every_mapping_finds(case: Case) -> None:
    best = brute_force(case)
    for objective in OF_WORK if case.cost_model == MODEL else CERTIFIED:
        see_best(case, objective, *best[objective])


def see_best(case: Case, objective: str, least: float, beside: float) -> None:
    """See that the optimum is the least loss; of latency or energy alone, with the least of the other."""
    problem = case.problem(objective)
    found = settle_ties(problem, solve_problem(problem), cache=False)
    assert found.lower_bound == least, (case, objective)
    if found.best is None:
        assert found.status == INFEASIBLE, (case, objective)
        return
    assert (found.status, found.best.loss) == (OPTIMAL, least), (case, objective)
    if objective in ("latency", "energy"):
        other = found.best.cycles if objective == "energy" else found.best.energy_nj
        assert other == beside, (case, objective)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_layer_of_every_network_passes_the_check(network: str, accelerator: str, model: str) -> None:
    for layer in load(network).layers:
        for objective in OBJECTIVES:
            problem = Problem(layer, PRESETS[accelerator], objective, model)
            assert failed_checks(verify(problem, solve_problem(problem))) == [], f"{layer.name} {objective}"


def test_random_small_problems_are_certified_as_brute_force_says() -> None:
    rng, proven = np.random.default_rng(11), 0
    while proven < SMALL_PROBLEMS:
        case = random_case(rng)
        if case.problem().space.vectors > MAX_VECTORS:
            continue
        proven += 1
        best = brute_force(case)
        for objective in OF_WORK:
            see_best(case, objective, *best[objective])


def random_case(rng: np.random.Generator) -> Case:
    """A small layer on a small machine under `loopnest`, some genes fixed."""
    depthwise, filters = bool(rng.random() < 0.25), rng.integers(1, 5, 2).tolist()
    layer = Layer(
        "DSCONV" if depthwise else "CONV",
        1 if depthwise else int(rng.choice([1, 2, 3, 4, 6])),
        int(rng.integers(1, 5)),
        int(rng.integers(filters[0], filters[0] + 9)),
        int(rng.integers(filters[1], filters[1] + 5)),
        *filters,
        stride=tuple(rng.integers(1, 4, 2).tolist()),
        padding=tuple(rng.integers(0, 3, 2).tolist()),
    )
    machine = Accelerator(
        int(rng.choice([1, 2, 3, 4, 5, 6, 8])),
        int(rng.choice([12, 20, 40, 80, 160, 400])),
        int(rng.choice([40, 80, 160, 320, 1000])),
        int(rng.integers(1, 9)),
        int(rng.integers(1, 6)),
        int(rng.choice([0, 1, 2, 5])),
        int(rng.choice([1, 1, 2, 3])),
    )
    fixed: dict[str, Any] = {}
    for level in ("outer", "inner"):
        if rng.random() < 0.6:
            fixed[f"{level}.parallel"] = str(rng.choice(list("KCYX")))
        if rng.random() < 0.4:
            fixed[f"{level}.order"] = "".join(rng.permutation(list("KCYX")))
    return Case("random", layer, machine, fixed, MODEL)
