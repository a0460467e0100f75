# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled estimates of what L2 sends and of the time that a mapping takes, from its counts.

The time is that of double buffers, as in the dataflow templates: a step takes as long as the PEs work, or as
the next tiles take to come, whichever is longer:

    time = first tiles + sum over steps of max(work, words that come / bandwidth)

at the inner level over the NoC, and at the outer one with an inner run as the work and the off-chip
bandwidth. What the layer's edges, latencies and a cost model's own rules add is left to be learned.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import subroutine_with_arrays
from dse.support.numerics.elementary import exp2_of, log2_of
from searchers.team.columns import (
    ALL_TURNS,
    ANEW,
    DELIVERED,
    DEPTHWISE,
    FILTER_COLUMNS,
    FILTER_ROWS,
    HELD,
    KEPT,
    LANES,
    LEVEL_WIDTH,
    MOVED,
    MULTICAST,
    NOC,
    OFFCHIP,
    RETURNS,
    SENT_ONCE,
    SIZES,
    TENSORS,
    TILES,
    TIMES,
    TOGETHER,
    WORKING,
    C,
    K,
    X,
    Y,
)  # fmt: skip


@subroutine_with_arrays
def depends_on_dim(tensor, dim, depthwise):
    """Whether a tensor (weights, inputs, outputs) has the dim."""
    if tensor == 0:
        return dim == C or (dim == K and not depthwise)
    if tensor == 1:
        return dim != K
    return dim in (Y, X) or dim == (C if depthwise else K)


@subroutine_with_arrays
def count_sent(parallel, constants, values):
    """Write log2 of the words of each tensor that L2 sends, one for all clusters alike, and that arrive.

    Then the same if a tile that the inner loops do not change stays in its PE until the outer loops do.
    """
    spread = C if constants[DEPTHWISE] and parallel == K else parallel
    inner = values[LEVEL_WIDTH : 2 * LEVEL_WIDTH]
    for tensor in range(TENSORS):
        alike = 0.0 if depends_on_dim(tensor, spread, constants[DEPTHWISE]) else values[WORKING]
        values[MULTICAST + tensor] = inner[MOVED + tensor] - alike
        arrives = inner[RETURNS + tensor] + inner[HELD + tensor] + inner[WORKING]
        values[DELIVERED + tensor] = arrives + values[ALL_TURNS] + values[WORKING]
        kept = values[ALL_TURNS] - values[RETURNS + tensor] if inner[RETURNS + tensor] == 0 else 0.0
        values[SENT_ONCE + tensor] = values[MULTICAST + tensor] - kept
        values[KEPT + tensor] = values[DELIVERED + tensor] - kept


@subroutine_with_arrays
def count_times(constants, values, room):
    """Write log2 of the cycles: with one NoC that all clusters share, then with one for each.

    Then both again if a tile that the inner loops do not change stays in its PE until the outer loops do; and
    with one for each, if every tile comes from off-chip in every turn of the outer loops, and goes. `room` is
    an array (6, tensors) to work in.
    """
    inner = values[LEVEL_WIDTH : 2 * LEVEL_WIDTH]
    comes, bursts, inner_comes, inner_bursts, shared, coming = room
    turns, inner_turns = exp2_of(values[ALL_TURNS]), exp2_of(inner[ALL_TURNS])
    working = exp2_of(values[WORKING])
    for tensor in range(TENSORS):
        comes[tensor], bursts[tensor] = exp2_of(values[RETURNS + tensor]), exp2_of(values[TOGETHER + tensor])
        inner_comes[tensor] = exp2_of(inner[RETURNS + tensor])
        inner_bursts[tensor] = exp2_of(inner[TOGETHER + tensor])
        alike = values[MULTICAST + tensor] < inner[MOVED + tensor]
        shared[tensor] = inner_bursts[tensor] * (1.0 if alike else working)
    outputs = (
        constants[SIZES + Y] * constants[SIZES + X] * constants[SIZES + (C if constants[DEPTHWISE] else K)]
    )
    leave = bursts[2] / constants[OFFCHIP]
    bursts[2] *= _both_ways(np.float64(outputs), comes[2] * bursts[2])
    both_ways = _both_ways(exp2_of(values[HELD + 2]), inner_comes[2] * inner_bursts[2])
    inner_bursts[2] *= both_ways
    shared[2] *= both_ways
    tile = inner[TILES + K] + inner[TILES + C] + inner[TILES + Y] + inner[TILES + X]
    work = exp2_of(tile) * constants[FILTER_ROWS] * constants[FILTER_COLUMNS] / constants[LANES]
    before = (bursts[0] + bursts[1] + bursts[2]) / constants[OFFCHIP]
    for way in range(4):
        sent = shared if way % 2 == 0 else inner_bursts
        first = before + (sent[0] + sent[1]) / constants[NOC]
        if way < 2:
            step = _double_buffered(inner_turns, inner_comes, sent, work, 1.0 / constants[NOC])
        else:
            step = _mean_step(
                turns, comes, inner_turns, inner_comes, sent, work, 1.0 / constants[NOC], coming
            )
        rest = _double_buffered(turns, comes, bursts, step, 1.0 / constants[OFFCHIP])
        values[TIMES + way] = log2_of(first + rest)
        if way == 1:
            arrive = (bursts[0] + bursts[1]) / constants[OFFCHIP]
            values[ANEW] = log2_of(turns * max(step, arrive, leave))


@subroutine_with_arrays
def _mean_step(turns, comes, inner_turns, inner_comes, bursts, work, per_word, coming):
    """The mean time of the inner loops in a turn of the outer ones: what stays comes in some of these alone.

    `coming` is room for a number each a tensor.
    """
    total, before = 0.0, 0.0
    while before < turns:
        nearest = turns
        for tensor in range(TENSORS):
            count = comes[tensor] if inner_comes[tensor] == 1 else turns
            coming[tensor] = inner_comes[tensor] if count > before else 0.0
            if count > before:
                nearest = min(nearest, count)
        total += (nearest - before) * _double_buffered(inner_turns, coming, bursts, work, per_word)
        before = nearest
    return total / turns


@subroutine_with_arrays
def _both_ways(outputs, moved):
    """How often an output that moves counts: up to twice, as unfinished ones come back."""
    return 2.0 - min(outputs / moved, 1.0)


@subroutine_with_arrays
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
