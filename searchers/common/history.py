"""The samples of a search, as its models learn from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.core.objective import FIGURES, known_objective
from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.scores import penalised_losses
from searchers.common.visited import Visited

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space

AnyArray = NDArray[Any]

Describe = Callable[[IntArray], AnyArray]
"""From vectors (n, genes) to the features (n, width) that surrogates see."""

MAX_FACTORS = 4


def objective_factors(space: Space, objective: str) -> tuple[str, ...]:
    """The figures to learn one by one where designs are mappings; else none, and the objective is learned.

    Their product is, but for a constant, the objective: one with a power of 2 is there twice. Of other powers
    than a few whole ones there are none.
    """
    found = known_objective(objective)
    if found is None or not space.structure:
        return ()
    powers = found.exponents
    if not powers or any(power % 1 for power in powers.values()) or sum(powers.values()) > MAX_FACTORS:
        return ()
    return tuple(figure.column for name, figure in FIGURES.items() for _ in range(int(powers.get(name, 0))))


class History:
    """The samples of a search in their order: arrays of n rows.

    `genes` are vectors as they were asked for, `features` as `describe` makes them, `losses` as evaluated,
    `scores` numbers to minimise, beyond all losses where infeasible. `figures` (n, factors) are log2 of what
    the objective consists of, also where a design does not fit, and `needs` (n, buffers) log2 of what is
    needed of each buffer over what there is. Both are NaN where `refused`: infeasible, though it fits.
    """

    def __init__(self, space: Space, describe: Describe, factors: tuple[str, ...] = ()) -> None:
        """`factors` are the evaluations' columns to have as figures; if none, the objective is the one."""
        self._visited = Visited(space)
        self._factors = factors
        self._room: dict[str, AnyArray] = {}
        self.describe = describe
        self.factors = len(factors) or 1
        self.genes = np.empty((0, len(space.sizes)), np.int64)
        self.features = describe(self.genes)
        self.figures = np.empty((0, self.factors))
        self.needs = np.empty((0, 0))
        self.losses = np.empty(0)
        self.scores = np.empty(0)
        self.refused = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def objective(self) -> FloatArray:
        """log2 of the objective, but for a constant if it is learned by factors: (n,), NaN where refused."""
        total: FloatArray = self.figures.sum(axis=1)
        return total

    @property
    def designs(self) -> int:
        """How many distinct designs there are among the samples."""
        return len(self._visited)

    def keys(self, genes: IntArray) -> list[bytes]:
        """A key for each vector (n, genes): the same for those of one design."""
        return self._visited.keys(genes)

    def find(self, genes: IntArray) -> IntArray:
        """The first sample of each vector's design, (n, genes) to (n,); -1 for those not evaluated yet."""
        return self._visited.find(genes)

    def add(self, genes: IntArray, evaluations: Evaluations) -> IntArray:
        """Remember more samples: their rows (n,)."""
        start = len(self)
        figures = self._figures(evaluations)
        # Capacities are whole and a full buffer is feasible: the limit lies half an element above.
        needs = np.maximum(evaluations.needs, 1) / (evaluations.capacities + 0.5)
        refused = (evaluations.reason != 0) & ~evaluations.violation.any(axis=1)
        refused |= ~(np.isfinite(figures) & (figures > 0)).all(axis=1)
        self._visited.add(genes)
        self._extend("genes", genes)
        self._extend("features", self.describe(genes))
        self._extend("figures", _log2(figures, ~refused))
        self._extend("needs", _log2(needs, ~refused))
        self._extend("losses", evaluations.loss)
        self._extend("scores", penalised_losses(evaluations))
        self._extend("refused", refused)
        return np.arange(start, len(self))

    def _figures(self, evaluations: Evaluations) -> FloatArray:
        """What is learned of the evaluations, before its log2: (n, factors)."""
        if self._factors:
            return np.stack([getattr(evaluations, name) for name in self._factors], axis=1).astype(np.float64)
        feasible = np.isfinite(evaluations.loss)
        return np.where(feasible, evaluations.loss, evaluations.objective_value)[:, np.newaxis]

    def _extend(self, name: str, more: AnyArray) -> None:
        """Lengthen the array of that name, in memory that has room for later samples too."""
        start = len(getattr(self, name))
        count = start + len(more)
        room = self._room.get(name)
        if room is None or count > len(room):
            room = np.empty((2 * count, *more.shape[1:]), more.dtype)
            if start:
                room[:start] = getattr(self, name)
            self._room[name] = room
        room[start:count] = more
        setattr(self, name, room[:count])


def _log2(values: FloatArray, rows: NDArray[np.bool_]) -> FloatArray:
    """log2 of the given rows of the values, NaN in the others."""
    found = np.full(values.shape, np.nan)
    found[rows] = numerics.log2(values[rows])
    return found
