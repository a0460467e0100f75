"""Mappings of DNN layers onto accelerators, with proven optima, as benchmarks of OptunaHub."""

from __future__ import annotations

from math import log2
from typing import Any

import optunahub
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection

import dse
from searchers.adapters.optuna import benchmark_of


class Problem(optunahub.benchmarks.BaseProblem):
    """Problem `number` of a suite, of the `size(suite)` that it has.

    Values are log2 of losses, and a penalty where a mapping is infeasible; `optimum` is that of the proven
    mapping. Trials beyond the `budget` are refused.
    """

    def __init__(self, suite: str = "short", number: int = 0, budget: int | None = None) -> None:
        entry = list(dse.suite(suite))[number]
        self.name, self.optimum = entry.name, log2(entry.loss)
        self._run = benchmark_of(entry.ask_tell(budget))

    @staticmethod
    def size(suite: str) -> int:
        """How many problems a suite has."""
        return len(list(dse.suite(suite)))

    @property
    def search_space(self) -> dict[str, BaseDistribution]:
        """Sizes as whole numbers, orders and names as choices."""
        space: dict[str, BaseDistribution] = self._run.search_space
        return space

    @property
    def directions(self) -> list[StudyDirection]:
        """Losses are minimised."""
        return [StudyDirection.MINIMIZE]

    def evaluate(self, params: dict[str, Any]) -> float:
        """The value of a mapping."""
        return float(self._run.evaluate(params))
