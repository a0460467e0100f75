"""Groups and samples of a layer that is not folded are dims: heads of attention may be spread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse import certify, make_problem, verify
from dse.core.layer import Layer
from dse.core.roofline import Words, compulsory_words
from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.workload import workload_of
from dse.support.errors import InputError
from tests.domains.levels.proof.test_ragged_proofs import least_of_all

HEADS = 12
SCORES = Layer("CONV", HEADS * 197, HEADS * 64, 197, 1, 1, 1, groups=HEADS, name="scores of ViT-B")
ONE = Layer.gemm(197, 197, 64)


def spreading(*dims: str) -> Machine:
    """A buffer of 12 words of weights and inputs above four MACs over which these dims may be spread."""
    outer = Level("DRAM", keeps=("W", "I", "O"), bandwidth=Bandwidth(shared=8.0), energy=Energy.of_any(9.0))
    shared, energy = Bandwidth(shared=16.0), Energy.of_any(1.0)
    kept = ("W", "I")
    inner = Level("Buffer", 12, 4, keeps=kept, may_keep=(), spread=dims, bandwidth=shared, energy=energy)
    return Machine("small", (outer, inner), 0.5)


def test_each_head_has_words_of_its_own_and_samples_share_the_weights() -> None:
    workload = workload_of(SCORES)
    assert workload.sizes == {"R": 1, "S": 1, "P": 197, "Q": 1, "C": 64, "K": 197, "N": 1, "G": HEADS}
    assert workload.macs == SCORES.macs == HEADS * ONE.macs
    words = [tensor.words(workload.sizes) for tensor in workload.tensors]
    assert words == [HEADS * tensor.words(workload_of(ONE).sizes) for tensor in workload_of(ONE).tensors]
    assert compulsory_words(SCORES) == Words(*words)
    grouped = Layer("CONV", 32, 16, 14, 14, 3, 3, (2, 2), (1, 1), groups=4, batch=5)
    one = compulsory_words(replace(grouped, K=8, C=4, groups=1, batch=1))
    assert compulsory_words(grouped) == (4 * one.weights, 20 * one.inputs, 20 * one.outputs)
    assert "N" not in "".join(dim for axis in workload_of(grouped).tensors[0].axes for dim, _ in axis)


def test_heads_in_a_row_cost_as_much_as_each_by_itself() -> None:
    each = make_problem(ONE, spreading("K"), "edp", "timeloop")
    mapping = each.template("weight-stationary")
    outer = mapping.levels[0]
    loops = LevelMapping(outer.keep, (("G", HEADS), *outer.temporal), outer.spatial)
    one = each.judge(mapping)
    every = make_problem(SCORES, spreading("K"), "edp", "timeloop").judge(
        HierarchyMapping((loops, *mapping.levels[1:]))
    )
    assert (one.feasible, every.feasible) == (True, True)
    for figure in ("latency", "energy"):
        assert every.loss[figure] == pytest.approx(HEADS * one.loss[figure])


@pytest.mark.parametrize(("nests", "spread"), [("even", "KGN"), ("uneven", "G")])
def test_proven_optima_with_heads_and_samples_are_the_least_of_all_mappings(nests: str, spread: str) -> None:
    layer = Layer("CONV", 4, 4, 1, 1, 1, 1, groups=2, batch=2)
    fixed = {"nests": nests}
    problem = MachineProblem(layer, spreading(*spread), "edp", "timeloop", fixed=fixed)
    found = certify(problem, cache=False)
    assert found.status == "optimal"
    assert found.best
    assert found.best.loss == pytest.approx(least_of_all(problem))
    assert all(check.passed for check in verify(problem, found))
    alone = MachineProblem(layer, spreading(), "edp", "timeloop", fixed=fixed)
    assert found.best.loss < certify(alone, cache=False).lower_bound


def test_what_knows_one_head_alone_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"with groups = 12 it is no single run of loops; map layer\.folded"):
        make_problem(SCORES, "edge", "edp", "loopnest")
    problem = make_problem(SCORES, "gemmini", "edp", "timeloop")
    for name in ("timeloop", "zigzag"):
        with pytest.raises(InputError, match=rf"{name}, .* one group and one sample: map layer"):
            problem.export(name, problem.template("row-stationary"), tmp_path)
