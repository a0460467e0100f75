"""A mapping as numbers between which distances mean something, for surrogates."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.space.parts import LEVELS, Parts
from dse.support.arrays import FloatArray, IntArray


def feature_names(parts: Parts) -> tuple[str, ...]:
    """What each column of `mapping_features` is."""
    dims = parts.dims
    tiles = (f"log2 {level}.tile.{dim}" for level in LEVELS for dim in dims)
    turns = (f"log2 {level} {what}" for level in LEVELS for what in ("turns", "share of units at work"))
    parallel = (f"{level}.parallel is {dim}" for level in LEVELS for dim in dims)
    nesting = (f"{level}: {one} outside {other}" for level in LEVELS for one, other in combinations(dims, 2))
    figures = (f"log2 {name}" for name in parts.figures)
    return (*tiles, "log2 cluster", *turns, *parallel, *nesting, *figures)


def mapping_features(
    layer: Layer, accelerator: Accelerator, mappings: MappingBatch, parts: Parts
) -> FloatArray:
    """The mappings as rows of numbers: (n, features).

    Sizes are log2: the tiles, the cluster, and for each level in how many turns its units go over the
    parallel dim, and what share of them works in an average turn; then figures of the machine that are genes.
    Parallel dims are 0/1 each, a loop order is a 0/1 for every two dims: whether the first is outside the
    second.
    """
    codes = [DIMS.index(dim) for dim in parts.dims]
    places = np.zeros(len(DIMS), np.int64)
    places[codes] = np.arange(len(codes))
    if layer.type == "DSCONV" and "C" in parts.dims:
        # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
        places[DIMS.index("K")] = places[DIMS.index("C")]
    sizes = np.array([layer.loops[dim] for dim in parts.dims], np.float64)
    rows = mappings.rows
    outer, inner = (rows[:, start:][:, codes].astype(np.float64) for start in (OUTER_TILE, INNER_TILE))
    outer_parallel, inner_parallel = places[rows[:, OUTER_PARALLEL]], places[rows[:, INNER_PARALLEL]]
    cluster, each = rows[:, CLUSTER], np.arange(len(rows))
    machines = mappings.machines if mappings.machines is not None else np.array([accelerator.machine_row])
    figures = {name: figure_column(machines, name) for name in ("num_pes", *parts.figures)}
    return np.column_stack(
        [
            np.log2(outer),
            np.log2(inner),
            np.log2(cluster),
            # A cluster of more than all PEs is infeasible, and is described as all of them.
            _turns((sizes / outer)[each, outer_parallel], np.maximum(figures["num_pes"] // cluster, 1)),
            _turns((outer / inner)[each, inner_parallel], cluster),
            np.eye(len(codes))[outer_parallel],
            np.eye(len(codes))[inner_parallel],
            _nesting(rows[:, OUTER_ORDER:][:, : len(codes)], codes),
            _nesting(rows[:, INNER_ORDER:][:, : len(codes)], codes),
            *(_log2(name, figures[name]) for name in parts.figures),
        ]
    )


def _log2(figure: str, values: IntArray) -> FloatArray:
    # A NoC may have no latency, which is described as half a cycle.
    logs: FloatArray = np.log2(np.maximum(values, 0.5) if figure == "noc_latency" else values)
    return logs


def _turns(parts: FloatArray, units: IntArray) -> FloatArray:
    """log2 of the turns in which `units` do the `parts`, and of the share of them at work: (n, 2)."""
    turns = np.ceil(parts / units)
    logs: FloatArray = np.log2(np.column_stack([turns, parts / (units * turns)]))
    return logs


def _nesting(orders: IntArray, codes: list[int]) -> FloatArray:
    """Loop orders (n, dims) as 0/1 for each pair of the dims `codes`, whether the first is outside."""
    depth = np.argsort(np.searchsorted(codes, orders), axis=1)
    pairs = combinations(range(len(codes)), 2)
    return np.column_stack(
        [np.empty((len(orders), 0)), *(depth[:, one] < depth[:, other] for one, other in pairs)]
    ).astype(np.float64)
