"""Evaluations: what points cost, how good they are, and by how much they miss the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dse.core.figures import Figures
from dse.core.objective import objective_named
from dse.core.reasons import Reason
from dse.support.arrays import CodeArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Criteria:
    """What a problem judges figures by: the objective, the clock in Hz, and each buffer's elements.

    `capacities` (buffers,) are in the order of a point's `needs`, the innermost buffer first; empty where
    nothing is limited.
    """

    objective: str
    hertz: float
    capacities: IntArray


UNKNOWN = Criteria("latency", 1.0, np.empty(0, np.int64))
"""Of points whose problem is not known, such as those of a record that is read without it."""


@dataclass(frozen=True)
class Evaluations(Figures):
    """What n points cost and how good they are: arrays of length n.

    The figures are those of a CostBatch (0 where the model refuses the point). `loss` is in the objective's
    unit, `inf` where `reason`, a `dse.core.reasons.Reason` code, is not 0. `criteria` are the problem's; what
    follows from them and the figures is worked out when it is asked for, and never stored.
    """

    loss: FloatArray
    reason: CodeArray
    criteria: Criteria = UNKNOWN

    def to_frame(self) -> pd.DataFrame:
        """A row a point: the figures, `loss`, and `reason` in words ("feasible" if it is)."""
        import pandas as pd

        words = {code: Reason(code).text for code in np.unique(self.reason).tolist()}
        return pd.DataFrame(self.columns() | {"reason": [words[code] for code in self.reason.tolist()]})

    @property
    def capacities(self) -> IntArray:
        """Elements that there are of each limited buffer, innermost first: (buffers,)."""
        return self.criteria.capacities

    @property
    def needs(self) -> IntArray:
        """Elements needed of each limited buffer: (n, buffers); 0 where the model refuses the point."""
        needs: IntArray = super().needs
        return needs[:, : len(self.capacities)]

    @property
    def violation(self) -> IntArray:
        """Elements by which each point exceeds each limited buffer: (n, buffers), 0 where it fits."""
        beyond: IntArray = np.maximum(self.needs - self.capacities, 0)
        return beyond

    @property
    def objective_value(self) -> FloatArray:
        """The objective's figure (n,), in its unit, also of points that are infeasible; 0 of refused ones."""
        criteria = self.criteria
        figure = objective_named(criteria.objective).figure(
            self.cycles, self.energy_nj, self.power, self.area, criteria.hertz
        )
        return np.asarray(figure, dtype=np.float64)
