"""Problems for the tests of the team."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.testing import landscapes
from searchers.common.history import History, objective_factors
from searchers.team.columns import (
    WIDTH,
)
from searchers.team.feature_kernel import write_features
from searchers.team.features import features_of
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")


SPACE = PROBLEM.space


QUICK = {"n_teams": 2, "moves": 1, "early_moves": 2, "extra_teams": 1, "max_candidates": 8}
"""Settings with which it looks at few points for each that it evaluates, where that is not the point."""


QUICKER = QUICK | {"batch_fraction": 0.1, "late_batch_fraction": 0.05}
"""Settings with which it learns seldom too."""


OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


def run(searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0) -> Record:
    record = Record(len(problem.space.sizes))
    with suppress(BudgetExhausted):
        searcher.search(Evaluator(problem, budget, record=record), np.random.default_rng(seed))
    return record


def figures(history: History) -> np.ndarray:
    """Of the objective's factors, and each buffer's need over its capacity, in log2."""
    return np.column_stack([history.figures, history.needs])


def history_of(genes: np.ndarray, problem: Problem = PROBLEM) -> History:
    space = problem.space
    history = History(space, features_of(space), objective_factors(space, problem.objective))
    history.add(genes, problem.price(genes))
    return history


def described(
    rows: np.ndarray,
    depthwise: bool = False,
    sizes: tuple[int, ...] = (8, 4, 6, 6),
    lanes: int = 1,
    noc: int = 8,
    reads: tuple[int, ...] = (1, 2, 1, 2),
) -> np.ndarray:
    """All columns, plain, of mappings of a layer with a filter of 3 by 3 onto 8 PEs: (n, WIDTH)."""
    constants = np.array([8, 3, 3, depthwise, *sizes, lanes, noc, 4, *reads])
    found = np.empty((len(rows), WIDTH), np.float32)
    write_features(rows, constants, np.arange(WIDTH), np.zeros(WIDTH), np.ones(WIDTH), found)
    return found
