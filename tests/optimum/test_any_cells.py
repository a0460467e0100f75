"""Cells of the check of proofs over tiles of any size: bounds of their figures, and trees of them."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.check import boxes as boxes_module
from dse.domains.clustered.check.boxes import Boxes, Search
from dse.domains.clustered.check.cells import count_pairs, halves_of, pairs_of, whole_cell
from dse.domains.clustered.check.covered import Budget, covered_check
from dse.domains.clustered.check.forests import GrowingForest
from dse.domains.clustered.check.remains import Remains
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.check.least_cost import LeastCost
from dse.support.arrays import IntArray
from tests.optimum.any_cases import random_problem
from tests.optimum.any_check import SUMS, claimed, margins

CELLS = 40
PRODUCTS, MOST = 2, 20_000


@pytest.fixture
def all_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees are grown of every dim that has bounds of cells, and bounds are of all cells of two pairs."""
    monkeypatch.setattr(boxes_module, "FEW", 0)
    monkeypatch.setattr("dse.domains.clustered.check.forests.LOOKED_AT", 1)


def some_cells(rng: np.random.Generator, size: int) -> IntArray:
    """Cells of a dim, many of them narrow."""
    found: list[IntArray] = []
    while len(found) < CELLS:
        outer, inner = (np.sort(rng.integers(1, size + 1, 2)) for _ in range(2))
        for tiles in (outer, inner):
            if rng.random() < 0.5:
                tiles[1] = min(size, tiles[0] + rng.integers(0, 4))
        if inner[0] <= outer[1]:
            found.append(whole_cell((outer[0], outer[1]), (inner[0], inner[1]))[0])
    return np.array(found)


def test_no_figure_of_a_pair_is_below_that_of_its_cell() -> None:
    rng = np.random.default_rng(0)
    for trial in range(30):
        size = int(rng.integers(1, 80))
        strided = Layer("CONV", size, size, 2 * size, 1, 1, 1, stride=(2, 1))
        layer = strided if trial % 3 == 0 else Layer.gemm(size, size, size)
        problem = Problem(layer, Accelerator(64, 10**7, 10**7, 2, 1), "edp", "loopnest", tiles="any")
        cost = LeastCost(problem)
        across, within = (int(rng.choice([1, 2, 3, 8, 64])) for _ in range(2))
        for dim in range(3):
            bound = cost.cells(dim, across, within)
            if bound is None:
                continue
            cells = some_cells(rng, layer.loops["KCYX"[dim]])
            cell, pairs = pairs_of(cells)
            least = bound(cells)
            figures = cost.columns(dim, pairs[:, 0], pairs[:, 1], across, within)
            assert least.keys() == figures.keys()
            for name, values in figures.items():
                assert (least[name][cell] <= values).all(), (name, layer, across, within)


def test_halves_of_cells_have_each_pair_once() -> None:
    rng = np.random.default_rng(1)
    cells = some_cells(rng, 60)
    assert (count_pairs(cells) == np.bincount(pairs_of(cells)[0])).all()
    cells = cells[count_pairs(cells) > 1]
    halves = halves_of(cells, 60, rng.choice([1, 3, 64], len(cells)))
    for cell, (one, other) in zip(cells, halves, strict=True):
        every, *parts = (pairs_of(each[np.newaxis])[1] for each in (cell, one, other))
        assert all(len(part) for part in parts)
        assert sorted(every.tolist()) == sorted(np.concatenate(parts).tolist())


@pytest.mark.usefixtures("all_grow")
def test_no_mapping_of_a_product_is_below_the_bound_of_a_grown_box_with_its_tiles() -> None:
    for seed in range(PRODUCTS):
        rng = np.random.default_rng(seed)
        drawn = random_problem(rng, SUMS[seed % len(SUMS)], 10**12)
        layer = Layer.gemm(*rng.integers(1, 100, 3).tolist())
        problem = Problem(layer, drawn.accelerator, drawn.objective, "loopnest", tiles="any")
        assert margins(problem, rng).min() >= 1 - 1e-12, problem


@pytest.mark.usefixtures("all_grow")
def test_no_mapping_is_lost_as_grown_boxes_are_split() -> None:
    problem = Problem(Layer.gemm(3, 2, 2), Accelerator(4, 10**6, 10**6, 2, 1), "edp", "loopnest", tiles="any")
    boxes = Boxes(problem, LeastCost(problem))
    assert all(isinstance(each, GrowingForest) for each in Search(boxes, 2, 0.0, 0).run().forests)
    searched = boxes.search(np.inf, 10**6)
    assert Remains(problem, searched.left).mappings == problem.space.mappings


@pytest.mark.usefixtures("all_grow")
@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_the_optimum_passes_over_grown_trees_and_one_a_little_too_high_fails(objective: str) -> None:
    for seed in range(3):
        problem = random_problem(np.random.default_rng(seed), objective, MOST)
        least = claimed(problem).lower_bound
        for share, right in ((1.0, True), (1 + 1e-9, False), (1.002, False)):
            if share > 1 and not np.isfinite(least):
                continue
            asked = (problem, least * share, np.random.default_rng(0), LeastCost(problem))
            assert covered_check(*asked, Budget(100_000, 200_000, 5_000))[0].passed is right, problem


def test_pairs_of_a_large_product_are_not_looked_at_beforehand() -> None:
    problem = Problem(Layer.gemm(512, 768, 3072), PRESETS["edge"], "edp", "loopnest", tiles="any")
    assert Boxes(problem, LeastCost(problem)).pairs < 1000
