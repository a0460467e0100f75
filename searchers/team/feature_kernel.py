# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled counts behind `searchers.team.features`; columns.py says what each column is.

All is added in log2: the words of a tensor that move are its returns (the product of the loops down to the
innermost one that it depends on) times what all units hold of it, as a tensor stays while loops inside of
that turn. Of inputs, n outputs along a dim read n * pitch + overlap rows.
"""

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
from dse.support.compiling import kernel, subroutine_with_arrays
from dse.support.numerics.elementary import exp2_of, log2_of
from searchers.team.columns import (
    ALL_MOVED,
    ALL_TURNS,
    CLUSTERS,
    COLUMN_OVERLAP,
    COLUMN_PITCH,
    DEPTHWISE,
    DIMS,
    FILTER_COLUMNS,
    FILTER_ROWS,
    HELD,
    LEFT,
    LEVEL_WIDTH,
    MOVED,
    NESTING,
    NUM_PES,
    RETURNS,
    ROW_OVERLAP,
    ROW_PITCH,
    SHARE,
    SIZES,
    SLID,
    SPREAD,
    STEPS,
    TENSORS,
    TILES,
    TOGETHER,
    TURNS,
    UNCOUNTED,
    WIDTH,
    WORKING,
    C,
    K,
    X,
    Y,
)  # fmt: skip
from searchers.team.time_kernel import count_sent, count_times, depends_on_dim


@kernel
def write_features(rows, constants, columns, mean, deviation, out):
    """Write the given columns of the mappings (n, 27), standardised, into `out` (n, columns), single."""
    values = np.empty(WIDTH)
    wholes, outer, inner = np.empty(DIMS), np.empty(DIMS), np.empty(DIMS)
    room = np.empty((6, TENSORS))
    for row in range(len(rows)):
        for dim in range(DIMS):
            wholes[dim] = constants[SIZES + dim]
            outer[dim], inner[dim] = rows[row, OUTER_TILE + dim], rows[row, INNER_TILE + dim]
        cluster = rows[row, CLUSTER]
        spread, order = rows[row, OUTER_PARALLEL], rows[row, OUTER_ORDER : OUTER_ORDER + DIMS]
        _level(
            wholes, outer, constants[NUM_PES] // cluster, spread, order, 0.0, constants, values[:LEVEL_WIDTH]
        )
        # The inner level moves this in each of the clusters at work, and in each turn of the outer loops.
        steps = values[ALL_TURNS] + values[WORKING]
        spread, order = rows[row, INNER_PARALLEL], rows[row, INNER_ORDER : INNER_ORDER + DIMS]
        _level(outer, inner, cluster, spread, order, steps, constants, values[LEVEL_WIDTH : 2 * LEVEL_WIDTH])
        values[CLUSTERS] = log2_of(cluster)
        values[STEPS] = values[ALL_TURNS] + values[LEVEL_WIDTH + ALL_TURNS]
        for dim in range(DIMS):
            values[STEPS] += values[LEVEL_WIDTH + TILES + dim]
        values[SLID] = _slid(rows[row, OUTER_ORDER : OUTER_ORDER + DIMS], constants, values)
        values[LEFT] = values[ALL_TURNS] + values[TOGETHER + 2]
        _leave_out(rows[row, OUTER_PARALLEL], constants[NUM_PES] // cluster, constants, values)
        count_sent(rows[row, OUTER_PARALLEL], constants, values)
        count_times(constants, values, room)
        for place in range(len(columns)):
            out[row, place] = (values[columns[place]] - mean[place]) / deviation[place]


@subroutine_with_arrays
def _level(wholes, tiles, units, parallel, order, steps, constants, values):
    """Write the counts of a level that cuts `wholes` into `tiles` for so many units, 2**steps times."""
    # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
    spread = C if constants[DEPTHWISE] and parallel == K else parallel
    busy = 1.0
    values[ALL_TURNS] = 0.0
    for dim in range(DIMS):
        parts = np.ceil(wholes[dim] / tiles[dim])
        turns = np.ceil(parts / units) if dim == spread else parts
        if dim == spread:
            busy = min(parts, np.float64(units))
            values[SHARE] = log2_of(parts / (turns * units))
        values[TILES + dim] = log2_of(tiles[dim])
        values[TURNS + dim] = log2_of(turns)
        values[ALL_TURNS] += values[TURNS + dim]
        values[SPREAD + dim] = dim == spread
    values[WORKING] = log2_of(busy)
    place = NESTING
    for one in range(DIMS):
        for other in range(one + 1, DIMS):
            # Where a loop has one turn, it is all the same which is outside.
            turn = values[TURNS + one] > 0 and values[TURNS + other] > 0
            values[place] = (1.0 if _depth(order, one) < _depth(order, other) else 0.0) if turn else 0.5
            place += 1
    moved = 0.0
    _footprints(tiles, spread, 1.0, constants, values[HELD : HELD + DIMS])
    _footprints(tiles, spread, busy, constants, values[TOGETHER : TOGETHER + DIMS])
    for tensor in range(TENSORS):
        returns = _returns(values[TURNS : TURNS + DIMS], order, tensor, constants[DEPTHWISE])
        values[RETURNS + tensor] = returns
        values[MOVED + tensor] = returns + values[TOGETHER + tensor] + steps
        moved += exp2_of(values[MOVED + tensor])
    values[ALL_MOVED] = log2_of(moved)


@subroutine_with_arrays
def _slid(order, constants, values):
    """log2 of the inputs moved if, as a window slides, only its new rows or columns come."""
    latest = -1
    for place in range(DIMS):
        if depends_on_dim(1, order[place], constants[DEPTHWISE]) and values[TURNS + order[place]] > 0:
            latest = order[place]
    moved = values[MOVED + 1]
    if latest != Y and latest != X:
        return moved
    pitch = constants[ROW_PITCH if latest == Y else COLUMN_PITCH]
    overlap = constants[ROW_OVERLAP if latest == Y else COLUMN_OVERLAP]
    fresh = exp2_of(values[TILES + latest] + values[SPREAD + latest] * values[WORKING]) * pitch
    turns = exp2_of(values[TURNS + latest])
    # Of the rows that come in so many turns, all but the first have only those that are fresh.
    return moved + log2_of((fresh * turns + overlap) / ((fresh + overlap) * turns))


@subroutine_with_arrays
def _leave_out(parallel, units, constants, values):
    """Write log2 of what moves of each tensor without the last unit's, where some units idle."""
    busy = np.round(exp2_of(values[WORKING]))
    spread = C if constants[DEPTHWISE] and parallel == K else parallel
    for tensor in range(TENSORS):
        moved = values[MOVED] if tensor == 0 else (values[SLID] if tensor == 1 else values[LEFT])
        # Outputs are counted in full where rows or columns are spread.
        own = tensor < 2 or spread in (K, C)
        if own and 1 < busy < units and depends_on_dim(tensor, spread, constants[DEPTHWISE]):
            moved += log2_of((busy - 1.0) / busy)
        values[UNCOUNTED + tensor] = moved


