"""Optima over tiles that do not divide, against all mappings of small spaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse import certify, make_problem, verify
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.boxes import LevelBoxes
from dse.proof.proving import prove
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.test_uneven import open_levels
from workloads import load_layer

LAYERS = [
    Layer.gemm(5, 3, 1),
    Layer("CONV", 1, 1, 5, 1, 3, 1),
    Layer.gemm(7, 3, 2),
    Layer("DSCONV", 1, 3, 5, 1, 2, 1),
    Layer("CONV", 1, 1, 7, 1, 3, 1, stride=2),
]
FEW = 60_000
"""Vectors that are all priced."""


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_proven_optima_of_any_tiles_are_the_least_of_all_mappings(objective: str) -> None:
    rng, seen = np.random.default_rng(1), 0
    for number in range(8):
        layer, machine = LAYERS[number % len(LAYERS)], open_levels(rng)
        problem = MachineProblem(layer, machine, objective, "timeloop", "any")
        space = problem.space
        if space.vectors > FEW:
            continue
        # Nothing to begin with: the proof has to come upon the best mapping itself.
        boxes = LevelBoxes(problem, may_be_small=False)
        found = prove(problem, boxes, boxes.mapping_of, lambda: None, Clock())
        every = np.stack(np.unravel_index(np.arange(space.vectors), space.sizes), axis=1)
        least = problem.price(every).loss.min()
        assert found.status == ("infeasible" if np.isinf(least) else "optimal")
        if found.best:
            assert found.best.loss == pytest.approx(least)
        seen += 1
    assert seen > 3


def test_heads_of_197_tokens_gain_by_tiles_that_do_not_divide(dse: Dse, tmp_path: Path) -> None:
    given = ("--layer", "vit-b16:2", "--accelerator", "gemmini", "--cost-model", "timeloop")
    asked = ("--objective", "edp", "--cache", str(tmp_path), "--json")
    divided = dse("certify", *given, *asked).json
    found = dse("certify", *given, *asked, "--tiles", "any", "--verify").json
    assert divided["tiles"] == "factors"
    assert (found["tiles"], found["status"]) == ("any", "optimal")
    assert found["best"]["loss"] < 0.1 * divided["best"]["loss"]


def test_any_tiles_are_proven_of_even_nests_where_the_ways_to_cut_a_dim_are_few() -> None:
    layer = load_layer("resnet18:6")
    uneven = make_problem(layer, "gemmini", "edp", "timeloop", tiles="any", fixed={"nests": "uneven"})
    with pytest.raises(InputError, match="tiles 'any' of uneven nests cannot be certified"):
        certify(uneven, cache=False)
    open_ = make_problem(layer, "eyeriss_like", "edp", "timeloop", tiles="any")
    with pytest.raises(InputError, match="ways to cut one dim are too many to certify"):
        certify(open_, cache=False)


def test_the_code_that_checks_certificates_knows_lengths() -> None:
    problem = make_problem(
        load_layer("alexnet:fc8"), "gemmini", "edp", "timeloop", tiles="any", limits="Scratchpad_use <= 0.5"
    )
    found = certify(problem, 20, cache=False)
    assert found.best
    assert all(one.passed for one in verify(problem, found))
