"""What a search has seen, as its models learn from it."""

from __future__ import annotations

import numpy as np

from dse.problem.problem import Evaluations
from dse.space.mapping_space import MappingSpace
from dse.spec.objective import loss as figure_of
from dse.spec.reasons import Reason
from dse.support.arrays import BoolArray, FloatArray, IntArray
from searchers.bayesian.features import Features

_PRICED = (Reason.FEASIBLE, Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)


class History:
    """The samples of a search in their order: arrays of n rows, the number of samples so far.

    `genes` (n, 13) and `losses` are as asked and told, `features` (n, m) as `describe` makes them. `figures`
    are octaves (log2) of the objective, also where a mapping does not fit in L1 or L2, and `needs` (n, 2) the
    octaves by which it does not; both are NaN where `refused`, that is infeasible for any other reason.
    """

    def __init__(self, space: MappingSpace, objective: str) -> None:
        self._space = space
        self._objective = objective
        self._first: dict[bytes, int] = {}
        self.describe = Features(space)
        self.genes = np.empty((0, len(space.sizes)), np.int64)
        self.features = self.describe(self.genes)
        self.losses = np.empty(0)
        self.figures = np.empty(0)
        self.needs = np.empty((0, 2))
        self.refused = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def complete(self) -> bool:
        """Whether every mapping of the space has been seen."""
        return len(self._first) >= self._space.mappings

    def add(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Remember more samples."""
        for row, key in enumerate(self.keys(genes), len(self)):
            self._first.setdefault(key, row)
        accelerator = self._space.accelerator
        priced = np.isin(evaluations.reason, _PRICED)
        figures = _octaves(figure_of(evaluations, accelerator, self._objective), priced)
        # Capacities are whole and a full buffer is feasible: the limit lies half an element above.
        l1 = _octaves(evaluations.l1_size / (accelerator.l1_size + 0.5), priced)
        l2 = _octaves(evaluations.l2_size / (accelerator.l2_size + 0.5), priced)
        self.genes = np.concatenate([self.genes, genes])
        self.features = np.concatenate([self.features, self.describe(genes)])
        self.losses = np.concatenate([self.losses, evaluations.loss])
        self.figures = np.concatenate([self.figures, figures])
        self.needs = np.concatenate([self.needs, np.column_stack([l1, l2])])
        self.refused = np.concatenate([self.refused, ~priced])

    def keys(self, genes: IntArray) -> list[bytes]:
        """A key for each vector (n, 13): those that decode to the same mapping have the same."""
        return [vector.tobytes() for vector in self._space.encode(self._space.decode(genes))]

    def find(self, genes: IntArray) -> IntArray:
        """The first sample of each mapping, (n, 13) to (n,); -1 for those that were not seen yet."""
        return np.array([self._first.get(key, -1) for key in self.keys(genes)], np.int64)


def _octaves(values: FloatArray, told: BoolArray) -> FloatArray:
    """log2 of the values, NaN for those that were not told or have none."""
    known = told & np.isfinite(values) & (values > 0)
    octaves: FloatArray = np.where(known, np.log2(np.where(known, values, 1.0)), np.nan)
    return octaves
