"""Where boxes are divided in two: where the bounds of both halves rise most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.models.loopnest.bound.fitting import DOWN, HIGH, LEAST, LOW, MOST, RANK, UP
from dse.support.arrays import BoolArray, FloatArray, IntArray

SMALL, SMALL_PERFECT = 256, 4
"""Pairs of tiles of a dim up to which a box is divided where it is widest, without trying: of tiles of any
size, and of perfect factors."""
WIDE = 4.0
"""Where energy alone counts, outer steps that differ by more than this factor are told apart first."""
LEAST_RISE = 1e-7
"""A half that does not rise at all counts as one that rises by this share of its bound."""

BoundHalves = Callable[[IntArray, IntArray], FloatArray]
"""The bounds of halves (m, 4, 4), which are of the boxes at these places (m,)."""


@dataclass(frozen=True)
class Cuts:
    """Where boxes `tiles` (n, 4, 4) can be divided: by level (0 outer, 1 inner) and dim, arrays (n, 2, 4).

    `across` (n, 4) is over how many clusters a dim is spread, `sizes` (4,) are the dims', `tables` those of
    the tiles that there are. Where a box has at most `outer_first` choices of outer tiles whose steps are not
    decided, these come first: the time of the DRAM link follows from them. A box with more than `small` pairs
    of tiles in a dim is tried out.
    """

    tiles: IntArray
    across: IntArray
    sizes: IntArray
    tables: IntArray
    outer_first: float
    small: int

    @cached_property
    def _steps(self) -> IntArray:
        """The fewest and the most outer steps: (2, n, 4)."""
        ends = self.tiles[:, :, [HIGH, LOW]].transpose(2, 0, 1)
        found: IntArray = -(-self.sizes // (ends * self.across))
        return found

    @cached_property
    def _counts(self) -> IntArray:
        """How many outer and inner tiles there are, (2, n, 4)."""
        rank = self.tables[RANK, np.arange(len(self.sizes))[:, np.newaxis], self.tiles]
        return np.stack([rank[:, :, HIGH] - rank[:, :, LOW], rank[:, :, MOST] - rank[:, :, LEAST]]) + 1

    @cached_property
    def any_open(self) -> BoolArray:
        """Where there are two tiles or more."""
        low, high, least, most = self.tiles.transpose(2, 0, 1)
        return np.stack([low < high, least < most], axis=1)

    @cached_property
    def open(self) -> BoolArray:
        """Where a box may be divided: if outer steps come first, there alone."""
        low, high, _, _ = self.tiles.transpose(2, 0, 1)
        decided = (low == high) | (low * self.across >= self.sizes)
        choices = np.where(decided, 1, self._counts[0]).prod(axis=1, dtype=np.float64)
        first = (choices > 1) & (choices <= self.outer_first)
        found = self.any_open.copy()
        found[first] &= np.stack([~decided[first], np.zeros_like(decided[first])], axis=1)
        return found

    @cached_property
    def last(self) -> IntArray:
        """The last tile of the lower half: in the geometric mean, or where outer steps change near it."""
        low, high, least, most = self.tiles.transpose(2, 0, 1)
        outer, inner = _mean(low, high), _mean(least, most)
        # The largest tile with as many steps as the mean; if that is the last of all, the largest with more:
        # no count is in both halves. The mean itself where all have as many.
        steps = -(-self.sizes // (outer * self.across))
        last = np.where(steps > 1, (self.sizes - 1) // (np.maximum(steps - 1, 1) * self.across), high)
        first = -(-self.sizes // (steps * self.across)) - 1
        outer = np.where(last < high, last, np.where(first >= low, first, outer))
        down, dims = self.tables[DOWN], np.arange(len(self.sizes))
        return np.stack([down[dims, outer], down[dims, inner]], axis=1)

    @cached_property
    def wide(self) -> FloatArray:
        """How wide boxes are; 0 where they are not divided."""
        low, high, least, most = self.tiles.transpose(2, 0, 1)
        ratio = self._steps[1] / self._steps[0]
        outer = np.maximum(ratio, 1.0 + 0.1 * (high / low - 1.0))
        found = np.where(self.open, np.stack([outer, most / least], axis=1), 0.0)
        found[self.far, 0] = np.where(self.open[:, 0], ratio, 0.0)[self.far]
        found[self.far, 1] = 0.0
        return found

    @cached_property
    def far(self) -> BoolArray:
        """Which boxes have outer steps that are told apart first, where energy alone counts: (n,)."""
        ratio = np.where(self.open[:, 0], self._steps[1] / self._steps[0], 0.0)
        found: BoolArray = (ratio.max(axis=1) > WIDE) & (self.outer_first == 0.0)
        return found

    @cached_property
    def tried(self) -> IntArray:
        """The places of boxes whose halves are all bounded."""
        small = (self._counts.prod(axis=0) <= self.small).all(axis=1)
        return np.flatnonzero(self.any_open.any(axis=(1, 2)) & ~small & ~self.far)

    def halves(self, places: IntArray, level: IntArray, dim: IntArray) -> IntArray:
        """The lower and the upper half of boxes, by turns: (2 m, 4, 4)."""
        both, last = self.tiles[places].repeat(2, axis=0), self.last[places, level, dim]
        lower, upper, next_up = both[::2], both[1::2], self.tables[UP, dim, last + 1]
        at, of = np.flatnonzero(level == 0), dim[level == 0]
        lower[at, of, HIGH], upper[at, of, LOW] = last[at], next_up[at]
        lower[at, of, MOST] = np.minimum(lower[at, of, MOST], last[at])
        at, of = np.flatnonzero(level == 1), dim[level == 1]
        lower[at, of, MOST], upper[at, of, LEAST] = last[at], next_up[at]
        upper[at, of, LOW] = np.maximum(upper[at, of, LOW], next_up[at])
        return both


def halve_boxes(cuts: Cuts, bounds: FloatArray, bound_halves: BoundHalves) -> tuple[IntArray, IntArray]:
    """The halves of boxes (2 m, 4, 4), and the place of each one's box; points have none.

    A small box is divided where it is widest. Of others all halves are bounded: the best have the greatest
    product of their rises.
    """
    at = cuts.wide.reshape(len(bounds), -1).argmax(axis=1)
    if len(cuts.tried):
        # Inner tiles first: of equal products the first counts.
        owner, level, dim = np.nonzero(cuts.open[cuts.tried, ::-1])
        places = cuts.tried[owner]
        halves = cuts.halves(places, 1 - level, dim)
        known = bounds[places, np.newaxis]
        rises = bound_halves(halves, places.repeat(2)).reshape(-1, 2) - known
        products = np.full((len(cuts.tried), *cuts.open.shape[1:]), -1.0)
        products[owner, level, dim] = np.maximum(rises, LEAST_RISE * known).prod(axis=1)
        flipped, of = np.divmod(products.reshape(len(cuts.tried), -1).argmax(axis=1), len(cuts.sizes))
        at[cuts.tried] = (1 - flipped) * len(cuts.sizes) + of
    parents = np.flatnonzero(cuts.any_open.any(axis=(1, 2)))
    level, dim = np.divmod(at[parents], len(cuts.sizes))
    return cuts.halves(parents, level, dim), parents.repeat(2)


def _mean(least: IntArray, most: IntArray) -> IntArray:
    """The geometric mean of the ends of intervals, below their greater ones."""
    return np.clip(np.sqrt(1.0 * least * most).astype(np.int64), least, np.maximum(most - 1, least))
