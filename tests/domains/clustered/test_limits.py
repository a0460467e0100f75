"""Limits on the use of L1, L2 and PEs: what breaks one, in whose words, and what a problem keeps of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dse.core.domains import definition_of, make_problem, problem_from_definition, problem_from_identity
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError
from tests.optimum.chains.small_chains import machine
from tests.optimum.chains.test_searched_shared_tiles import shared
from workloads import load_layer

LAYER, EDGE = load_layer("resnet18:3"), PRESETS["edge"]
LIMITS = ("l1_use <= 0.7", "l2_use <= 0.4", "pe_use >= 0.75")


def points(problem: Problem, count: int = 4000) -> np.ndarray:
    return problem.space.sample(np.random.default_rng(0), count)


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_what_breaks_a_limit_is_what_its_breakdown_says(model: str) -> None:
    free = Problem(LAYER, EDGE, "edp", model)
    genes = points(free)
    found, batch = free.price(genes), free.space.decode(genes)
    seen = dict.fromkeys(LIMITS, 0)
    for limit in LIMITS:
        limited = free.with_changes(limits=[limit]).price(genes)
        assert np.array_equal(
            limited.reason == 0, (found.reason == 0) & (limited.reason != Reason.BEYOND_LIMIT)
        )
        assert np.array_equal(limited.energy_nj, found.energy_nj)
        figure, _, share = limit.split()
        for place in np.flatnonzero(found.reason == 0)[:7].tolist():
            parts = free.judge(batch[place]).breakdown
            uses = {"l1_use": parts.l1.use, "l2_use": parts.l2.use, "pe_use": -parts.busy_pes}
            broken = uses[figure] > float(share) * (-1 if figure == "pe_use" else 1)
            assert broken == (limited.reason[place] == Reason.BEYOND_LIMIT)
            assert limited.loss[place] == (np.inf if broken else found.loss[place])
            seen[limit] += broken
    assert min(seen.values()) > 0


def test_a_mapping_that_breaks_one_is_told_by_its_figure_and_the_limit() -> None:
    problem = Problem(LAYER, EDGE, "edp", limits=["l2_use <= 0.01", "pe_use >= 1"])
    nvdla = problem.template("nvdla")
    need = int(problem.evaluate(nvdla).l2_size[0])
    assert problem.explain(nvdla) == (
        f"l2_use is {need / 131072:.6g}, and the limit is l2_use <= 0.01: L2 needs {need} of 131072 "
        "elements, of which 1310 may be used"
    )
    busy = problem.with_changes(limits=["pe_use >= 1"])
    assert busy.explain(nvdla) == "feasible"
    shidiannao = busy.template("shidiannao")
    cycles, ideal = busy.judge(shidiannao).breakdown.busiest_pe_cycles, LAYER.macs // 256
    assert busy.explain(shidiannao) == (
        f"pe_use is {ideal / cycles:.6g}, and the limit is pe_use >= 1: the busiest PE computes {cycles} "
        f"cycles, of which {ideal} are left to it"
    )
    (loosened,) = busy.explanation(shidiannao).limits
    assert str(loosened) == f"pe_use >= 1 -> {int(ideal / cycles * 10_000) / 10_000}"


def test_each_limit_alone_is_named_with_the_nearest_share_that_some_mapping_keeps() -> None:
    problem = Problem(LAYER, EDGE, "edp", limits=["l1_use <= 0.001"])
    explained = problem.explanation(None)
    (loosened,) = explained.limits
    (share,) = (then for _, then in loosened.values.values())
    assert not explained.feasible
    # The smallest tiles are of 9 inputs, 9 weights and an output, each of them twice.
    assert share == "0.0743"
    assert problem.with_changes(limits=[f"l1_use <= {share}"]).evaluate(loosened.mapping).reason[0] == 0


def test_without_limits_a_problem_is_what_it_was_and_with_some_another_one() -> None:
    free, limited = Problem(LAYER, EDGE), Problem(LAYER, EDGE, limits="l2_use <= 80 %")
    assert not {"limits"} & (free.identity.keys() | free.options.keys())
    assert limited.identity == {**free.identity, "limits": ["l2_use <= 0.8"]}
    assert limited.fingerprint != free.fingerprint
    assert Problem(LAYER, EDGE, limits=("l2_use<=0.80",)) == limited == pickle.loads(pickle.dumps(limited))


def test_a_problem_with_limits_is_made_again_from_what_records_keep() -> None:
    limited = make_problem(LAYER, "edge", "edp", limits=LIMITS)
    assert limited.options["limits"] == list(LIMITS)
    for again in (
        problem_from_identity(limited.identity),
        problem_from_definition(definition_of(limited), limited.model_spec),
    ):
        assert again.options["limits"] == list(LIMITS)
    assert (
        problem_from_definition(definition_of(limited), limited.model_spec).fingerprint == limited.fingerprint
    )


def test_where_the_hardware_is_open_each_machine_has_its_own_room() -> None:
    space = {"hardware": {"l2_size": [4096, 65536], "num_pes": [16, 256]}}
    problem = Problem(LAYER, EDGE, "edp", space=space, limits=["l2_use <= 0.3", "pe_use >= 0.5"])
    genes = points(problem, 600)
    found = problem.price(genes)
    assert {0, int(Reason.BEYOND_LIMIT)} <= set(found.reason.tolist())
    for point, reason in zip(genes[:200], found.reason[:200].tolist(), strict=True):
        there = problem.on_machine_of(point)
        mapping = problem.space.decode(point[np.newaxis])[0]
        assert there.with_changes(space="default").evaluate(mapping).reason[0] == reason


def test_searchers_are_told_by_how_much_a_buffer_exceeds_what_may_be_used_of_it() -> None:
    problem = Problem(LAYER, EDGE, "edp", limits=["l2_use <= 0.25"])
    found = problem.price(points(problem, 500))
    beyond = found.reason == Reason.BEYOND_LIMIT
    assert beyond.any()
    assert (found.violation[beyond, 1] == found.l2_size[beyond] - 131072 // 4).all()


def test_a_kind_of_designs_without_limits_says_so() -> None:
    with pytest.raises(InputError, match="cost model 'chains' is of designs without limits: leave 'l2_use"):
        make_problem(shared().layer, machine(11), "energy", "chains", limits=["l2_use <= 0.8"])
