# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled estimates of what L2 sends and of the time that a mapping takes, from its counts.

The time is that of double buffers, as in the dataflow templates: a step takes as long as the PEs work, or as
the next tiles take to come, whichever is longer. What the layer's edges, latencies and a cost model's own
rules add is left to be learned.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.support.jit import OPTIONS
from dse.support.numerics.elementary import exp2_of, log2_of
from searchers.team.columns import (
    ALL_TURNS,
    DELIVERED,
    DEPTHWISE,
    FILTER_COLUMNS,
    FILTER_ROWS,
    HELD,
    LANES,
    LEVEL_WIDTH,
    MOVED,
    MULTICAST,
    NOC,
    OFFCHIP,
    RETURNS,
    SIZES,
    TENSORS,
    TILES,
    TOGETHER,
    WORKING,
    C,
    K,
    X,
    Y,
)  # fmt: skip


@njit(**OPTIONS)
def depends(tensor, dim, depthwise):
    """Whether a tensor (weights, inputs, outputs) has the dim."""
    if tensor == 0:
        return dim == C or (dim == K and not depthwise)
    if tensor == 1:
        return dim != K
    return dim in (Y, X) or dim == (C if depthwise else K)


@njit(**OPTIONS)
def count_sent(parallel, facts, values):
    """Write log2 of the words of each tensor that L2 sends, one for all clusters alike, and that arrive."""
    spread = C if facts[DEPTHWISE] and parallel == K else parallel
    inner = values[LEVEL_WIDTH : 2 * LEVEL_WIDTH]
    for tensor in range(TENSORS):
        alike = 0.0 if depends(tensor, spread, facts[DEPTHWISE]) else values[WORKING]
        values[MULTICAST + tensor] = inner[MOVED + tensor] - alike
        arrives = inner[RETURNS + tensor] + inner[HELD + tensor] + inner[WORKING]
        values[DELIVERED + tensor] = arrives + values[ALL_TURNS] + values[WORKING]


@njit(**OPTIONS)
def time_taken(facts, values, shared, comes, bursts):
    """log2 of the cycles, with one NoC `shared` by all clusters, or one for each.

    `comes` and `bursts` are room for a number each a tensor.
    """
    inner = values[LEVEL_WIDTH : 2 * LEVEL_WIDTH]
    for tensor in range(TENSORS):
        comes[tensor] = exp2_of(inner[RETURNS + tensor])
        size = inner[TOGETHER + tensor]
        if shared:
            size += values[MULTICAST + tensor] - inner[MOVED + tensor] + values[WORKING]
        bursts[tensor] = exp2_of(size)
    bursts[2] *= _both_ways(values[HELD + 2], inner[RETURNS + 2] + inner[TOGETHER + 2])
    first = (bursts[0] + bursts[1]) / facts[NOC]
    tile = inner[TILES + K] + inner[TILES + C] + inner[TILES + Y] + inner[TILES + X]
    work = exp2_of(tile) * facts[FILTER_ROWS] * facts[FILTER_COLUMNS] / facts[LANES]
    step = _double_buffered(exp2_of(inner[ALL_TURNS]), comes, bursts, work, 1.0 / facts[NOC])
    for tensor in range(TENSORS):
        comes[tensor] = exp2_of(values[RETURNS + tensor])
        bursts[tensor] = exp2_of(values[TOGETHER + tensor])
    outputs = facts[SIZES + Y] * facts[SIZES + X] * facts[SIZES + (C if facts[DEPTHWISE] else K)]
    bursts[2] *= _both_ways(log2_of(np.float64(outputs)), values[RETURNS + 2] + values[TOGETHER + 2])
    first += (bursts[0] + bursts[1] + bursts[2]) / facts[OFFCHIP]
    rest = _double_buffered(exp2_of(values[ALL_TURNS]), comes, bursts, step, 1.0 / facts[OFFCHIP])
    return log2_of(first + rest)


@njit(**OPTIONS)
def _both_ways(outputs, moved):
    """How often an output that moves counts: up to twice, as unfinished ones come back. Both are log2."""
    return 2.0 - min(exp2_of(outputs - moved), 1.0)


@njit(**OPTIONS)
def _double_buffered(turns, comes, bursts, step, per_word):
    """The time of so many turns, in each of which a step is done while the next bursts come, if any do.

    A tensor comes `comes` times; what comes more seldom comes together with what comes more often.
    """
    total, before = 0.0, 0.0
    for _ in range(TENSORS):
        nearest, size = turns, 0.0
        for tensor in range(TENSORS):
            if comes[tensor] > before:
                nearest = min(nearest, comes[tensor])
                size += bursts[tensor]
        total += (nearest - before) * max(step, size * per_word)
        before = nearest
    return total + (turns - before) * step
