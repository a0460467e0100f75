"""Evaluations: what points cost, how good they are, and by how much they miss the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dse.core.figures import Figures
from dse.core.objective import objective_named, parse_objectives
from dse.core.reasons import Reason
from dse.support.arrays import BoolArray, CodeArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Criteria:
    """What a problem judges figures by: the objective, the clock in Hz, and each buffer's elements.

    `capacities` (buffers,) are in the order of a point's `needs`, the innermost buffer first; empty where
    nothing is limited. Where genes say what the hardware is, those of n points are (n, buffers), and `hertz`
    is (n,): `of_points` gives them.
    """

    objective: str
    hertz: float | FloatArray
    capacities: IntArray
    own: Callable[[IntArray], Criteria] | None = field(default=None, repr=False, compare=False)
    """From points (n, genes) to their criteria, where each has its own."""

    def of_points(self, genes: IntArray) -> Criteria:
        """What the points (n, genes) are judged by: the same for all, or each point by its own hardware."""
        return self if self.own is None else self.own(genes)

    def take(self, rows: slice | IntArray | BoolArray) -> Criteria:
        """The criteria of some of the points."""
        if self.capacities.ndim == 1:
            return self
        hertz = self.hertz[rows] if isinstance(self.hertz, np.ndarray) else self.hertz
        return replace(self, hertz=hertz, capacities=self.capacities[rows])

    def joined(self, *others: Criteria) -> Criteria:
        """The criteria of these points and then of the other ones."""
        if self.capacities.ndim == 1:
            return self
        every = (self, *others)
        hertz = np.concatenate([np.broadcast_to(one.hertz, len(one.capacities)) for one in every])
        return replace(self, hertz=hertz, capacities=np.concatenate([one.capacities for one in every]))


UNKNOWN = Criteria("latency", 1.0, np.empty(0, np.int64))
"""Of points whose problem is not known, such as those of a record that is read without it."""


@dataclass(frozen=True)
class Evaluations(Figures):
    """What n points cost and how good they are: arrays of length n.

    The figures are those of a CostBatch (0 where the model refuses the point). `loss` is in the objective's
    unit, `inf` where `reason`, a `dse.core.reasons.Reason` code, is not 0; of several objectives, which
    have none, it is NaN where that is 0. `criteria` are the problem's; what follows from them and the
    figures is worked out when it is asked for, and never stored.
    """

    loss: FloatArray
    reason: CodeArray
    criteria: Criteria = UNKNOWN

    def take(self, rows: slice | IntArray | BoolArray) -> Self:
        """Those of some points: by a slice, indices or a mask."""
        return replace(super().take(rows), criteria=self.criteria.take(rows))

    def joined(self, *others: Self) -> Self:
        """These points and then the other ones."""
        criteria = self.criteria.joined(*(other.criteria for other in others))
        return replace(super().joined(*others), criteria=criteria)

    def to_frame(self) -> pd.DataFrame:
        """A row a point: the figures, `loss`, and `reason` in words ("feasible" if it is)."""
        import pandas as pd

        words = {code: Reason(code).text for code in np.unique(self.reason).tolist()}
        return pd.DataFrame(self.columns() | {"reason": [words[code] for code in self.reason.tolist()]})

    @property
    def capacities(self) -> IntArray:
        """Elements that there are of each limited buffer, innermost first: (buffers,), or (n, buffers)."""
        return self.criteria.capacities

    @property
    def needs(self) -> IntArray:
        """Elements needed of each limited buffer: (n, buffers); 0 where the model refuses the point."""
        needs: IntArray = super().needs
        return needs[:, : self.capacities.shape[-1]]

    @property
    def violation(self) -> IntArray:
        """Elements by which each point exceeds each limited buffer: (n, buffers), 0 where it fits."""
        beyond: IntArray = np.maximum(self.needs - self.capacities, 0)
        return beyond

    @property
    def objective_value(self) -> FloatArray:
        """The objective's figure (n,), in its unit, also of points that are infeasible; 0 of refused ones."""
        criteria = self.criteria
        hertz: Any = criteria.hertz
        value = objective_named(criteria.objective).uncapped.value(self, hertz)
        return np.asarray(value, dtype=np.float64)

    @property
    def objective_values(self) -> FloatArray:
        """The figure of each objective (n, objectives), in their order; else as `objective_value`."""
        criteria = self.criteria
        hertz: Any = criteria.hertz
        found = [one.uncapped.value(self, hertz) for one in parse_objectives(criteria.objective)]
        return np.stack([np.asarray(value, dtype=np.float64) for value in found], axis=1)
