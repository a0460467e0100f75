"""The cross-entropy method: every gene's distribution moves towards the best points and keeps a floor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing import landscapes
from searchers.cem import CEM, Distributions
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
SPACE = PROBLEM.space
OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


def run(searcher, budget: int, problem=PROBLEM, seed: int = 0) -> Record:
    record = Record(13)
    with pytest.raises(BudgetExhausted):
        searcher.search(Evaluator(problem, budget, record=record), np.random.default_rng(seed))
    return record


class Separable:
    """A made-up loss that grows, gene by gene, with the distance from the vector `best`."""

    space, objective, criteria = SPACE, "edp", PROBLEM.criteria
    best = SPACE.sizes // 3

    def price(self, genes: np.ndarray) -> Evaluations:
        loss = 1.0 + (np.abs(genes - self.best) / SPACE.sizes).sum(axis=1)
        return replace(PROBLEM.price(genes), loss=loss, reason=np.zeros(len(genes), np.uint8))


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 1037])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(CEM(), budget, problem)) == budget


def test_it_beats_random_search_with_the_same_samples() -> None:
    best = [
        [run(searcher, 2000, seed=seed).evaluations().loss.min() for seed in range(3)]
        for searcher in (CEM(), Random())
    ]
    assert np.median(best[0]) < 0.7 * np.median(best[1])


def test_where_genes_do_not_depend_on_each_other_it_finds_the_best_of_each() -> None:
    record = run(CEM(patience=0), 4000, Separable())
    best = record.genes()[record.best]
    assert (np.abs(best - Separable.best) <= 1).all()
    assert record.evaluations().loss[-500:].mean() < 0.5 * record.evaluations().loss[:30].mean()


def test_where_nothing_is_feasible_it_goes_on_and_towards_what_fits() -> None:
    needed = run(CEM(), 2000, landscapes.infeasible()).evaluations().l1_size
    assert np.median(needed[-500:]) < np.median(needed[:30])
    refused = run(CEM(), 2000, landscapes.refused())
    assert len(np.unique(refused.genes(), axis=0)) > 1900


def test_it_starts_anew_where_it_no_longer_improves() -> None:
    """On a flat landscape the first batch's best stay the best: only a new start draws other values."""
    orders = []
    for patience in (3, 0):
        genes = run(CEM(patience=patience, floor=0.0), 3000, landscapes.refused()).genes()
        orders.append(len(np.unique(genes[-600:, 0])))
    assert orders[0] == SPACE.sizes[0] == 24
    assert orders[1] <= CEM().elite * CEM().batch_size


def test_without_a_floor_or_retries_it_draws_the_elite_again_and_again() -> None:
    distinct = [
        len(np.unique(run(CEM(patience=0, floor=floor, retries=retries), 3000).genes()[-1000:], axis=0))
        for floor, retries in ((0.0, 0), (0.1, 0), (0.1, 5))
    ]
    assert distinct[0] < 200 < distinct[1] < distinct[2]


def test_distributions_are_uniform_at_first() -> None:
    sizes = np.array([4, 1, 10])
    points = Distributions(sizes, 0.0).draw(np.random.default_rng(0), 20_000)
    for gene, size in enumerate(sizes):
        shares = np.bincount(points[:, gene], minlength=size) / 20_000
        assert len(shares) == size
        assert abs(shares - 1 / size).max() < 0.02


def test_distributions_move_a_step_towards_the_points_and_keep_their_floor() -> None:
    genes = Distributions(np.array([4, 1]), 0.2)
    genes.move(np.array([[0, 0], [0, 0], [3, 0], [3, 0]]), 0.5)
    assert genes.probabilities[0].tolist() == [0.375, 0.125, 0.125, 0.375]
    assert genes.probabilities[1].tolist() == [1.0]
    genes.move(np.array([[2, 0]]), 1.0)
    shares = np.bincount(genes.draw(np.random.default_rng(0), 20_000)[:, 0], minlength=4) / 20_000
    assert abs(shares - [0.05, 0.05, 0.85, 0.05]).max() < 0.01


def test_rounding_never_leads_outside() -> None:
    class Highest:
        """A generator whose uniform numbers are all as large as they get."""

        def random(self, shape: tuple[int, int]) -> np.ndarray:
            return np.full(shape, np.nextafter(1.0, 0.0))

    sizes = np.array([3, 7, 10, 49, 1000])
    genes = Distributions(sizes, 0.1)
    for _ in range(50):
        genes.move(np.zeros((3, 5), np.int64), 0.3)
        assert (genes.draw(Highest(), 2) == sizes - 1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"elite": 0.0}, "elite must be above 0 and at most 1, got 0.0"),
        ({"smoothing": 1.5}, "smoothing must be above 0 and at most 1, got 1.5"),
        ({"floor": -0.1}, "floor must be between 0 and 1, got -0.1"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
        ({"retries": -1}, "retries must be at least 0, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CEM(**settings)
