"""Boxes that are not divided: all of their mappings that can be the best, as rows for the cost model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.core.layer import DIMS as LAYER_DIMS
from dse.domains.clustered.mapping import (
    COLUMNS,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    whole_filter_rows,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import ORDER_TABLE, allowed_orders, parallel_choices
from dse.domains.clustered.space.genes import LEVELS, named_parallel
from dse.domains.clustered.space.parts import PES
from dse.models.maestro.proof import box
from dse.models.maestro.proof.records import DIMS, ORDER_COUNT, Given, Y, distinct_orders, l1_need, of_buffers
from dse.support.arrays import BoolArray, IntArray

AT_ONCE = 2**16
"""Mappings priced at once."""
LOW, HIGH = slice(0, 8, 2), slice(1, 8, 2)
INNER_LOW, INNER_HIGH = slice(8, 16, 2), slice(9, 16, 2)


def inner_counts(boxes: IntArray) -> IntArray:
    """How many inner tiles there are for each dim: (n, 4)."""
    found: IntArray = boxes[:, INNER_HIGH] - boxes[:, INNER_LOW] + 1
    return found


def repeated(counts: IntArray) -> tuple[IntArray, IntArray]:
    """For each of n counts so many times its place, and the numbers below it."""
    places = np.repeat(np.arange(len(counts)), counts)
    return places, np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)


@dataclass(frozen=True)
class Settled:
    """What mappings of boxes are priced: those that can be the best, or `every` one that differs."""

    problem: Problem
    given: Given
    every: bool = False

    @property
    def width(self) -> int:
        """Columns of a row: those of a mapping, and the PEs of its machine where these are open."""
        return COLUMNS + (PES in self.problem.parts.figures)

    @cached_property
    def _inner_orders(self) -> IntArray:
        """As `distinct` in Given."""
        allowed = tuple(allowed_orders(self.problem)[1])
        return distinct_orders(allowed, best=self.given.perfect and not self.every)

    def rows(self, boxes: IntArray) -> Iterator[IntArray]:
        """Mappings of boxes of one outer tile a dim and one inner parallel dim, some (m, 27) at a time."""
        counts = inner_counts(boxes)
        which, number = repeated(counts.prod(axis=1))
        # A box's combinations are numbered: the places of their tiles are the digits.
        tiles = np.empty((DIMS, len(which)), np.int64)
        for dim in range(DIMS):
            place = boxes[which, 8 + 2 * dim] + number % counts[which, dim]
            tiles[dim], number = self.given.inner_tiles[dim, place], number // counts[which, dim]
        outer = np.stack([self.given.outer_tiles[dim, boxes[which, 2 * dim]] for dim in range(DIMS)])
        fits = self._fit(boxes[which], outer, tiles)
        if self.given.perfect:
            fits &= (outer % tiles == 0).all(axis=0)
        which, tiles, outer = which[fits], tiles[:, fits], outer[:, fits]
        yield from self._in_orders(boxes[which], outer, tiles)

    def _fit(self, boxes: IntArray, outer: IntArray, tiles: IntArray) -> BoolArray:
        """Which inner tiles (4, n) fit into L1, and, where clusters fit, into these."""
        layer, spread = self.given.layers[0], boxes[:, box.INNER]
        halos, taps = self._of_piece(boxes)
        found: BoolArray = (
            l1_need.py_func(tiles, halos, taps, layer.depthwise) <= self.given.machines["l1"][0]
        )
        if self.given.fit:
            for dim in range(DIMS):
                found &= (spread != dim) | (tiles[dim] * boxes[:, box.CLUSTER] == outer[dim])
        return found

    def _of_piece(self, boxes: IntArray) -> tuple[IntArray, IntArray]:
        """The halos (4, n) and the taps (n,) of a PE's piece of the filter."""
        layer = self.given.layers[0]
        halos, taps = np.repeat(layer.halos[:, np.newaxis], len(boxes), 1), np.full(len(boxes), layer.taps)
        for number, window in enumerate(layer.windows.tolist()):
            rows = np.flatnonzero(boxes[:, box.INNER] == DIMS + number)
            piece = window // boxes[rows, box.CLUSTER]
            halos[Y + number, rows], taps[rows] = piece - 1, layer.taps // window * piece
        return halos, taps

    def _in_orders(self, boxes: IntArray, outer: IntArray, tiles: IntArray) -> Iterator[IntArray]:
        """The mappings of some tiles (4, n) in all orders that differ and are not ruled out."""
        parallel = boxes[:, box.INNER]
        spread = np.where(parallel == np.arange(DIMS)[:, np.newaxis], boxes[:, box.CLUSTER], 1)
        # Of a filter in pieces a tile has more positions than outputs.
        more = self.given.layers[0].halos[:, np.newaxis] - self._of_piece(boxes)[0]
        moves = ((outer + more > tiles * spread) << np.arange(DIMS)[:, np.newaxis]).sum(axis=0)
        orders = boxes[:, box.ORDERS, np.newaxis] >> np.arange(ORDER_COUNT) & 1
        if of_buffers(self.problem):
            # No order needs less.
            orders = orders * (orders.cumsum(axis=1) == 1)
            moves = np.zeros_like(moves)
        inner = self._inner_orders[moves, np.minimum(parallel, DIMS)]
        ends = np.cumsum(inner[:, 0] * orders.sum(axis=1))
        # As many tiles at a time as have no more than AT_ONCE mappings, but one at least.
        start = 0
        while start < len(boxes):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), start + 1)
            part = slice(start, stop)
            yield self._combined(boxes[part], outer[:, part], tiles[:, part], orders[part], inner[part])
            start = stop

    def _combined(
        self, boxes: IntArray, outer: IntArray, tiles: IntArray, orders: IntArray, inner: IntArray
    ) -> IntArray:
        which, outer_order = np.nonzero(orders)
        again, number = repeated(inner[which, 0])
        which, outer_order = which[again], outer_order[again]
        rows = np.empty((len(which), self.width), np.int64)
        across, within = (
            named_parallel(self.problem.space.fixed, level, boxes[which, place])
            for level, place in zip(LEVELS, (box.PARALLEL, box.INNER), strict=True)
        )
        rows[:, :COLUMNS] = whole_filter_rows(
            self.problem.layer,
            boxes[which, box.CLUSTER],
            (across, ORDER_TABLE[outer_order], outer[:, which].T),
            (within, ORDER_TABLE[inner[which, 1 + number]], tiles[:, which].T),
        )
        rows[:, COLUMNS:] = boxes[which, box.PES, np.newaxis]
        allowed = [LAYER_DIMS.index(dim) for dim in parallel_choices(self.problem, "outer")]
        idle = (boxes[:, box.PES] // boxes[:, box.CLUSTER] > 1)[which]
        lone = (boxes[:, box.CLUSTERS] == 1)[which] & (idle | ~np.isin(rows[:, OUTER_PARALLEL], allowed))
        # One cluster at work of several, or where only a filter dim may be spread: that is spread, and whole.
        rows[lone, OUTER_PARALLEL] = max(allowed)
        for place, window in enumerate(self.given.layers[0].windows.tolist()):
            cut = np.flatnonzero(rows[:, INNER_PARALLEL] == DIMS + place)
            rows[cut, INNER_TILE + DIMS + place] = window // boxes[which[cut], box.CLUSTER]
        return rows
