"""The check of proofs over tiles of any size goes through all tiles by bounds that are below every price."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.proofs import Check
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.check.boxes import Boxes, Cost, Search
from dse.domains.clustered.check.covered import Budget, box_checks, covered_check
from dse.domains.clustered.check.remains import Remains
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.models.loopnest.check.least_cost import LeastCost
from dse.models.maestro.check.least_cost import LeastCost as MaestroLeastCost
from tests.optimum.any_cases import random_problem
from tests.optimum.any_check import SUMS, bounded, claimed, margins

LAYERS, MOST = 6, 20_000
MODELS: dict[str, Callable[[Problem], Cost]] = {"loopnest": LeastCost, "maestro": MaestroLeastCost}
FEW = Budget(100_000, 200_000, 5_000)
NAME = "no box of tiles is left out"


def checked(problem: Problem, loss: float) -> tuple[bool, str]:
    """Whether the check finds nothing below a loss, and what it says."""
    rng = np.random.default_rng(0)
    check, _ = covered_check(problem, loss, rng, LeastCost(problem), FEW)
    assert check.name == NAME
    return check.passed, check.seen


def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_with_its_tiles() -> None:
    for seed in range(LAYERS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, SUMS[seed % len(SUMS)], 10**12).with_changes(fixed={})
        assert margins(problem, rng).min() >= 1 - 1e-12, problem


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_the_boxes_hold_every_mapping_once(tiles: str) -> None:
    for layer in (Layer("CONV", 3, 2, 8, 5, 3, 2), Layer("DSCONV", 1, 4, 8, 5, 3, 2), Layer.gemm(4, 3, 6)):
        for fixed in ({}, {"outer.parallel": "K", "inner.order": "KCYX", "outer.tile.Y": 2, "cluster": 2}):
            machine = Accelerator(6, 10**6, 10**6, 2, 1)
            problem = Problem(layer, machine, "edp", "loopnest", tiles=tiles, fixed=fixed)
            boxes, rng = Boxes(problem, LeastCost(problem)), np.random.default_rng(0)
            whole = [Search(boxes, cluster, np.inf, 0).run() for cluster in boxes.clusters]
            assert Remains(problem, whole).mappings == problem.space.mappings
            for left in whole:
                rows = Remains(problem, [left]).draw(rng, 50)
                assert problem.space.contains(problem.space.encode(MappingBatch(rows))).all()


def test_no_mapping_is_lost_as_boxes_are_split() -> None:
    for layer in (Layer.gemm(3, 2, 2), Layer("DSCONV", 1, 2, 3, 4, 2, 2)):
        problem = Problem(layer, Accelerator(4, 10**6, 10**6, 2, 1), "edp", "loopnest", tiles="any")
        # Nothing is ruled out where all fits and any loss is below the target.
        searched = Boxes(problem, LeastCost(problem)).search(np.inf, 10**6)
        assert all(one.pairs().prod(axis=1).max() < 10 for one in searched.left)
        assert Remains(problem, searched.left).mappings == problem.space.mappings


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_a_right_certificate_passes_and_one_that_is_too_high_fails(objective: str) -> None:
    for seed in range(3):
        problem = random_problem(np.random.default_rng(seed), objective, MOST)
        right = claimed(problem)
        assert checked(problem, right.lower_bound)[0], problem
        if right.best is None:
            continue
        # A bound of a solver that did not see the best mapping, be the next one ever so little worse.
        wrong = claimed(problem, right.lower_bound * (1 + 1e-9))
        for target in (wrong.lower_bound, right.lower_bound * 1.002):
            assert not checked(problem, target)[0], problem
        asked = problem, bounded(right, 0.9), np.random.default_rng(0), LeastCost(problem)
        assert all(check.passed for check in box_checks(*asked))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_over_perfect_factors_too(objective: str, model: str) -> None:
    for seed in range(4):
        problem = random_problem(np.random.default_rng(seed), objective, MOST, model)
        problem = problem.with_changes(tiles="factors", fixed={})
        every = np.indices(problem.space.sizes.tolist()).reshape(13, -1).T
        least = float(problem.price(every).loss.min())
        assert seems_right(problem, least), problem
        if np.isfinite(least):
            assert not seems_right(problem, least * 1.001), problem


def seems_right(problem: Problem, bound: float) -> bool:
    """Whether the check finds nothing below a bound, with all that is left priced."""
    rng, cost = np.random.default_rng(0), MODELS[problem.model.name](problem)
    return covered_check(problem, bound, rng, cost, FEW)[0].passed


def test_a_budget_that_runs_out_is_said_and_what_is_left_is_drawn_from() -> None:
    problem = Problem(
        Layer("CONV", 16, 16, 16, 16, 3, 3), Accelerator(16, 256, 4096, 4, 2), "edp", "loopnest", tiles="any"
    )
    few = Budget(2_000, 10_000, 5_000)

    def found(loss: float) -> Check:
        return covered_check(problem, loss, np.random.default_rng(0), LeastCost(problem), few)[0]

    one = found(2e-10)
    assert one.passed
    assert "all but " in one.seen
    assert "5,000 mappings of the rest priced" in one.seen
    assert one == found(2e-10)
    assert not found(1.0).passed


def test_too_many_pairs_of_tiles_are_counted_beforehand_and_not_gone_through() -> None:
    machine = Accelerator(8, 256, 4096, 4, 2)
    problem = Problem(Layer("CONV", 4, 3, 6, 5, 3, 2), machine, "edp", "loopnest", tiles="any")
    boxes = Boxes(problem, LeastCost(problem))
    worked_out = sum(
        sum(int(forest.count(forest.roots).sum()) for forest in Search(boxes, cluster, 0.0, 0).run().forests)
        for cluster in boxes.clusters
    )
    assert worked_out <= boxes.pairs < 3 * worked_out
    asked = (problem, solve_problem(problem, threads=1), np.random.default_rng(0), LeastCost(problem))
    names = [
        [check.name for check in box_checks(*asked, FEW._replace(pairs=pairs))]
        for pairs in (boxes.pairs, boxes.pairs - 1)
    ]
    assert NAME in names[0]
    assert names[1][0] == "boxes of tiles are not gone through"
    assert names[0][1:] == names[1][1:]


def test_what_fits_in_no_buffer_is_ruled_out_at_once() -> None:
    problem = Problem(Layer.gemm(2, 2, 1), Accelerator(4, 4, 100, 2, 1), "edp", "loopnest", tiles="any")
    assert checked(problem, np.inf) == (True, "all of 2.5e+05 mappings proven not to be better, by 24 bounds")
    fits = Problem(Layer.gemm(2, 2, 1), Accelerator(4, 40, 100, 2, 1), "edp", "loopnest", tiles="any")
    assert not checked(fits, np.inf)[0]
