"""A part of a budget, for a searcher that is run by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dse.search.evaluator import BudgetExhausted
from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator, Known


class SubBudget:
    """An evaluator with a budget of its own, whose samples are charged to another.

    It keeps what was drawn: `genes` and `losses`.
    """

    def __init__(self, evaluate: Evaluator, samples: int) -> None:
        """`samples` of those that `evaluate` has left, or all that it has left if they are fewer."""
        self._evaluate = evaluate
        self._genes: list[IntArray] = []
        self._losses: list[FloatArray] = []
        self.budget = min(samples, evaluate.remaining)
        self.remaining = self.budget

    @property
    def space(self) -> Space:
        """The space that the genes are of."""
        return self._evaluate.space

    @property
    def objective(self) -> str:
        """The name of what is minimised."""
        return self._evaluate.objective

    @property
    def known(self) -> Known:
        """What the whole search has begun with."""
        return self._evaluate.known

    @property
    def genes(self) -> IntArray:
        """The points drawn, in order: (samples, genes)."""
        return np.concatenate([np.empty((0, len(self.space.sizes)), np.int64), *self._genes])

    @property
    def losses(self) -> FloatArray:
        """Their losses: (samples,)."""
        return np.concatenate([np.empty(0), *self._losses])

    def __call__(self, genes: ArrayLike) -> Evaluations:
        """What the points cost. BudgetExhausted if they are more than remain, as by an evaluator."""
        asked = np.asarray(genes)
        if not self.remaining:
            raise BudgetExhausted(f"all {self.budget} samples of this sub-budget are spent")
        allowed = asked[: self.remaining]
        evaluations = self._evaluate(allowed)
        self._genes.append(allowed.astype(np.int64))
        self._losses.append(evaluations.loss)
        self.remaining -= len(allowed)
        if len(allowed) < len(asked):
            raise BudgetExhausted(
                f"all {self.budget} samples of this sub-budget are spent: of a batch of {len(asked)}, "
                f"{len(allowed)} were evaluated"
            )
        return evaluations
