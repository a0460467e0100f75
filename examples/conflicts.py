"""A cost model as a function: what tables say of bank conflicts, congestion and short DRAM bursts.

    dse search --layer resnet18:3 --accelerator edge --cost-model examples.conflicts:price --budget 200

A first-order picture of a machine with the PEs, buffers and links of the accelerator, in which a mapping
costs no sum of its loop counts: a PE waits as often as its input rows meet in the same of eight banks, which
hangs on a tile's width modulo eight; the NoC slows down by a table of its load, and DRAM by one of how long
the runs are that it reads. An access to a buffer takes more energy the more of the buffer is in use. The
tables are made up, in the shape of measured ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.plugins import (
    CLUSTER,
    DIMS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    Accelerator,
    Layer,
    MappingBatch,
)

K, C, Y, X, R, S = range(len(DIMS))
WEIGHTS, INPUTS, OUTPUTS = (K, C, R, S), (C, Y, X, R, S), (K, Y, X)
BANKS = 8
CONFLICTS = np.array([1.0, 1.35, 1.9, 3.1])
"""By what a step takes longer where rows meet in every bank, in one of two, of four, of eight."""
LOADS = np.array([0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 4.0, 1e9])
DELAYS = np.array([1.0, 1.03, 1.12, 1.4, 1.95, 2.6, 4.1, 5.6, 11.0, 2.75e9])
"""What the NoC's load, words demanded over words possible in a cycle, makes of the time."""
RUNS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
BURSTS = np.array([6.2, 3.6, 2.2, 1.5, 1.2, 1.05, 1.0])
"""Cycles of the DRAM link for a word, by how many words lie side by side."""
MAC_NJ, DRAM_NJ, NOC_NJ = 0.0012, 0.18, 0.0035
FULL = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
L1_NJ = np.array([0.0008, 0.0009, 0.0012, 0.0021, 0.0029, 0.0034])
L2_NJ = np.array([0.004, 0.005, 0.009, 0.013, 0.022, 0.026])
"""Of an access, by the part of the buffer that is in use."""


def price(layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> dict[str, Any]:
    """The figures of mappings, by name: arrays. A Problem hands over layers without stride and padding."""
    rows = mappings.rows
    sizes = np.array([layer.loops[dim] for dim in DIMS])
    outer = np.clip(rows[:, OUTER_TILE : OUTER_TILE + len(DIMS)], 1, sizes)
    inner = np.clip(rows[:, INNER_TILE : INNER_TILE + len(DIMS)], 1, outer)
    cluster = np.clip(rows[:, CLUSTER], 1, accelerator.num_pes)
    groups = np.maximum(accelerator.num_pes // cluster, 1)
    outer_turns = _turns(sizes, outer, rows[:, OUTER_PARALLEL], groups)
    inner_turns = _turns(outer, inner, rows[:, INNER_PARALLEL], cluster)
    steps = outer_turns.prod(axis=1) * inner_turns.prod(axis=1)

    width = inner[:, X] + inner[:, S] - 1
    meeting = np.log2(np.gcd(width, BANKS)).astype(np.int64)
    compute = steps * inner.prod(axis=1) / accelerator.simd_lanes * CONFLICTS[meeting]

    dram, noc, run = np.zeros(len(rows)), np.zeros(len(rows)), np.ones(len(rows))
    for tensor in (WEIGHTS, INPUTS, OUTPUTS):
        fetched = _fetches(outer_turns, rows[:, OUTER_ORDER : OUTER_ORDER + len(DIMS)], tensor)
        words = fetched * outer[:, tensor].prod(axis=1) * np.minimum(groups, 4)
        run = np.where(np.isin(X, tensor), outer[:, X], outer[:, C]).astype(float)
        dram += words * np.interp(np.log2(run), np.log2(RUNS), BURSTS)
        again = _fetches(inner_turns, rows[:, INNER_ORDER : INNER_ORDER + len(DIMS)], tensor)
        noc += outer_turns.prod(axis=1) * again * inner[:, tensor].prod(axis=1) * cluster
    load = noc / np.maximum(compute, 1) / accelerator.noc_bandwidth
    cycles = np.maximum(compute * np.interp(load, LOADS, DELAYS), dram / accelerator.offchip_bandwidth)

    held = [
        2 * sum(tile[:, tensor].prod(axis=1) for tensor in (WEIGHTS, INPUTS, OUTPUTS))
        for tile in (inner, outer)
    ]
    l1 = np.interp(held[0] / accelerator.l1_size, FULL, L1_NJ)
    l2 = np.interp(held[1] / accelerator.l2_size, FULL, L2_NJ)
    energy = layer.macs * (MAC_NJ + 3 * l1) + noc * (NOC_NJ + l2) + dram * DRAM_NJ
    return {"cycles": np.ceil(cycles).astype(np.int64), "energy_nj": energy}


def _turns(sizes: Any, tiles: Any, parallel: Any, units: Any) -> Any:
    """How often each loop turns in the busiest of `units` units, which share the parallel dim: (n, 6)."""
    turns = -(-sizes // tiles)
    rows, dims = np.arange(len(turns)), np.clip(parallel, 0, len(DIMS) - 1)
    turns[rows, dims] = -(-turns[rows, dims] // units)
    return turns


def _fetches(turns: Any, order: Any, tensor: tuple[int, ...]) -> Any:
    """How often a tile comes: all turns, but those of the innermost loops that the tensor does not see."""
    rows = np.arange(len(turns))
    fetched, seen = np.ones(len(turns)), np.zeros(len(turns), bool)
    for place in range(order.shape[1] - 1, -1, -1):
        dim = order[:, place]
        loop = turns[rows, dim]
        seen |= np.isin(dim, tensor) & (loop > 1)
        fetched *= np.where(seen, loop, 1)
    return fetched
