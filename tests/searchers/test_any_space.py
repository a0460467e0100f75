"""Every searcher searches any space: here crates, which have nothing to do with mappings."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest

from dse.core.reasons import Reason
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher, searchers
from dse.support.arrays import FloatArray
from dse.testing.toy_problem import HEIGHT, NAILS, ORDER, PAINT, WIDTH, WOOD, ToyProblem
from searchers.peers import PEERS
from tests.searchers import team_cases

OURS = [name for name in searchers() if name not in PEERS]
BUDGET = 120
QUICKER: dict[str, dict[str, Any]] = {
    "bayesian": {"batch_fraction": 1.0, "n_startup_trials": 40},
    "ddpg": {"gradient_steps": 2, "n_envs": 8},
    "dqn": {"batch_size": 16, "episode_steps": 8, "exploration_steps": 100, "gradient_steps": 1},
    "gradient": {"gradient_steps": 1, "descent_steps": 3},
    "team": team_cases.QUICKER,
    "transfer": team_cases.QUICKER,
}
"""Settings with which a slow searcher fits its models less often, and a patient one learns."""


def run(name: str, seed: int = 0, budget: int = BUDGET) -> Record:
    problem = ToyProblem()
    record = Record(len(problem.space.genes))
    evaluate = Evaluator(problem, budget, record=record)
    with suppress(BudgetExhausted):
        make_searcher(name, QUICKER.get(name)).search(evaluate, np.random.default_rng(seed))
    return record


@pytest.mark.parametrize("name", OURS)
def test_every_searcher_spends_its_budget_on_crates_and_finds_good_ones(name: str) -> None:
    assert_good_crates(name, seeds=1)


def assert_good_crates(name: str, seeds: int) -> None:
    """In the median of these seeds a search is at least as good as a tenth of its samples at random."""
    records = [run(name, seed) for seed in range(seeds)]
    assert [len(record) for record in records] == [BUDGET] * seeds
    best = np.median([record.evaluations().loss.min() for record in records])
    assert best <= np.quantile(losses_by_chance(), 1 - 0.5 ** (10 / BUDGET))


@cache
def losses_by_chance() -> FloatArray:
    """Of random crates."""
    problem = ToyProblem()
    return problem.price(problem.space.sample(np.random.default_rng(1), 20_000)).loss


@pytest.mark.parametrize("name", OURS)
def test_the_same_seed_draws_the_same_crates_and_another_does_not(name: str) -> None:
    one, again, other = (run(name, seed, budget=40).genes() for seed in (3, 3, 4))
    assert (one == again).all()
    assert (one != other).any()


def test_the_best_crate_is_where_it_is_said_to_be() -> None:
    problem = ToyProblem()
    best = np.zeros((1, len(problem.space.genes)), np.int64)
    best[0, [WIDTH, HEIGHT, WOOD, PAINT, NAILS, ORDER]] = 5, 4, 2, 2, 3, 23
    assert problem.price(best).loss.tolist() == [1.0]
    points = problem.price(problem.space.sample(np.random.default_rng(0), 20_000))
    assert points.loss.min() >= 1.0
    assert 0.2 < np.isinf(points.loss).mean() < 0.5
    assert set(points.reason.tolist()) == {Reason.FEASIBLE, Reason.L1_TOO_SMALL, Reason.NO_WORK}
    assert (points.violation.any(axis=1) == (points.reason == Reason.L1_TOO_SMALL)).all()


def test_every_move_of_a_crate_but_the_best_leads_down_somewhere() -> None:
    problem = ToyProblem()
    space = problem.space
    for vector in space.sample(np.random.default_rng(0), 100):
        here = problem.price(vector[np.newaxis]).loss[0]
        near = np.concatenate([block.neighbours(vector) for block in space.blocks])
        assert np.isinf(here) or here == 1.0 or problem.price(near).loss.min() < here
