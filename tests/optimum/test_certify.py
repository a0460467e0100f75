"""Certified optima: equal to brute force, never beaten, within the genes that are fixed and the time."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.certificate import Certificate
from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.objective import objectives_of
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.support.errors import InputError
from tests.optimum.certify_cases import (
    FEW_REAL,
    PRODUCTS,
    SMALL,
    Case,
    brute_force,
    odd_machine,
    real_problem,
)
from workloads import load_layer


def certify(problem: Problem, time_limit: float | None = None) -> Certificate:
    return dse.certify(problem, time_limit, tiles=getattr(problem, "tiles", None), cache=False)


NAMED = tuple(name for name, item in objectives_of("maestro").items() if not item.of_need)
CERTIFIED = (*NAMED, *PRODUCTS)


# The optimum


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_certificate_is_what_pricing_every_mapping_finds(case: Case) -> None:
    best = brute_force(case)
    for objective in CERTIFIED:
        found = certify(case.problem(objective))
        assert found.lower_bound == best[objective][0], objective
        if found.best is None:
            assert (found.status, best[objective][0]) == ("infeasible", math.inf)
        else:
            assert (found.status, found.best.loss) == ("optimal", best[objective][0]), objective
            if objective in ("latency", "energy"):
                beside = found.best.cycles if objective == "energy" else found.best.energy_nj
                assert beside == best[objective][1], objective


def test_the_brute_force_cases_differ_enough_to_mean_something() -> None:
    problems = [case.problem() for case in SMALL]
    statuses = [certify(problem).status for problem in problems]
    assert statuses.count("infeasible") == 1
    assert sum(problem.space.mappings for problem in problems) > 300_000
    refused = set()
    for problem in problems:
        points = problem.space.sample(np.random.default_rng(0), 2000)
        refused |= set(problem.price(points).reason.tolist())
    # Feasible ones, too little L1 and too little L2: the buffers bind.
    assert len(refused) >= 3


@pytest.mark.parametrize(("layer", "accelerator", "objective"), FEW_REAL)
def test_random_mappings_never_beat_a_certificate(layer: str, accelerator: str, objective: str) -> None:
    problem = real_problem(layer, accelerator, objective)
    found = certify(problem)
    losses = problem.price(problem.space.sample(np.random.default_rng(1), 20_000)).loss
    assert found.status == "optimal"
    assert found.beaten_by(losses) is None
    assert losses.min() < 10 * found.lower_bound


def test_neighbours_of_the_best_mapping_never_beat_it() -> None:
    problem = real_problem("mobilenet_v2:1", "eyeriss-small", "edp")
    best = certify(problem).best
    assert best is not None
    around = np.tile(np.array(best.genes), (5000, 1))
    rng = np.random.default_rng(2)
    for _ in range(4):
        around = problem.space.neighbour(rng, around)
        assert problem.price(around).loss.min() >= best.loss


def test_odd_machines_are_certified_too() -> None:
    layer, machine = load_layer("resnet18:5"), odd_machine("eyeriss-small")
    for objective in CERTIFIED:
        problem = Problem(layer, machine, objective, "maestro")
        found = certify(problem)
        losses = problem.price(problem.space.sample(np.random.default_rng(3), 5000)).loss
        assert found.status == "optimal"
        assert found.beaten_by(losses) is None


def test_the_best_mapping_is_in_the_space_and_costs_what_the_problem_says() -> None:
    problem = real_problem("vgg16:conv4_2", "edge", "edp")
    best = certify(problem).best
    assert best is not None
    genes = np.array([best.genes])
    costs = problem.price(genes)
    assert problem.space.decode(genes)[0] == best.mapping
    assert (costs.loss[0], costs.cycles[0], costs.energy_nj[0]) == (best.loss, best.cycles, best.energy_nj)
    assert (costs.l1_size[0], costs.l2_size[0], costs.macs[0]) == (best.l1_size, best.l2_size, best.macs)


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("kind", ["CONV", "DSCONV"])
def test_the_optimum_of_several_values_of_a_gene_is_the_best_of_each_alone(model: str, kind: str) -> None:
    layer = Layer(kind, 1 if kind == "DSCONV" else 6, 4, 6, 6, 3, 3, padding=(1, 1))
    machine = replace(PRESETS["eyeriss-small"], num_pes=8, l1_size=64, l2_size=512)
    fixed: dict[str, Any] = {"outer.parallel": ["K", "Y"], "inner.parallel": ["K", "X"], "cluster": [2, 4]}
    several = Problem(layer, machine, cost_model=model, fixed=fixed)
    found = certify(several)
    alone = [
        certify(Problem(layer, machine, cost_model=model, fixed=dict(zip(fixed, values, strict=True)))).best
        for values in product(*fixed.values())
    ]
    assert found.best is not None
    assert found.lower_bound == min(best.loss for best in alone if best is not None)
    assert several.price(np.array([found.best.genes])).loss[0] == found.best.loss
    assert all(check.passed for check in dse.verify(several, found))


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("kind", ["CONV", "DSCONV"])
@pytest.mark.parametrize("objective", ["latency", "edp"])
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_of_several_orders_is_the_best_of_each_alone(
    model: str, kind: str, objective: str, seed: int
) -> None:
    """`prove_certify.py` has more seeds."""
    assert_the_best_of_several_orders(model, kind, objective, seed)


def assert_the_best_of_several_orders(model: str, kind: str, objective: str, seed: int) -> None:
    layer = Layer(kind, 1 if kind == "DSCONV" else 6, 4, 6, 6, 3, 3, padding=(1, 1))
    machine = replace(PRESETS["eyeriss-small"], num_pes=8, l1_size=64, l2_size=512, offchip_bandwidth=1)
    rng, every = np.random.default_rng(seed), ["".join(order) for order in permutations("KCYX")]
    fixed = {f"{level}.order": rng.choice(every, 3, replace=False).tolist() for level in ("outer", "inner")}
    several = Problem(layer, machine, objective, model, fixed=fixed)
    found = certify(several)
    alone = [
        certify(Problem(layer, machine, objective, model, fixed=dict(zip(fixed, values, strict=True)))).best
        for values in product(*fixed.values())
    ]
    assert found.best is not None
    assert found.lower_bound == min(best.loss for best in alone if best is not None)
    assert several.price(np.array([found.best.genes])).loss[0] == found.best.loss
    assert all(check.passed for check in dse.verify(several, found))


def test_fixed_genes_stay_as_they_are() -> None:
    layer, machine = load_layer("mobilenet_v2:8"), PRESETS["edge"]
    fixed: dict[str, Any] = {"outer.parallel": "X", "inner.order": "YXKC", "inner.tile.C": 4, "cluster": 16}
    free, tied = (
        certify(Problem(layer, machine, cost_model="maestro")),
        certify(Problem(layer, machine, cost_model="maestro", fixed=fixed)),
    )
    assert tied.best is not None
    assert tied.best.mapping.outer.parallel == "X"
    assert tied.best.mapping.inner.order == (*"YXKC", "R", "S")
    assert tied.best.mapping.inner["C"] == 4
    assert tied.best.mapping.cluster_size == 16
    assert tied.lower_bound > free.lower_bound


def test_a_depthwise_layer_keeps_the_parallel_k_that_it_is_given() -> None:
    layer = load_layer("mobilenet_v2:1")
    best = certify(Problem(layer, PRESETS["edge"], cost_model="maestro", fixed={"outer.parallel": "K"})).best
    by_c = certify(Problem(layer, PRESETS["edge"], cost_model="maestro", fixed={"outer.parallel": "C"})).best
    assert layer.type == "DSCONV"
    assert best is not None
    assert by_c is not None
    assert best.mapping.outer.parallel == "K"
    assert best.loss == by_c.loss


def test_of_equally_fast_mappings_the_one_with_the_least_energy_is_given() -> None:
    problem = real_problem("gpt2_block:mlp.c_fc", "edge", "latency")
    fastest = certify(problem).best
    assert fastest is not None
    costs = problem.price(problem.space.sample(np.random.default_rng(4), 100_000))
    as_fast = (costs.reason == 0) & (costs.cycles == fastest.cycles)
    assert as_fast.any()
    assert costs.energy_nj[as_fast].min() >= fastest.energy_nj


def test_a_layer_that_fits_nowhere_is_proven_infeasible() -> None:
    # 11 x 11 filters: input, weights and output of one MAC take 2 * 3 * 121 elements of L1.
    problem = Problem(load_layer("alexnet:conv1"), PRESETS["edge"], cost_model="maestro")
    found = certify(problem)
    assert (found.status, found.best, found.lower_bound, found.gap) == (
        "infeasible",
        None,
        math.inf,
        math.inf,
    )
    assert not np.isfinite(problem.price(problem.space.sample(np.random.default_rng(5), 5000)).loss).any()


def test_where_counts_wrap_the_optimum_is_over_the_mappings_that_are_priced_right() -> None:
    problem = real_problem("gpt2_block:mlp.c_fc", "edge", "latency")
    loops = problem.layer.loops
    found = certify(problem)
    assert loops["K"] * loops["C"] * loops["Y"] * loops["X"] >= 2**31
    assert found.best is not None
    # All outer tiles of one element: counts of 2^31, which MAESTRO refuses.
    points = problem.space.sample(np.random.default_rng(6), 20_000)
    points[:, 2:6] = np.minimum(points[:, 2:6], 1)
    assert found.beaten_by(problem.price(points).loss) is None


# What it does not depend on


def test_the_number_of_threads_changes_nothing() -> None:
    problem = real_problem("vgg16:conv1_2", "eyeriss-small", "edp")
    one, two, five = (replace(solve_problem(problem, threads=threads), seconds=0.0) for threads in (1, 2, 5))
    assert one == two == five


def test_the_layer_is_certified_as_lowered() -> None:
    layer, machine = load_layer("resnet18:4"), PRESETS["edge"]
    assert layer.strided
    strided, lowered = (
        certify(Problem(layer, machine, cost_model="maestro")),
        certify(Problem(layer.lowered(), machine, cost_model="maestro")),
    )
    assert strided.best is not None
    assert lowered.best is not None
    assert strided.best.mapping == lowered.best.mapping


def test_the_function_is_public_whatever_was_imported_before() -> None:
    for first in (
        "import dse",
        "import dse, dse.optimum",
        "import dse; import dse.optimum.cache",
    ):
        code = f"{first}; print(dse.certify.__module__, callable(dse.certify))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "dse.optimum.default True\n"


# Too little time


def test_when_the_time_runs_out_the_bound_is_true_and_the_gap_is_known() -> None:
    for objective in CERTIFIED[::2]:
        problem = real_problem("resnet18:5", "eyeriss-small", objective)
        optimum, found = certify(problem), certify(problem, time_limit=1e-9)
        assert found.status == "bounded", objective
        assert found.best is not None
        assert 0 < found.lower_bound <= optimum.lower_bound <= found.best.loss
        assert found.gap == found.best.loss / found.lower_bound - 1
        assert found.counts.open > 0


def test_the_groups_add_up() -> None:
    problem = real_problem("mobilenet_v2:8", "edge", "latency")
    for found in (certify(problem), certify(problem, time_limit=1e-9)):
        counts = found.counts
        parts = counts.too_large + counts.bounded + counts.solved + counts.open
        assert counts.groups == parts
        assert counts.mappings == problem.space.mappings
    assert certify(problem).counts.open == 0


# Regret


def test_regret_is_the_share_above_the_optimum_and_infinite_without_a_mapping() -> None:
    found = certify(real_problem("resnet18:5", "edge", "latency"))
    losses = np.array([1.0, 1.5, math.inf]) * found.lower_bound
    assert found.regret(losses) == pytest.approx([0.0, 0.5, math.inf])
    assert found.beaten_by(losses) is None
    nowhere = certify(Problem(load_layer("alexnet:conv1"), PRESETS["edge"], cost_model="maestro"))
    assert nowhere.regret([math.inf]).tolist() == [math.inf]


def test_a_loss_below_the_bound_is_called_out() -> None:
    found = certify(real_problem("resnet18:5", "edge", "latency"))
    words = found.beaten_by([found.lower_bound, np.nextafter(found.lower_bound, 0)])
    assert words is not None
    assert words.startswith("CERTIFICATE BEATEN")
    nowhere = certify(Problem(load_layer("alexnet:conv1"), PRESETS["edge"], cost_model="maestro"))
    assert nowhere.beaten_by([1.0]) is not None
    assert nowhere.beaten_by([math.inf]) is None


# What is refused


class Renamed(CostModel):
    """MAESTRO under another name."""

    name = "other"

    def evaluate(self, layer: Layer, accelerator: Any, mappings: MappingBatch) -> CostBatch:
        return cost_model("maestro").evaluate(layer, accelerator, mappings)


def test_what_cannot_be_certified_is_refused_in_a_line() -> None:
    layer, edge = load_layer("resnet18:1"), PRESETS["edge"]
    long_layer = Layer("CONV", 1024, 1024, 66, 66, 3, 3)
    refusals = [
        (
            Problem(layer, edge, "power", cost_model="maestro", tiles="any"),
            "of tiles 'any' objective 'power' cannot be certified under cost model 'maestro'",
        ),
        (
            Problem(layer, edge, cost_model=Renamed()),
            "cost model 'other' has no proofs; these have: 'loopnest', 'maestro', 'timeloop'",
        ),
        (Problem(long_layer, edge, cost_model="maestro"), "counts in 32 bits"),
        (
            Problem(Layer.gemm(4096, 4096, 4096), PRESETS["archgym"], cost_model="maestro"),
            "L2 of at most 9,900,000",
        ),
        (
            Problem(layer, replace(edge, simd_lanes=2**31), cost_model="maestro"),
            "simd_lanes must be at most 2147483647",
        ),
        (Problem(layer, replace(edge, noc_latency=2**40), cost_model="maestro"), "too large to certify"),
    ]
    for problem, words in refusals:
        with pytest.raises(InputError) as refusal:
            certify(problem)
        assert words in str(refusal.value)
        assert "\n" not in str(refusal.value)
    with pytest.raises(InputError, match="problem must be a Problem"):
        certify(layer)  # type: ignore[arg-type]
    for limit in (0, -1.0, math.nan, math.inf, "1"):
        with pytest.raises(InputError, match="time_limit must be a"):
            certify(Problem(layer, edge, cost_model="maestro"), time_limit=limit)  # type: ignore[arg-type]
