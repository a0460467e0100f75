"""A mapping as numbers between which distances mean something, for surrogates."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.space.genes import LEVELS, MAPPED_DIMS
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.support.arrays import FloatArray, IntArray

_DIMS = len(MAPPED_DIMS)
_PAIRS = tuple(combinations(range(_DIMS), 2))


def feature_names() -> tuple[str, ...]:
    """What each column of `mapping_features` is."""
    tiles = (f"log2 {level}.tile.{dim}" for level in LEVELS for dim in MAPPED_DIMS)
    turns = (f"log2 {level} {what}" for level in LEVELS for what in ("turns", "share of units at work"))
    parallel = (f"{level}.parallel is {dim}" for level in LEVELS for dim in MAPPED_DIMS)
    nesting = (
        f"{level}: {MAPPED_DIMS[one]} outside {MAPPED_DIMS[other]}"
        for level in LEVELS
        for one, other in _PAIRS
    )
    return (*tiles, "log2 cluster", *turns, *parallel, *nesting)


def mapping_features(layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> FloatArray:
    """The mappings as rows of numbers: (n, features).

    Sizes are log2: the tiles, the cluster, and for each level in how many turns its units go over the
    parallel dim, and what share of them works in an average turn. Parallel dims are 0/1 each, a loop order is
    a 0/1 for every two dims: whether the first is outside the second.
    """
    sizes = np.array([layer.loops[dim] for dim in MAPPED_DIMS], np.float64)
    # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
    spread = np.array([1 if layer.type == "DSCONV" else 0, 1, 2, 3])
    rows = mappings.rows
    outer = rows[:, OUTER_TILE : OUTER_TILE + _DIMS].astype(np.float64)
    inner = rows[:, INNER_TILE : INNER_TILE + _DIMS].astype(np.float64)
    outer_parallel, inner_parallel = spread[rows[:, OUTER_PARALLEL]], spread[rows[:, INNER_PARALLEL]]
    cluster, each = rows[:, CLUSTER], np.arange(len(rows))
    return np.column_stack(
        [
            np.log2(outer),
            np.log2(inner),
            np.log2(cluster),
            _turns((sizes / outer)[each, outer_parallel], accelerator.num_pes // cluster),
            _turns((outer / inner)[each, inner_parallel], cluster),
            np.eye(_DIMS)[outer_parallel],
            np.eye(_DIMS)[inner_parallel],
            _nesting(rows[:, OUTER_ORDER : OUTER_ORDER + _DIMS]),
            _nesting(rows[:, INNER_ORDER : INNER_ORDER + _DIMS]),
        ]
    )


def _turns(parts: FloatArray, units: IntArray) -> FloatArray:
    """log2 of the turns in which `units` do the `parts`, and of the share of them at work: (n, 2)."""
    turns = np.ceil(parts / units)
    logs: FloatArray = np.log2(np.column_stack([turns, parts / (units * turns)]))
    return logs


def _nesting(orders: IntArray) -> FloatArray:
    """Loop orders (n, 4) as 0/1 for each pair of dims, whether the first is outside the second: (n, 6)."""
    depth = np.argsort(orders, axis=1)
    return np.column_stack([depth[:, one] < depth[:, other] for one, other in _PAIRS]).astype(np.float64)
