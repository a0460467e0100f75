"""Boxes of mappings: a cluster size, a parallel dim a level, and by dim intervals of outer and inner tiles.

To the engine a box is a row of integers: the cluster size, the parallel dims, and by place in the lists of
tiles the lowest of outer K C Y X and of inner K C Y X, then the highest. A box whose intervals have one tile
each is a *point*; its loop orders are left.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from dse.domains.clustered.bounding import TileBoxes
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import cluster_sizes, parallel_dims, tile_chains
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.proof.contract import Children
from dse.support.arrays import BoolArray, IntArray

DIMS = len(MAPPED_DIMS)
LOW, HIGH = slice(3, 3 + 2 * DIMS), slice(3 + 2 * DIMS, 3 + 4 * DIMS)
WIDTH = HIGH.stop
"""Columns of a box."""


class Tiles:
    """The tiles that a problem allows, and the boxes of them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        chains = tile_chains(problem)
        self._lists = [np.array(chain.outer_choices, np.int64) for chain in chains]
        self._lists += [np.array(chain.inner_choices(chain.size), np.int64) for chain in chains]
        self._whole = problem.tiles == "factors"
        self._divides = [self._divisors(dim) for dim in range(DIMS)] if self._whole else []

    def roots(self) -> IntArray:
        """One for each cluster size and parallel dims, of all tiles."""
        choices = product(cluster_sizes(self._problem).tolist(), *parallel_dims(self._problem))
        starts = np.array(list(choices), np.int64)
        boxes = np.zeros((len(starts), WIDTH), np.int64)
        boxes[:, : LOW.start] = starts
        boxes[:, HIGH] = [len(tiles) - 1 for tiles in self._lists]
        return boxes[self._narrow(boxes)]

    def read(self, boxes: IntArray) -> TileBoxes:
        """The tiles of boxes."""
        low, high = self._values(boxes[:, LOW]), self._values(boxes[:, HIGH])
        cluster, outer_parallel, inner_parallel = boxes[:, : LOW.start].T
        tiles = low[:, :DIMS], high[:, :DIMS], low[:, DIMS:], high[:, DIMS:]
        return TileBoxes(cluster, outer_parallel, inner_parallel, *tiles)

    def halves(self, boxes: IntArray) -> Children:
        """Boxes cut in two where their highest tile is most times their lowest; points have no parts."""
        low, high = boxes[:, LOW], boxes[:, HIGH]
        ratios = self._values(high) / self._values(low)
        cut = ratios.argmax(axis=1)
        wide = np.flatnonzero(ratios.max(axis=1) > 1)
        parts = boxes[wide].repeat(2, axis=0)
        for column, tiles in enumerate(self._lists):
            places = np.flatnonzero(cut[wide] == column)
            first, last = low[wide[places], column], high[wide[places], column]
            # At the geometric mean; both halves have a tile.
            middle = np.searchsorted(tiles, np.sqrt(tiles[first] * tiles[last]), "right") - 1
            middle = np.clip(middle, first, last - 1)
            parts[2 * places, HIGH.start + column] = middle
            parts[2 * places + 1, LOW.start + column] = middle + 1
        useful = self._narrow(parts)
        return Children(parts[useful], wide.repeat(2)[useful])

    @staticmethod
    def points(boxes: IntArray) -> BoolArray:
        """Which boxes are points."""
        return np.asarray((boxes[:, LOW] == boxes[:, HIGH]).all(axis=1))

    def _values(self, places: IntArray) -> IntArray:
        """The tiles (n, 8) at places in the lists."""
        return np.stack([tiles[places[:, column]] for column, tiles in enumerate(self._lists)], axis=1)

    def _narrow(self, boxes: IntArray) -> BoolArray:
        """Leave out tiles at the ends of intervals that fit to none of the others, in place.

        Returns which boxes have any left. Some of these may still have no mapping.
        """
        low, high = boxes[:, LOW], boxes[:, HIGH]
        for dim in range(DIMS):
            outer, inner = self._lists[dim], self._lists[DIMS + dim]
            # An inner tile is no larger than its outer one.
            low[:, dim] = np.maximum(low[:, dim], np.searchsorted(outer, inner[low[:, DIMS + dim]]))
            last = np.searchsorted(inner, outer[high[:, dim]], "right") - 1
            high[:, DIMS + dim] = np.minimum(high[:, DIMS + dim], last)
            # Of one outer tile the inner ones at the ends have to divide it. Others may fit to some.
            if self._whole:
                one = low[:, dim] == high[:, dim]
                after, before = self._divides[dim]
                low[one, DIMS + dim] = after[low[one, dim], low[one, DIMS + dim]]
                high[one, DIMS + dim] = before[low[one, dim], high[one, DIMS + dim]]
        return np.asarray((low <= high).all(axis=1))

    def _divisors(self, dim: int) -> tuple[IntArray, IntArray]:
        """By place of an outer and of an inner tile: the next inner one up, and down, that divides it."""
        outer, inner = self._lists[dim], self._lists[DIMS + dim]
        fits, places = outer[:, np.newaxis] % inner == 0, np.arange(len(inner))
        # The first place that fits from there on, and the last one up to there.
        after = np.minimum.accumulate(np.where(fits, places, len(inner))[:, ::-1], axis=1)[:, ::-1]
        return after, np.maximum.accumulate(np.where(fits, places, -1), axis=1)
