"""The sums of terms as compiled code reads them, and what chains contribute, kept for all patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import Orders, Outside, Pattern
from dse.models.timeloop.proof.records import FirstVisits, Groups, Lines
from dse.models.timeloop.proof.terms import Terms, steps_of
from dse.models.timeloop.proof.waits import Part
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

KERNEL = "dse.models.timeloop.proof.relaxation"


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


class Tables:
    """The columns of all components. Threads may ask at the same time."""

    def __init__(self, terms: Terms, orders: Orders, counts: Sequence[Counts]) -> None:
        self._terms, self._orders, self._counts = terms.flat, orders, counts
        self._stores = [one.store for one in counts]
        self._of: dict[tuple[int, int], list[int]] = {}
        for number, term in enumerate(terms.flat):
            if term.delivery is not None:
                self._of.setdefault(term.delivery, []).append(number)
        self._outsides: dict[Pattern, list[Outside]] = {}
        self._places: dict[object, list[int]] = {}
        self._written: dict[tuple[Pattern, int], IntArray] = {}
        every = [*(term.parts for term in terms.flat), *(first.parts for first in terms.firsts)]
        self._always = [
            np.array([self._place(part, parts) for parts in every], dtype=np.int64)
            for part in range(len(counts))
        ]

    def write(self, pattern: Pattern, component: int, chains: IntArray, found: FloatArray) -> None:
        """Write what chains of a component contribute to all terms and then first visits under a pattern, as
        logarithms: (terms and first visits, chains).
        """
        # Threads that count at the same time would keep the same count twice.
        with self._stores[component].counting:
            if (pattern, component) not in self._written:
                self._written[pattern, component] = self._columns(pattern, component)
            places = self._written[pattern, component]
            columns = self._stores[component].columns
        load_kernels(KERNEL).gather(columns, places, chains, found)

    def _columns(self, pattern: Pattern, component: int) -> IntArray:
        """Where in the component's store what it contributes under a pattern is."""
        if pattern not in self._outsides:
            self._outsides[pattern] = [self._orders.outside(pattern, *delivery) for delivery in self._of]
        places: IntArray = self._always[component].copy()
        for delivery, outside in zip(self._of, self._outsides[pattern], strict=True):
            places[self._of[delivery]] = self._delivered(component, delivery, outside)
        return places

    def _delivered(self, component: int, delivery: tuple[int, int], outside: Outside) -> list[int]:
        """The columns of the terms with a delivery."""
        key = (component, delivery, outside)
        if key not in self._places:
            words = self._counts[component].delivered(*delivery, outside)
            self._places[key] = [
                self._place(component, self._terms[number].parts, words) for number in self._of[delivery]
            ]
        return self._places[key]

    def _place(self, component: int, parts: Sequence[Part], *more: FloatArray) -> int:
        """Where in the component's store the sum of these counts of all its chains is."""
        with self._stores[component].counting:
            found = [*(part(self._counts[component]) for part in parts), *more]
            # Counts keep what they have counted: the same array is the same count.
            return self._stores[component].place(tuple(map(id, found)), found)