@subroutine_with_arrays
def _depth(order, dim):
    """How many loops are outside of that of `dim`."""
    for place in range(DIMS):
        if order[place] == dim:
            return place
    return DIMS


@subroutine_with_arrays
def _returns(log_turns, order, tensor, depthwise):
    """log2 of how often a tensor comes: the turns of the loops down to the last that moves it."""
    so_far, latest = 0.0, 0.0
    for place in range(DIMS):
        dim = order[place]
        so_far += log_turns[dim]
        if depends_on_dim(tensor, dim, depthwise) and log_turns[dim] > 0:
            latest = so_far
    return latest


@subroutine_with_arrays
def _footprints(tiles, spread, busy, constants, out):
    """Write log2 of the elements of weights, inputs, outputs and all of them in `busy` units."""
    k, c, y, x = tiles[K], tiles[C], tiles[Y], tiles[X]
    if spread == K:
        k *= busy
    elif spread == C:
        c *= busy
    elif spread == Y:
        y *= busy
    else:
        x *= busy
    maps = c if constants[DEPTHWISE] else k
    weights = maps * (1.0 if constants[DEPTHWISE] else c) * constants[FILTER_ROWS] * constants[FILTER_COLUMNS]
    rows = y * constants[ROW_PITCH] + constants[ROW_OVERLAP]
    inputs = c * rows * (x * constants[COLUMN_PITCH] + constants[COLUMN_OVERLAP])
    outputs = maps * y * x
    out[0], out[1], out[2] = log2_of(weights), log2_of(inputs), log2_of(outputs)
    out[3] = log2_of(weights + inputs + outputs)
