"""The sums of terms of a problem as arrays: what the compiled relaxation and enumeration read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.models.timeloop.proof.records import FirstVisits, Groups, Lines
from dse.models.timeloop.proof.terms import Terms, steps_of
from dse.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Sums:
    """The groups of terms under one choice of what levels keep.

    Of terms, the `group`, the logarithm of the coefficient, whether it counts `steps`, and the `deliveries`
    of some.
    """

    groups: Groups
    visits: FirstVisits
    group: IntArray
    coefficients: FloatArray
    steps: BoolArray
    deliveries: tuple[tuple[int, tuple[int, int]], ...]

    @classmethod
    def of(cls, terms: Terms) -> Sums:
        """The sums of these terms."""
        flat, firsts, groups = terms.flat, terms.firsts, terms.groups
        starts = _starts([len(group.terms) for group in groups])
        coefficients = np.log([one.coefficient for one in flat])
        spreads = starts[:-1][[group.spreads for group in groups]]
        factors = [*(one.coefficient for one in flat), *(one.coefficient * one.size for one in firsts)]
        return cls(
            Groups(
                np.array([group.kind for group in groups], dtype=np.int64),
                starts,
                _starts([sum(one.first is not None for one in group.terms) for group in groups]),
                terms.powers,
            ),
            FirstVisits(
                np.array([place for place, one in enumerate(flat) if one.first is not None], dtype=np.int64),
                np.array([one.coefficient for one in firsts]),
                np.log([one.size for one in firsts]),
                np.array(factors),
                spreads,
                -float(coefficients[spreads].sum()),
            ),
            np.repeat(np.arange(len(groups)), np.diff(starts)),
            coefficients,
            np.array([steps_of in one.parts for one in flat]),
            tuple((place, one.delivery) for place, one in enumerate(flat) if one.delivery is not None),
        )

    @property
    def lines(self) -> Lines:
        """The terms as they are in a table, before lines are drawn."""
        return Lines(np.arange(len(self.coefficients)), self.coefficients.copy(), self.groups.starts)


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.cumsum([0, *lengths]).astype(np.int64)
