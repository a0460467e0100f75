"""Cells: an interval of outer tiles and one of inner tiles of a dim, (n, 4), the inner tile no larger.

In a cell that is not empty the smallest outer tile is no smaller than the smallest inner one, and the largest
inner one no larger than the largest outer one.
"""

from __future__ import annotations

import numpy as np

from dse.support.arrays import FloatArray, IntArray


def whole_cell(outers: tuple[int, int], inners: tuple[int, int]) -> IntArray:
    """The cell of two intervals: (1, 4)."""
    return np.array([[max(outers[0], inners[0]), outers[1], inners[0], min(inners[1], outers[1])]])


def count_pairs(cells: IntArray) -> IntArray:
    """How many pairs there are in cells."""
    low, high, inner, most_inner = cells.T
    below = np.maximum(np.minimum(most_inner, low) - inner + 1, 0)
    begin = np.maximum(inner, low + 1)
    # Above the smallest outer tile each further inner tile has one outer tile less.
    above = np.maximum(most_inner - begin + 1, 0)
    found: IntArray = below * (high - low + 1) + above * (2 * high - begin - most_inner + 2) // 2
    return found


def halves_of(cells: IntArray, size: int, across: IntArray) -> IntArray:
    """Both halves (n, 2, 4) of cells of two pairs or more: cut where they are wider, by ratio."""
    low, high, inner, most_inner = cells.T
    by_outer = high * inner >= most_inner * low
    by_outer = np.where(low == high, False, by_outer | (inner == most_inner))
    middle = (low + high + 1) // 2
    # The smallest outer tile with as many steps begins the upper half, if there is one.
    steps = -(-size // np.minimum(middle * across, size))
    span = -(-size // steps)
    fewest = -(-span // across)
    begin = np.minimum(np.where(fewest > low, fewest, middle), high)
    inner_begin = np.minimum((inner + most_inner + 1) // 2, most_inner)
    found = np.stack([cells, cells], axis=1)
    found[:, 0, 1] = np.where(by_outer, begin - 1, high)
    found[:, 0, 3] = np.where(by_outer, np.minimum(most_inner, begin - 1), inner_begin - 1)
    found[:, 1, 0] = np.where(by_outer, begin, np.maximum(low, inner_begin))
    found[:, 1, 2] = np.where(by_outer, inner, inner_begin)
    return found


def pairs_of(cells: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of cells: the cell of each (m,), in order, and its outer and inner tile (m, 2)."""
    low, high, inner, most_inner = cells.T
    wide, deep = high - low + 1, most_inner - inner + 1
    cell = np.repeat(np.arange(len(cells)), wide * deep)
    place = np.arange(len(cell)) - np.repeat(np.cumsum(wide * deep) - wide * deep, wide * deep)
    pairs = np.stack([low[cell] + place % wide[cell], inner[cell] + place // wide[cell]], axis=1)
    there = pairs[:, 1] <= pairs[:, 0]
    return cell[there], pairs[there]


def draw_pairs(rng: np.random.Generator, cells: IntArray) -> IntArray:
    """A pair of each cell (n,), uniformly: (n, 2)."""
    found = np.empty((len(cells), 2), dtype=np.int64)
    todo = np.arange(len(cells))
    while len(todo):
        drawn = rng.integers(cells[todo][:, [0, 2]], cells[todo][:, [1, 3]], endpoint=True)
        there = drawn[:, 1] <= drawn[:, 0]
        found[todo[there]] = drawn[there]
        todo = todo[~there]
    return found


def least_between(values: FloatArray, begins: IntArray, ends: IntArray) -> FloatArray:
    """The least of each column (m, columns) of rows from each `begin` up to its `end`: (n, columns)."""
    counts = ends - begins
    starts = np.cumsum(counts) - counts
    rows = np.repeat(begins - starts, counts) + np.arange(counts.sum())
    found: FloatArray = np.minimum.reduceat(values[rows], starts, axis=0)
    return found
