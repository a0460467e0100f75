"""A mapping as numbers between which distances mean something, for kernels."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.space.genes import MAPPED_DIMS
from dse.space.mapping_space import MappingSpace
from dse.spec.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.support.arrays import FloatArray, IntArray

_DIMS = len(MAPPED_DIMS)
_PROBES = 1024
_PAIRS = tuple(combinations(range(_DIMS), 2))


class Features:
    """What gene vectors decode to, as rows of numbers.

    Sizes are in octaves (log2): the tiles, the cluster, and for each level in how many turns its units go
    over the parallel dim, and what share of them works in an average turn. Parallel dims are 0/1 each, a loop
    order is a 0/1 for every two dims: which is outside. What is the same all over the space is left out.
    """

    def __init__(self, space: MappingSpace) -> None:
        self._space = space
        self._sizes = np.array([space.layer.loops[dim] for dim in MAPPED_DIMS], np.float64)
        # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
        self._spread = np.array([1 if space.layer.type == "DSCONV" else 0, 1, 2, 3])
        probes = self._all(space.sample(np.random.default_rng(0), _PROBES))
        self._varying = np.flatnonzero(np.ptp(probes, axis=0))

    def __call__(self, genes: IntArray) -> FloatArray:
        """The features of the vectors (n, 13): (n, m), m at most 33."""
        return self._all(genes)[:, self._varying]

    def _all(self, genes: IntArray) -> FloatArray:
        rows = self._space.decode(genes).rows
        outer = rows[:, OUTER_TILE : OUTER_TILE + _DIMS].astype(np.float64)
        inner = rows[:, INNER_TILE : INNER_TILE + _DIMS].astype(np.float64)
        spread_outside = self._spread[rows[:, OUTER_PARALLEL]]
        spread_inside = self._spread[rows[:, INNER_PARALLEL]]
        cluster, each = rows[:, CLUSTER], np.arange(len(rows))
        outer_parts = (self._sizes / outer)[each, spread_outside]
        inner_parts = (outer / inner)[each, spread_inside]
        return np.column_stack(
            [
                np.log2(outer),
                np.log2(inner),
                np.log2(cluster),
                _turns(outer_parts, self._space.accelerator.num_pes // cluster),
                _turns(inner_parts, cluster),
                np.eye(_DIMS)[spread_outside],
                np.eye(_DIMS)[spread_inside],
                _nesting(rows[:, OUTER_ORDER : OUTER_ORDER + _DIMS]),
                _nesting(rows[:, INNER_ORDER : INNER_ORDER + _DIMS]),
            ]
        )


def _turns(parts: FloatArray, units: IntArray) -> FloatArray:
    """Octaves of the turns in which `units` do the `parts`, and of the share of them at work: (n, 2)."""
    turns = np.ceil(parts / units)
    octaves: FloatArray = np.log2(np.column_stack([turns, parts / (units * turns)]))
    return octaves


def _nesting(orders: IntArray) -> FloatArray:
    """Loop orders (n, 4) as 0/1 for each pair of dims, whether the first is outside the second: (n, 6)."""
    depth = np.argsort(orders, axis=1)
    return np.column_stack([depth[:, one] < depth[:, other] for one, other in _PAIRS]).astype(np.float64)
