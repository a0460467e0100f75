"""The single agent with a head for every gene: the control of the multi-agent mapper."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import Searcher, make_searcher
from dse.support.errors import InputError
from searchers.factored_ppo import FactoredPPO
from searchers.marl import MARL
from searchers.marl.ppo import Learning
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
HOPELESS = replace(PROBLEM, accelerator=replace(PRESETS["eyeriss-small"], l1_size=1, l2_size=1))


def run(searcher: Searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0) -> Record:
    return run_cell(Cell(problem, "factored-ppo", searcher, seed, budget))


def genes_by(searcher: Searcher, budget: int) -> np.ndarray:
    """The points that it draws from a generator that does not depend on its settings."""
    record = Record(13)
    with pytest.raises(BudgetExhausted):
        searcher.search(Evaluator(PROBLEM, budget, record=record), np.random.default_rng(7))
    return record.genes()


def test_it_is_marl_with_one_agent() -> None:
    alike = {item.name: getattr(FactoredPPO(), item.name) for item in fields(Learning)}
    single = genes_by(FactoredPPO(), 700)
    assert (single == genes_by(MARL(agents=1, **alike), 700)).all()
    assert (single != genes_by(MARL(**alike), 700)).any()


@pytest.mark.parametrize("problem", [PROBLEM, HOPELESS], ids=["conv2", "hopeless"])
@pytest.mark.parametrize("budget", [1, 501])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(FactoredPPO(), budget, problem)) == budget


@pytest.mark.parametrize("seed", range(3))
def test_it_comes_to_a_point_that_few_are_better_than(seed: int) -> None:
    losses = run(FactoredPPO(patience=0, retries=0), 2000, seed=seed).evaluations().loss
    blind = run(Random(), 2000).evaluations().loss
    assert np.median(losses[-200:]) < np.quantile(blind, 0.01)


def test_the_same_cell_draws_the_same_and_another_seed_does_not() -> None:
    first, again, other = (run(FactoredPPO(), 400, seed=seed).genes() for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_it_is_found_by_its_name_and_refuses_what_only_marl_has() -> None:
    assert make_searcher("factored-ppo", {"reward": "-log"}) == FactoredPPO(reward="-log")
    with pytest.raises(InputError, match="unknown key 'agents'"):
        make_searcher("factored-ppo", {"agents": 2})
