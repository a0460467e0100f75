"""What a search has paid for, as its agents and critics look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.spec.reasons import Reason
from dse.support.arrays import IntArray
from searchers.common.points import scores
from searchers.team.features import Features

if TYPE_CHECKING:
    from dse.problem.problem import Evaluations
    from dse.space.mapping_space import MappingSpace

AnyArray = NDArray[Any]

_TOLD = (Reason.FEASIBLE, Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)
_FACTORS = {
    "latency": ("cycles",),
    "energy": ("energy_nj",),
    "edp": ("cycles", "energy_nj"),
    "area": ("area",),
    "power": ("power",),
}
"""The figures whose product is an objective: each is foretold by itself, also where a buffer is too small."""
NEEDS = 2


class History:
    """The samples of a search in their order: arrays of n rows.

    `genes` (n, 13) are vectors in normal form, `scores` numbers to minimise, beyond all losses where
    infeasible. `figures` (n, m) are octaves: first the factors of the objective, whose sum is its own, then
    how far L1 and L2 are exceeded; NaN where `refused`, that is infeasible but for the buffers.
    """

    def __init__(self, space: MappingSpace, objective: str) -> None:
        self._accelerator = space.accelerator
        self._factors = _FACTORS.get(objective, ("loss",))
        self._rows: dict[bytes, int] = {}
        self._buffers: dict[str, AnyArray] = {}
        self.describe = Features(space)
        self.factors = len(self._factors)
        self.genes = np.empty((0, len(space.sizes)), np.int64)
        self.features = np.empty((0, self.describe.width), np.float32)
        self.figures = np.empty((0, self.factors + NEEDS))
        self.scores = np.empty(0)
        self.losses = np.empty(0)
        self.refused = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self.scores)

    def add(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Remember more samples."""
        for row, vector in enumerate(genes, len(self)):
            self._rows.setdefault(vector.tobytes(), row)
        accelerator = self._accelerator
        needs = (
            # Capacities are whole and a full buffer is feasible: the limit lies half an element above.
            evaluations.l1_size / (accelerator.l1_size + 0.5),
            evaluations.l2_size / (accelerator.l2_size + 0.5),
        )
        values = np.stack([*(getattr(evaluations, name) for name in self._factors), *needs], axis=1)
        told = np.isin(evaluations.reason, _TOLD) & (np.isfinite(values) & (values > 0)).all(axis=1)
        figures = np.full(values.shape, np.nan)
        figures[told] = np.log2(values[told])
        self.genes = self._longer("genes", self.genes, genes)
        self.features = self._longer("features", self.features, self.describe(genes))
        self.figures = self._longer("figures", self.figures, figures)
        self.losses = self._longer("losses", self.losses, evaluations.loss)
        self.refused = self._longer("refused", self.refused, ~told)
        self.scores = self._longer("scores", self.scores, scores(evaluations))

    def _longer(self, name: str, values: AnyArray, more: AnyArray) -> AnyArray:
        """The values and more, (n + m, ...), in a buffer that has room for later ones."""
        count = len(values) + len(more)
        buffer = self._buffers.get(name, values)
        if count > len(buffer):
            buffer = np.empty((2 * count, *values.shape[1:]), values.dtype)
            buffer[: len(values)] = values
            self._buffers[name] = buffer
        buffer[len(values) : count] = more
        return buffer[:count]

    def find(self, genes: IntArray) -> IntArray:
        """The first sample of each mapping, (n, 13) in normal form to (n,); -1 for those not yet paid for."""
        return np.array([self._rows.get(vector.tobytes(), -1) for vector in genes], np.int64)
