"""Optima under limits of a user's own: what pricing every mapping finds, and checks that see a fault."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dse.core.certificate import INFEASIBLE, OPTIMAL, Certificate
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.check.limits import most_steps, room_of, steps_of_busiest
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.models.maestro.proof.boxes import MaestroBoxes
from dse.optimum import certify, verify
from dse.optimum.default import certify as certify_default
from dse.optimum.front import certify_front
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.limit_cases import with_random_limits
from workloads import load_layer

MOST = 8_000
LAYER, EDGE = load_layer("resnet18:3"), PRESETS["edge"]


def least_of_factors(problem: Problem) -> float:
    """The least loss of all points."""
    sizes = [gene.size for gene in problem.space.genes]
    points = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int64)
    return float(problem.price(points).loss.min())


def values(found: Certificate) -> tuple[float, float]:
    return found.lower_bound, found.best.loss if found.best else math.inf


@pytest.mark.parametrize(
    ("model", "tiles"), [(m, t) for m in ("loopnest", "maestro") for t in ("factors", "any")]
)
def test_the_certificate_is_what_pricing_every_mapping_finds(model: str, tiles: str) -> None:
    seen = {"infeasible": 0, "bind": 0}
    for seed in range(16 if tiles == "factors" else 9):
        rng = np.random.default_rng(1000 + seed)
        objective = ("latency", "energy", "edp")[seed % 3]
        problem = with_random_limits(random_problem(rng, objective, MOST, model), rng).with_changes(
            tiles=tiles
        )
        every = least_of_factors if tiles == "factors" else least_loss
        found, least = solve_problem(problem, threads=1), every(problem)
        assert values(found) == (least, least), (seed, problem)
        if seed % 4 == 0:
            assert not failed_checks(verify(problem, found)), (seed, problem)
        seen["infeasible"] += found.status == INFEASIBLE
        seen["bind"] += least > every(problem.with_changes(limits=()))
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_the_optimum_of_a_real_layer_keeps_its_limits_and_is_no_better_than_without(model: str) -> None:
    free = Problem(LAYER, EDGE, "edp", model)
    limited = free.with_changes(limits=["l2_use <= 0.1", "pe_use >= 1"])
    found, other = certify(limited, cache=False), certify(free, cache=False)
    assert found.status == other.status == OPTIMAL
    assert found.lower_bound > other.lower_bound
    checks = verify(limited, found)
    assert not failed_checks(checks)
    assert "the best mapping keeps the limits" in [check.name for check in checks]


def test_limits_that_nothing_meets_are_proven_to_be_so() -> None:
    for model in ("loopnest", "maestro"):
        for limit in ("l1_use <= 0.001", "l2_use <= 0.0001"):
            found = certify(Problem(LAYER, EDGE, "edp", model, limits=[limit]), cache=False)
            assert (found.status, found.best, found.lower_bound) == (INFEASIBLE, None, math.inf)
    # Of 13 rows and columns and 7 channels no tiles keep all of 256 PEs busy.
    odd = Layer("CONV", 7, 7, 15, 15, 3, 3)
    problem = Problem(odd, EDGE, "latency", "loopnest", limits=["pe_use >= 1"])
    found = certify(problem, cache=False)
    assert found.status == INFEASIBLE
    assert not failed_checks(verify(problem, found))


def test_the_checks_count_room_and_busy_pes_by_code_of_their_own() -> None:
    limits = ["l1_use <= 0.29", "l2_use <= 0.333", "pe_use >= 0.57"]
    for layer in (LAYER, load_layer("mobilenet_v2:2")):
        for machine in (EDGE, replace(EDGE, simd_lanes=3, num_pes=84)):
            problem = Problem(layer, machine, "edp", "loopnest", tiles="any", limits=limits)
            assert room_of(problem) == problem.use.room
            assert most_steps(problem) == problem.use.most_steps
            points = problem.space.sample(np.random.default_rng(0), 60)
            batch = problem.space.decode(points)
            steps = [steps_of_busiest(problem, batch[place]) for place in range(len(points))]
            assert problem.use.busiest(batch.rows).tolist() == [
                -(-one // machine.simd_lanes) for one in steps
            ]


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_check_sees_a_best_mapping_that_breaks_a_limit_and_an_optimum_that_is_too_high(
    model: str, tiles: str
) -> None:
    free = Problem(Layer.gemm(4, 4, 3), Accelerator(4, 24, 60, 3, 2), "energy", model, tiles=tiles)
    limited = free.with_changes(limits=["l2_use <= 0.4", "pe_use >= 0.75"])
    found, other = solve_problem(limited), solve_problem(free)
    assert found.best is not None
    assert other.best is not None
    assert found.best.loss > other.best.loss
    broken = failed_checks(verify(limited, replace(other, fingerprint=limited.fingerprint)))
    assert any(one.startswith("the best mapping keeps the limits: L1") for one in broken)
    too_high = failed_checks(verify(free, replace(found, fingerprint=free.fingerprint)))
    assert too_high


def test_what_minimises_ties_fronts_and_defaults_keeps_limits_too() -> None:
    limits = ["l2_use <= 0.05", "pe_use >= 0.5"]
    problem = Problem(load_layer("mlp:2"), EDGE, "latency, energy", "loopnest", limits=limits)
    front = certify_front(problem, cache=False)
    assert front.status == OPTIMAL
    for point in front.points:
        assert problem.explain(point.mapping) == "feasible"
    chosen = certify_default(problem.with_changes(objective="edp"), cache=False)
    assert chosen.tiles == "any"
    assert chosen.best is not None
    assert problem.with_changes(tiles="any").explain(chosen.best.mapping) == "feasible"


def test_a_cost_model_whose_proofs_know_no_limits_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(LAYER, EDGE, "edp", "maestro", limits=["pe_use >= 0.5", "l2_use <= 0.5"])
    monkeypatch.setattr(MaestroBoxes, "limits", ("l2_use",))
    with pytest.raises(InputError) as refused:
        certify(problem, cache=False)
    assert str(refused.value) == (
        "under cost model 'maestro' no optimum can be proven where pe_use >= 0.5; its proofs are of l2_use"
    )
