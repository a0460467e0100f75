"""Which mappings are the same nest of loops, whatever they say of loops that run once."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import ORDER_TABLE
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.support.arrays import IntArray

DIMS = len(MAPPED_DIMS)
IDLE = -1
"""In place of a parallel dim that spreads nothing."""


def _nestings() -> IntArray:
    orders, found = ORDER_TABLE.tolist(), np.empty((2**DIMS, len(ORDER_TABLE)), np.int64)
    for moving in range(len(found)):
        nests = [tuple(dim for dim in order if moving >> dim & 1) for order in orders]
        found[moving] = [nests.index(nest) for nest in nests]
    return found


NESTINGS = _nestings()
"""By the dims whose loops are of more than one step, bits, and by an order: the first that nests them so."""


def nest_keys(problem: Problem, rows: IntArray) -> IntArray:
    """What makes a nest of loops (n, 13) of mappings (n, 27): those of equal rows differ in words only.

    Loops that run once may stand anywhere, and of one tile any dim may be the parallel one.
    """
    sizes = np.array([problem.space.layer.loops[dim] for dim in MAPPED_DIMS])
    outer, inner = (rows[:, first : first + DIMS] for first in (OUTER_TILE, INNER_TILE))
    cluster, pes = rows[:, CLUSTER], problem.accelerator.num_pes
    found = [outer, inner, cluster[:, np.newaxis]]
    for whole, tiles, parts, parallel, order in (
        (np.broadcast_to(sizes, outer.shape), outer, pes // cluster, OUTER_PARALLEL, OUTER_ORDER),
        (outer, inner, cluster, INNER_PARALLEL, INNER_ORDER),
    ):
        spread = tiles.copy()
        dims, each = _dims(problem, rows[:, parallel]), np.arange(len(rows))
        # One unit, or one tile: nothing is spread. A loop moves where its units do not have it all at once.
        alone = (parts == 1) | (tiles[each, dims] >= whole[each, dims])
        spread[each, dims] *= parts
        moving = (whole > spread) @ (1 << np.arange(DIMS))
        nests = NESTINGS[moving, _orders(rows[:, order : order + DIMS])]
        found += [np.where(alone, IDLE, dims)[:, np.newaxis], nests[:, np.newaxis]]
    return np.concatenate(found, axis=1)


def _dims(problem: Problem, parallel: IntArray) -> IntArray:
    """Parallel dims: in a depthwise layer K means C."""
    return np.maximum(parallel, 1) if problem.layer.type == "DSCONV" else parallel


def _orders(orders: IntArray) -> IntArray:
    """Places (n,) in ORDER_TABLE of loop orders (n, 4)."""
    # An order's dims are the digits of a number.
    digits = DIMS ** np.arange(DIMS)
    places = np.empty(DIMS**DIMS, np.int64)
    places[ORDER_TABLE @ digits] = np.arange(len(ORDER_TABLE))
    return places[orders @ digits]
