"""Optima under `loopnest`: equal to brute force and never beaten; figures and bounds are the model's."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.campaign.config import Campaign, NamedProblem
from dse.campaign.reference import optimum_figures
from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.models.loopnest import Constants, LoopNest
from dse.optimum import certify, verify
from dse.optimum.ties import settle_ties
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.optimum.certify_cases import OF_WORK, Case, brute_force, real_problem
from tests.optimum.certify_loopnest_cases import MODEL, SMALL
from workloads import load_layer

IntArray = np.ndarray[Any, np.dtype[np.int64]]

REAL = (
    ("resnet18:5", "edge", "latency"),
    ("mobilenet_v2:1", "edge", "edp"),
    ("alexnet:conv1", "edge", "energy"),
    ("alexnet:conv3", "tpu-like", "latency"),
    ("vgg16:fc7", "edge", "edp"),
)


def real(layer: str, accelerator: str, objective: str) -> Problem:
    return real_problem(layer, accelerator, objective, MODEL)


# The optimum


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_certificate_is_what_pricing_every_mapping_finds(case: Case) -> None:
    best = brute_force(case)
    for objective in OF_WORK:
        problem = case.problem(objective)
        found = settle_ties(problem, solve_problem(problem), cache=False)
        assert found.lower_bound == best[objective][0], objective
        if found.best is None:
            assert (case.name, found.status, best[objective][0]) == ("nothing-fits", INFEASIBLE, math.inf)
        else:
            beside = found.best.cycles if objective == "energy" else found.best.energy_nj
            assert (found.status, found.best.loss, beside) == (OPTIMAL, *best[objective]), objective


@pytest.mark.parametrize(("layer", "accelerator", "objective"), REAL)
def test_random_mappings_never_beat_a_certificate_and_it_passes_the_check(
    layer: str, accelerator: str, objective: str
) -> None:
    problem = real(layer, accelerator, objective)
    found = solve_problem(problem)
    losses = problem.price(problem.space.sample(np.random.default_rng(1), 20_000)).loss
    assert found.status == OPTIMAL
    assert found.beaten_by(losses) is None
    assert failed_checks(verify(problem, found)) == []


def test_neighbours_of_the_best_mapping_never_beat_it() -> None:
    problem = real("resnet18:5", "eyeriss-small", "edp")
    best = solve_problem(problem).best
    assert best is not None
    around = np.tile(np.array(best.genes), (5000, 1))
    rng = np.random.default_rng(2)
    for _ in range(4):
        around = problem.space.neighbour(rng, around)
        assert problem.price(around).loss.min() >= best.loss


def test_fixed_genes_stay_as_they_are() -> None:
    layer, machine = load_layer("mobilenet_v2:25"), PRESETS["edge"]
    fixed: dict[str, Any] = {"outer.parallel": "X", "inner.order": "YXKC", "inner.tile.C": 4, "cluster": 16}
    free, tied = (solve_problem(Problem(layer, machine, "edp", MODEL, fixed=genes)) for genes in ({}, fixed))
    assert tied.best is not None
    assert tied.best.mapping.outer.parallel == "X"
    assert tied.best.mapping.inner.order == (*"YXKC", "R", "S")
    assert tied.best.mapping.inner["C"] == 4
    assert tied.best.mapping.cluster_size == 16
    assert tied.lower_bound > free.lower_bound


def test_a_strided_layer_is_certified_as_it_is() -> None:
    layer, machine = load_layer("resnet18:5"), PRESETS["edge"]
    assert layer.strided
    strided, lowered = (
        solve_problem(Problem(one, machine, "energy", MODEL)) for one in (layer, layer.lowered())
    )
    assert strided.lower_bound > lowered.lower_bound


def test_the_number_of_threads_changes_nothing() -> None:
    problem = real("resnet18:5", "eyeriss-small", "energy")
    one, two, five = (replace(solve_problem(problem, threads=threads), seconds=0.0) for threads in (1, 2, 5))
    assert one == two == five


# Too little time


def test_when_the_time_runs_out_the_bound_is_true_and_the_gap_is_known() -> None:
    layer = Layer("CONV", 8, 6, 8, 8, 3, 3)
    for objective in ("latency", "energy", "energy * latency^2"):
        problem = Problem(layer, PRESETS["eyeriss-small"], objective, MODEL)
        optimum, found = solve_problem(problem), solve_problem(problem, Clock(1e-9))
        assert (optimum.status, found.status) == (OPTIMAL, BOUNDED), objective
        assert found.best is not None
        assert 0 < found.lower_bound <= optimum.lower_bound <= found.best.loss
        assert found.gap == found.best.loss / found.lower_bound - 1
        assert found.counts.open > 0
        assert failed_checks(verify(problem, found)) == []


def test_the_groups_add_up() -> None:
    problem = real("mobilenet_v2:25", "edge", "latency")
    for found in (solve_problem(problem), solve_problem(problem, Clock(1e-9))):
        counts = found.counts
        assert counts.groups == counts.too_large + counts.bounded + counts.solved + counts.open
        assert counts.mappings == problem.space.mappings
    assert solve_problem(problem).counts.open == 0


# What is refused, and what is kept


def test_what_cannot_be_certified_is_refused_in_a_line() -> None:
    layer, edge = load_layer("resnet18:1"), PRESETS["edge"]
    huge = Layer("CONV", 2**19, 2**19, 1000, 1000, 3, 3)
    for problem, words in (
        (Problem(layer, edge, "area", MODEL, tiles="any"), "choose tiles 'factors'"),
        (Problem(layer, edge, "power", MODEL), "can be certified, got 'power'"),
        (Problem(huge, edge, cost_model=MODEL), "too large to certify"),
    ):
        with pytest.raises(InputError) as refusal:
            certify(problem)
        assert words in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_certificates_of_other_models_and_constants_are_kept_apart(tmp_path: Path) -> None:
    layer, machine = load_layer("mobilenet_v2:25"), PRESETS["edge"]
    models = ("maestro", MODEL, LoopNest(Constants(dram_pj=640.0)))

    def proven() -> list[Certificate]:
        return [certify(Problem(layer, machine, "energy", model), cache=tmp_path) for model in models]

    first, second = proven(), proven()
    assert [found.cached for found in first] == [False] * 3
    assert [found.cached for found in second] == [True] * 3
    assert [found.lower_bound for found in first] == [found.lower_bound for found in second]
    assert len({found.lower_bound for found in first}) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_a_campaign_measures_regret_against_the_optimum_of_its_own_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    layer, machine = load_layer("mobilenet_v2:25"), PRESETS["edge"]
    found = []
    for model in ("maestro", MODEL):
        named = NamedProblem("mobilenet_v2:25", "edge", Problem(layer, machine, "edp", model))
        campaign = Campaign("one", 10, (0,), (named,), ())
        found.append(optimum_figures(campaign)[named.label])
        assert found[-1]["lower_bound"] == certify(named.problem, cache=False).lower_bound
    assert found[0] != found[1]


def test_the_command_certifies_and_verifies_under_loopnest(dse: Dse) -> None:
    where = ("--layer", "mobilenet_v2:25", "--accelerator", "edge", "--cost-model", MODEL)
    where += ("--tiles", "factors", "--fresh")
    data = dse("certify", *where, "--verify", "--json").json
    assert (data["cost_model"], data["status"]) == (MODEL, OPTIMAL)
    assert all(check["passed"] for check in data["verified"])
    refused = dse("certify", *where, "--objective", "power")
    assert refused.code == 2
    assert (
        "only latency and energy, and products of their powers such as 'edp', can be certified" in refused.err
    )


def test_the_mapping_that_is_given_costs_what_is_said() -> None:
    problem = real("resnet18:5", "edge", "edp")
    best = solve_problem(problem).best
    assert best is not None
    costs = problem.evaluate(MappingBatch.of([best.mapping]))
    assert problem.space.decode(np.array([best.genes]))[0] == best.mapping
    assert (costs.loss[0], costs.cycles[0], costs.energy_nj[0]) == (best.loss, best.cycles, best.energy_nj)
