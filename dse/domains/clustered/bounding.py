"""How authors of cost models bound boxes of mappings: the record they are handed, and what they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, format_exception, shorten


class TileBoxes(NamedTuple):
    """Sets of mappings, n of them, each of one cluster size and one parallel dim a level.

    Tiles are those from the lowest to the highest, both included, of K, C, Y and X, in every loop order.
    Dims are positions in DIMS; in a depthwise layer, whose channels are in C, no K is parallel.
    """

    cluster: IntArray
    """(n,)"""
    outer_parallel: IntArray
    """(n,)"""
    inner_parallel: IntArray
    """(n,)"""
    outer_low: IntArray
    """(n, 4), and so are the other three."""
    outer_high: IntArray
    inner_low: IntArray
    inner_high: IntArray

    def words(self, place: int) -> str:
        """One of them, such as `cluster 4, outer parallel K, outer K 1 to 8, ...`."""
        parts = [f"cluster {self.cluster[place]}"]
        for level in LEVELS:
            parts.append(f"{level} parallel {MAPPED_DIMS[getattr(self, f'{level}_parallel')[place]]}")
            low, high = getattr(self, f"{level}_low")[place], getattr(self, f"{level}_high")[place]
            for dim, first, last in zip(MAPPED_DIMS, low.tolist(), high.tolist(), strict=True):
                parts.append(f"{level} {dim} {first}" + f" to {last}" * (first < last))
        return ", ".join(parts)


class LowerBounds(NamedTuple):
    """Figures, arrays (n,), that no mapping of n boxes is below: those of a CostBatch by these names.

    The elements that L1 and L2 must hold are 0 where nothing is known of them. A bound of `inf` says that no
    mapping of the box is feasible.
    """

    cycles: Any
    energy_nj: Any
    l1_size: Any = 0.0
    l2_size: Any = 0.0


LowerBound = Callable[[Problem, TileBoxes], LowerBounds | tuple[Any, ...]]
"""Of a problem and n boxes: LowerBounds, or the first two of them."""


def bounds_of(lower_bound: LowerBound, problem: Problem, boxes: TileBoxes) -> LowerBounds:
    """What `lower_bound` says of boxes, as arrays (n,); InputError for what cannot be such."""
    where, count = f"cost model {problem.model.name!r}: its lower_bound", len(boxes.cluster)
    try:
        given = lower_bound(problem, boxes)
    except Exception as error:
        raise InputError(f"{where} raised {format_exception(error)}") from error
    expected = f"must return 2 to 4 arrays of {count} numbers ({', '.join(LowerBounds._fields)})"
    if not isinstance(given, tuple) or not 2 <= len(given) <= len(LowerBounds._fields):
        raise InputError(f"{where} {expected}, got {shorten(given)}")
    found = []
    for name, column in zip(LowerBounds._fields, LowerBounds(*given), strict=True):
        found.append(_column(column, count, f"{where} {expected}, got as {name}"))
        wrong = np.flatnonzero(~(found[-1] >= 0))
        if len(wrong):
            value = found[-1][wrong[0]]
            raise InputError(
                f"{where} gives {value} as {name}, which must be 0 or more: {boxes.words(wrong[0])}"
            )
    return LowerBounds(*found)


def losses_of(bounds: LowerBounds, problem: Problem) -> FloatArray:
    """The losses (n,) that follow from bounds, as objectives rise with each figure; inf if nothing fits."""
    found = objective_named(problem.objective).value(bounds, problem.accelerator.hertz)
    losses, (l1_size, l2_size) = np.array(found, np.float64), problem.use.room
    endless = np.isinf(bounds.cycles) | np.isinf(bounds.energy_nj)
    losses[endless | (bounds.l1_size > l1_size) | (bounds.l2_size > l2_size)] = np.inf
    return losses


def _column(given: Any, count: int, expected: str) -> FloatArray:
    try:
        column = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{expected} {shorten(given)}") from None
    if column.shape not in ((count,), ()):
        raise InputError(f"{expected} an array of shape {column.shape}")
    return np.broadcast_to(column, (count,))
