"""What perfect factors cost, of the rows that are proven so far: shares, means with intervals, verdicts.

A problem's cost is the optimum over perfect factors over that over any tiles, minus 1. Where the latter is
not proven it is at least that to the best mapping found, and at most that to the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.support.arrays import FloatArray
from experiments import read_rows
from experiments.intervals import Estimate, Verdict, at_most, mean_over_groups
from experiments.perfect_factors.problems import FILE

SMALL = 0.01
"""The claim that is judged: perfect factors cost so much or less, in the mean over layers."""


@dataclass(frozen=True)
class Costs:
    """Rows of the table, and what perfect factors cost there."""

    rows: Sequence[dict[str, str]]

    @classmethod
    def read(cls) -> Costs:
        """Those of the file, without the problems where nothing fits: nothing is compared there."""
        return cls([one for one in read_rows(FILE) if math.isfinite(float(one["factors"]))])

    def where(self, holds: Callable[[dict[str, str]], bool]) -> Costs:
        """Only some of the rows."""
        return Costs([one for one in self.rows if holds(one)])

    def of(self, **columns: str) -> Costs:
        """The rows that have these words in their columns."""
        return self.where(lambda row: all(row[column] == word for column, word in columns.items()))

    def losses(self, column: str) -> FloatArray:
        """The losses over `factors` or `any`, or the `bound`, (rows,)."""
        return np.array([float(one[column]) for one in self.rows])

    @property
    def least(self) -> FloatArray:
        """What perfect factors cost at least, as shares, (rows,)."""
        return self.losses("factors") / self.losses("any") - 1

    @property
    def most(self) -> FloatArray:
        """What they cost at most."""
        return self.losses("factors") / self.losses("bound") - 1

    @property
    def saved(self) -> tuple[FloatArray, FloatArray]:
        """How much less any tiles have than perfect factors, as shares: at least, at most."""
        factors = self.losses("factors")
        return 1 - self.losses("any") / factors, 1 - self.losses("bound") / factors

    @property
    def proven(self) -> Costs:
        """The rows whose costs are known exactly."""
        return self.of(status=OPTIMAL)

    def largest(self, count: int) -> Costs:
        """The rows where perfect factors cost most, of what was found, the largest first."""
        order = np.argsort(-self.least, kind="stable")[:count]
        return Costs([self.rows[at] for at in order])

    def mean(self, values: FloatArray) -> Estimate:
        """The mean of values of the rows, with its interval over layers."""
        return mean_over_groups(values.tolist(), [one["layer"] for one in self.rows])

    @property
    def small(self) -> Verdict:
        """Whether the mean is SMALL or less: even by the bounds, or else not even by what was found."""
        if not self.rows:
            return "inconclusive"
        if at_most(SMALL, self.mean(self.most)) == "borne out":
            return "borne out"
        return "not borne out" if at_most(SMALL, self.mean(self.least)) == "not borne out" else "inconclusive"
