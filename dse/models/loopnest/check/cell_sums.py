"""Figures that no pair of tiles in a cell is below: for cells with too many pairs to look at each.

A cell is an interval of outer tiles and one of inner tiles of a dim whose pieces share no input. What depends
on outer tiles alone is looked up; the rest is bounded from the ends of both intervals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.domains.clustered.check.cells import least_between
from dse.models.loopnest.check.tile_sums import Sums
from dse.support.arrays import BoolArray, FloatArray, IntArray

OF_OUTER = (
    "steps", "span", "span_window", "last_span", "cut", "span_on", "span_more", "last_more",
    "link_A", "link_E", "link_EZ", "link_ahead", "link_G", "real_A", "real_E", "real_EZ",
)  # fmt: skip
"""Figures that depend on outer tiles alone."""


class Cells:
    """The cells of a dim over `across` clusters and `within` PEs.

    The figures of its pairs with the inner tile 1 and outer tiles 1, 2, ... are known.
    """

    def __init__(
        self, size: int, across: int, within: int, pitch: int, figures: Mapping[str, FloatArray]
    ) -> None:
        self._sizes, self._pitch, self._names = (size, across, within), pitch, tuple(figures)
        self._of_outer = [name for name in figures if name in OF_OUTER]
        outer = np.arange(1, len(figures["steps"]) + 1)
        span = np.minimum(outer * across, size)
        ahead, last = (-(-size // span) - 1) * outer, size - (-(-size // span) - 1) * span
        whole = ahead + np.minimum(outer, last)
        known = [figures[name] for name in self._of_outer]
        self._known = np.stack([*known, last, -last, whole, ahead, -(size % outer)], axis=1)

    def least(self, cells: IntArray) -> dict[str, FloatArray]:
        """Figures that no pair of cells (n, 4) is below."""
        known = least_between(self._known, cells[:, 0] - 1, cells[:, 1])
        count = len(self._of_outer)
        sums = CellSums(*self._sizes, cells, known[:, count:].astype(np.int64))
        held, summed = sums.held(), sums.summed()
        found: dict[str, IntArray | FloatArray] = dict(sums.counts())
        found |= {"window": found["inner"] * self._pitch, "begin": held["begin"], "end": summed["begin"]}
        found |= {f"held_{name}": value for name, value in held.items()}
        found |= {f"input_{name}": value * self._pitch for name, value in held.items()}
        found |= {f"output_{name}": value for name, value in summed.items()}
        found |= dict(zip(self._of_outer, known.T[:count], strict=True))
        return {name: found[name].astype(np.float64) for name in self._names}


class CellSums:
    """Figures of cells (n, 4), from the ends of their intervals."""

    def __init__(self, size: int, across: int, within: int, cells: IntArray, by_outer: IntArray) -> None:
        self._size, self._across, self._within = size, across, within
        self._low, self._high, self._inner, self._most_inner = cells.T
        self._last, most_last, self._total, self._ahead, most_rest = by_outer.T
        self._most_last, self._most_rest = -most_last, -most_rest
        self._longest = np.minimum(self._low, self._last)
        self._most_longest = np.minimum(self._high, self._most_last)
        # The least and the largest round: as many indices as all PEs work on at once.
        self._round, self._most_round = self._inner * within, self._most_inner * within
        self._more = -(-size // np.minimum(self._high * across, size)) - 1
        self._most_more = -(-size // np.minimum(self._low * across, size)) - 1
        self._wholes, self._pieces = size // self._high, -(-size // self._high)
        self._one_round = self._high <= self._round

    def counts(self) -> Sums:
        """See `Cuts.counts`: those that depend on inner tiles."""
        more, within, total, longest = self._more, self._within, self._total, self._longest
        rounds, rounds_last = -(-self._low // self._most_round), -(-longest // self._most_round)
        all_rounds = -(-total // self._most_round)
        cuts = -(-self._low // self._most_inner)
        first = np.minimum(within, cuts)
        working, wholes = (np.minimum(self._across, each) for each in (self._pieces, self._wholes))
        busy, busy_last = self._busiest(self._low), self._busiest(longest)
        # In all an even share at least, of which each outer step's last inner one has at most a largest tile.
        before = -(-total // within) - self._most_inner * (self._most_more + 1)
        at_end, at_last_end = (
            self._at_end(self._low, self._high), self._at_end(longest, self._most_longest)
        )  # fmt: skip
        return {
            "inner_steps": np.maximum(more * rounds + rounds_last, all_rounds),
            "pieces": np.maximum(self._each(cuts), -(-self._size // self._most_inner)),
            "first_pieces": self._each(first),
            "begin_pieces": wholes * first + working - wholes,
            "serial": np.maximum(more * busy + busy_last, -(-total // within)),
            "on_serial": np.maximum(more * self._before(self._low) + self._before(longest), before),
            "outer_serial": np.maximum(more * busy, -(-self._ahead // within)),
            "end_serial": more * at_end + at_last_end,
            "outer_end_serial": more * at_end,
            "last_end_serial": at_last_end,
            "last_serial": busy_last,
            "inner_on": np.maximum(more * (rounds - 1) + rounds_last, all_rounds - self._most_more) - 1,
            "inner": self._inner,
        }

    def held(self) -> Sums:
        """Sums of pieces that are disjoint, where a PE keeps the last one that it worked on: by column."""
        back = self._most_back()
        # PEs keep what they began with through two outer steps at most.
        far = np.where(self._more > 1, 0, back)
        first, begin = self._first(), self._begin()
        apart = self._low > self._most_round
        more = np.where(apart, self._wholes * np.minimum(self._round, self._low - self._most_round), 0)
        return self._columns(back, far) | {
            "F": first,
            "G": np.minimum(np.maximum(more, 0), first),
            "onward": self._onward(),
            "begin": begin,
            "H": np.maximum(begin - far, 0),
        }

    def summed(self) -> Sums:
        """Sums of outputs, which stay where the next step is of the same ones: by column."""
        in_last = np.where(self._longest <= self._most_round, self._most_last, 0)
        back = np.where(self._low <= self._most_round, self._size, in_last)
        far = np.where(self._more > 0, 0, back)
        end = np.where(self._most_longest <= self._round, self._last, 1)
        before = self._more * self._across
        left = np.where(self._one_round, self._size, before + 1)
        leaves = before * np.where(self._one_round, self._low, 1)
        return self._columns(back, far) | {
            "F": left,
            "G": np.minimum(np.where(self._low > self._most_round, before, 0), left),
            "onward": np.minimum(self._onward(), leaves),
            "begin": end,
            "H": np.where(self._more > 0, end, 0),
        }

    def _columns(self, back: IntArray, far: IntArray) -> Sums:
        """What is new, where so much stays at most as inner loops go back, and as outer ones do."""
        size = np.full_like(back, self._size)
        most = np.minimum(self._size // self._low * self._most_round, self._size)
        rest = np.minimum(self._most_rest, self._most_round)
        found = {"A": size, "D": size - back, "DE": size - far, "DEZ": size, "M": np.zeros_like(back)}
        return found | {"ahead": np.maximum(size - most - rest, 0)}

    def _each(self, whole: IntArray) -> IntArray:
        """The sum over the outer pieces, of which one that is not whole has 1 at least."""
        found: IntArray = self._wholes * (whole - 1) + self._pieces
        return found

    def _busiest(self, length: IntArray) -> IntArray:
        """Indices of the busiest PE in a piece of at least this length."""
        even = -(-length // self._within)
        rounds = -(-length // self._most_round)
        found: IntArray = np.maximum(
            np.maximum(even, np.minimum(self._inner, length)), (rounds - 1) * self._inner + 1
        )
        return found

    def _before(self, length: IntArray) -> IntArray:
        """The same before the last inner step."""
        rounds = -(-length // self._most_round) - 1
        found: IntArray = np.maximum(rounds * self._inner, -(-length // self._within) - self._most_inner)
        return found

    def _at_end(self, length: IntArray, most: IntArray) -> IntArray:
        """The same in the last inner step of pieces of lengths from this to the `most`."""
        # In a single round the first PE has a tile, or all there is; a last round has an index at least.
        found: IntArray = np.where(most <= self._round, np.minimum(self._inner, length), 1)
        return found

    def _share(self, indices: IntArray) -> IntArray:
        """Of so many indices in outer pieces those in first rounds."""
        found: IntArray = np.where(self._one_round, indices, -(-indices * self._round // self._high))
        return found

    def _first(self) -> IntArray:
        """Indices in the first rounds of all outer pieces."""
        whole = self._each(np.minimum(self._low, self._round))
        found: IntArray = np.maximum(self._share(np.full_like(whole, self._size)), whole)
        return found

    def _begin(self) -> IntArray:
        """Those of the first outer step."""
        working, wholes = (np.minimum(self._across, each) for each in (self._pieces, self._wholes))
        whole = wholes * np.minimum(self._low, self._round) + working - wholes
        found: IntArray = np.maximum(self._share(np.minimum(self._low * self._across, self._size)), whole)
        return found

    def _onward(self) -> IntArray:
        """Those of all other outer steps."""
        later = self._size - np.minimum(self._high * self._across, self._size)
        whole = np.maximum(self._wholes - self._across, 0) * np.minimum(self._low, self._round)
        found: IntArray = np.maximum(self._share(later), whole)
        return found

    def _most_back(self) -> IntArray:
        """The most indices of PEs that have a single piece of an outer one."""
        several: BoolArray = self._low > self._most_round
        whole = np.maximum(2 * self._most_round - self._low, 0)
        rest = np.minimum(self._most_rest, self._most_round)
        most = np.minimum(self._size // self._low * whole + rest, self._size)
        found: IntArray = np.where(several, most, self._size)
        return found
