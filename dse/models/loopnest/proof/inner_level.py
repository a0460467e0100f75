"""The inner level of a mapping: time and words of the inner transitions of an outer step, by order."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
)
from dse.models.loopnest.proof.dims import (
    ADVANCE,
    BACK,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    FIRST_PLACES,
    LAST_PLACES,
    LEFT,
    NEEDED,
    PIECE,
    PLACES,
    STAY,
    STEPS,
    WINDOW,
)
from dse.models.loopnest.traffic import (
    C,
    K,
)
from dse.support.compiling import subroutine, subroutine_with_arrays

# Columns of an inner level: its time with all clusters at work or those of the last outer step, each with the
# sums' first channels or further ones, in words that the NoC could carry; then words of one cluster: inputs
# and weights that L2 sends, outputs that it gets, and all that PEs get or send.
TIME, INPUTS, WEIGHTS, UP, DELIVERED = 0, 4, 5, 6, 7
LEVEL = 8

# What the loops inside one contribute to its transitions, and those outside.
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT, K_PLACES, YX_PLACES, C_PLACES = range(10)
COUNT, FIRST, IN, W, OUT, K_AT_WORK, YX_AT_WORK, C_AT_WORK = range(8)
PRODUCTS = 10


@subroutine_with_arrays
def inner_scratch():
    """The arrays that `time_inner` works in."""
    return np.empty((DIMS + 1, PRODUCTS), np.int64), np.empty((2, PRODUCTS), np.int64)


@subroutine
def times_inside(within, row, dims, dim, depthwise):
    """Multiplies a dim that goes back to its first inner step into a row."""
    if dim != K:
        within[row, IN_NEW] *= dims[dim, WINDOW]
        within[row, IN_KEPT] *= dims[dim, BACK]
    else:
        within[row, K_PLACES] *= dims[dim, FIRST_PLACES]
    if dim <= C:
        within[row, W_NEW] *= dims[dim, WINDOW]
        within[row, W_KEPT] *= dims[dim, BACK]
    else:
        within[row, YX_PLACES] *= dims[dim, FIRST_PLACES]
    if dim != C or depthwise:
        within[row, OUT_NEW] *= dims[dim, NEEDED]
        within[row, OUT_STAY] *= dims[dim, STAY]
        within[row, OUT_LEFT] *= dims[dim, LEFT]
    else:
        within[row, C_PLACES] *= dims[dim, FIRST_PLACES]


@subroutine
def times_outside(around, row, dims, dim, places, count, first, depthwise, params):
    """Multiplies `count` equal steps of a dim outside into a row; `first` of them are the dim's first."""
    needed = places * dims[dim, PIECE]
    around[row, COUNT] *= count
    around[row, FIRST] *= first if dim == C else count
    if dim != K:
        around[row, IN] *= needed * params[DIM_PITCHES + dim] + places * params[DIM_OVERLAPS + dim]
    else:
        around[row, K_AT_WORK] *= places
    if dim <= C:
        around[row, W] *= needed
    else:
        around[row, YX_AT_WORK] *= places
    if dim != C or depthwise:
        around[row, OUT] *= needed
    else:
        around[row, C_AT_WORK] *= places


@subroutine
def time_inner(dims, order, params, cycles, clusters, within, around, level):
    """Fills `level` with the time and words of the inner transitions in loop order `order`.

    `cycles` are those of a step. `clusters` (2, 3) has the clusters at work, in any outer step and in the
    last one, by which the words of inputs, weights and outputs are multiplied; 1 where they are shared.
    """
    depthwise, of_input, of_weights = params[DEPTHWISE] == 1, params[OF_INPUT], params[OF_WEIGHTS]
    least = cycles * params[NOC]
    two_kinds = False
    for tensor in range(3):
        two_kinds |= clusters[0, tensor] != clusters[1, tensor]
    for column in range(LEVEL):
        level[column] = 0
    for column in range(PRODUCTS):
        within[DIMS, column] = 1
        around[0, column] = 1
    for dim in range(DIMS):
        if dims[dim, STEPS] == 1:
            times_inside(within, DIMS, dims, dim, depthwise)
    for place in range(DIMS - 1, -1, -1):
        dim = order[place]
        if dims[dim, STEPS] > 1:
            # A row is of the loops inside it: the next row and that row's own loop.
            for column in range(PRODUCTS):
                within[place, column] = within[DIMS, column]
            times_inside(within, DIMS, dims, dim, depthwise)
    states = 1
    for place in range(DIMS):
        dim = order[place]
        steps = dims[dim, STEPS]
        if steps == 1:
            continue
        places, last = dims[dim, PLACES], dims[dim, LAST_PLACES]
        for variant in range(2):
            # To a step with all PEs at work, and to the last one where that differs.
            after = places if variant == 0 else last
            times = (steps - 1 if places == last else steps - 2) if variant == 0 else int(places != last)
            if times == 0:
                continue
            needed, before = after * dims[dim, PIECE], places * dims[dim, PIECE]
            in_new, in_kept = within[place, IN_NEW], within[place, IN_KEPT]
            w_new, w_kept = within[place, W_NEW], within[place, W_KEPT]
            out_new, out_stay = within[place, OUT_NEW], within[place, OUT_STAY]
            left = within[place, OUT_LEFT]
            at_k, at_yx, at_c = within[place, K_PLACES], within[place, YX_PLACES], within[place, C_PLACES]
            if dim != K:
                in_new *= needed * params[DIM_PITCHES + dim] + after * params[DIM_OVERLAPS + dim]
                in_kept *= after * dims[dim, ADVANCE]
            else:
                at_k *= after
            if dim <= C:
                w_new, w_kept = w_new * needed, 0
            else:
                at_yx *= after
            if dim != C or depthwise:
                out_new, out_stay, left = out_new * needed, 0, left * before
            else:
                at_c *= after
            for state in range(states):
                count = times * around[state, COUNT]
                first = times * around[state, FIRST] if dim != C else 0
                inputs = of_input * around[state, IN] * (in_new - in_kept)
                weights = of_weights * around[state, W] * (w_new - w_kept)
                up = params[OF_OUTPUT] * around[state, OUT] * (left - out_stay)
                begun = params[OF_OUTPUT] * around[state, OUT] * (out_new - out_stay)
                level[INPUTS] += count * inputs
                level[WEIGHTS] += count * weights
                level[UP] += count * up
                level[DELIVERED] += count * (
                    inputs * at_k * around[state, K_AT_WORK]
                    + weights * at_yx * around[state, YX_AT_WORK]
                    + begun * at_c * around[state, C_AT_WORK]
                )
                for kind in range(1 + int(two_kinds)):
                    words = clusters[kind, 0] * inputs + clusters[kind, 1] * weights + clusters[kind, 2] * up
                    back = words if depthwise else words + clusters[kind, 2] * begun
                    longer = max(least, back)
                    level[TIME + 2 * kind] += first * max(least, words) + (count - first) * longer
                    level[TIME + 2 * kind + 1] += count * longer
        if places != last:
            for column in range(PRODUCTS):
                around[1, column] = around[0, column]
            times_outside(around, 1, dims, dim, last, 1, 0, depthwise, params)
            states = 2
            times_outside(around, 0, dims, dim, places, steps - 1, 1, depthwise, params)
        else:
            for state in range(states):
                times_outside(around, state, dims, dim, places, steps, 1, depthwise, params)
    if not two_kinds:
        level[TIME + 2], level[TIME + 3] = level[TIME], level[TIME + 1]
