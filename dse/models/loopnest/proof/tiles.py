"""Inner tiles and parallel dims of a shape: what none of their orders can be below.

One loop is the innermost. A tensor stays in L1 while loops advance that it does not depend on and that have
none of its own inside, so one of three cases holds: K is innermost and inputs may stay, C is and outputs may,
Y or X is and weights may. The other tensors are moved anew in every inner step, but for the share of a tile
that its neighbour, or the tile that it goes back to, has in common with it.
"""

from __future__ import annotations

from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    LATENCY,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    SIZES,
)
from dse.models.loopnest.proof.dims import (
    ALL_FIRST_PLACES,
    ALL_PLACES,
    CLUSTERS,
    DIMS,
    EVERY_WINDOW,
    FIRST_PLACES,
    LAST_CLUSTERS,
    LEFT,
    NEEDED,
    OUTER_STEPS,
    OUTPUTS,
    PIECE,
    SHARED,
    SHARES,
    STEPS,
    TILE,
    WINDOW,
)
from dse.models.loopnest.proof.outer_level import AT_L2, TO_PES
from dse.models.loopnest.timing import (
    cycles_of,
)
from dse.models.loopnest.traffic import (
    C,
    K,
    X,
    Y,
)
from dse.support.compiling import subroutine

CASES = 3
# The dims of each tensor in a convolution, and those of whose loops the weights are free, one bit a dim.
WITH_INPUTS, WITH_WEIGHTS, WITH_OUTPUTS, WITH_X = 14, 3, 13, 12
# What tiles come to whatever the orders: cycles of an inner step; words over the NoC before the first step
# and after the last one, and their cycles; cycles of all steps on the busiest PE, and what outer steps add.
STEP, END_WORDS, ENDS, BUSY, WAITS = range(5)
FIGURES = 5


@subroutine
def remaining(words, share):
    """Words less a share of them (in parts of SHARES), never more than the exact product."""
    return words if share == 0.0 else int(words * (1.0 - share / SHARES) * (1.0 - 1e-12))


@subroutine
def set_figures(dims, params, figures):
    """Fills `figures` for the tiles that `dims` holds."""
    inputs, weights, sent = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    size, steps, outer = params[FILTER], 1, 1
    for dim in range(DIMS):
        first = dims[dim, WINDOW] * dims[dim, CLUSTERS]
        if dim != K:
            inputs *= first
        if dim <= C:
            weights *= first
        if dim != C or params[DEPTHWISE] == 1:
            sent *= dims[dim, LEFT] * dims[dim, LAST_CLUSTERS]
        size *= dims[dim, PIECE]
        steps *= dims[dim, STEPS]
        outer *= dims[dim, OUTER_STEPS]
    figures[STEP] = cycles_of(size, params[LANES])
    figures[END_WORDS] = inputs + weights + sent
    figures[ENDS] = cycles_of(inputs + weights, params[NOC]) + cycles_of(sent, params[NOC])
    figures[BUSY], figures[WAITS] = outer * steps * figures[STEP], (outer - 1) * params[LATENCY]


@subroutine
def least_cycles(figures, params, at_l2, outer_cycles, ends):
    """Cycles below which no mapping with so many words at L2 is, if its outer level takes `outer_cycles`."""
    moving = cycles_of(max(at_l2 - figures[END_WORDS], 0), params[NOC])
    steady = max(figures[BUSY], moving) + figures[WAITS]
    return figures[ENDS] + max(outer_cycles, ends + steady)


@subroutine
def bound_cases(dims, params, cases):
    """Fills `cases` (3, 4) with the fewest words to and from PEs, and at L2; returns how many there are."""
    moving = 0
    for dim in range(DIMS):
        moving |= int(dims[dim, STEPS] > 1) << dim
    number = 0
    for innermost in (K, C, Y):
        dims_of = moving & (WITH_X if innermost == Y else 1 << innermost)
        if dims_of == 0 and (moving > 0 or innermost != Y):
            continue
        in_l2, in_pes = bound_inputs(dims, params, moving, innermost)
        w_l2, w_pes = bound_weights(dims, params, moving, innermost)
        up, out_pes = bound_outputs(dims, params, moving, innermost)
        down = up - params[OUTPUTS]
        cases[number, TO_PES] = in_pes + w_pes + out_pes + down
        cases[number, AT_L2] = in_l2 + w_l2 + up + down
        number += 1
    return number


@subroutine
def bound_inputs(dims, params, moving, innermost):
    """Inputs that L2 sends and that PEs get, at least: each tile once for all K, if they can stay."""
    words = params[OF_INPUT] * dims[C, EVERY_WINDOW] * dims[Y, EVERY_WINDOW] * dims[X, EVERY_WINDOW]
    share = float(max(dims[C, SHARED], max(dims[Y, SHARED], dims[X, SHARED])))
    if moving & WITH_INPUTS == 0:
        at_l2, to_pes = words, words * dims[K, CLUSTERS] * dims[K, FIRST_PLACES]
    elif innermost == K:
        at_l2, to_pes = words * dims[K, OUTER_STEPS], words * dims[K, ALL_FIRST_PLACES]
    else:
        at_l2, to_pes = words * dims[K, OUTER_STEPS] * dims[K, STEPS], words * dims[K, ALL_PLACES]
        if innermost == C:
            # A step along C leaves nothing of the tile.
            share *= dims[C, NEEDED] / dims[C, TILE]
    return remaining(at_l2, share), remaining(to_pes, share)


@subroutine
def bound_weights(dims, params, moving, innermost):
    """Weights that L2 sends and that PEs get, at least: once for all Y and X, if they can stay."""
    words = params[OF_WEIGHTS] * params[SIZES + K] * params[SIZES + C]
    share = float(max(dims[K, SHARED], dims[C, SHARED]))
    outer_steps = dims[Y, OUTER_STEPS] * dims[X, OUTER_STEPS]
    if moving & WITH_WEIGHTS == 0:
        at_l2 = words
        to_pes = words * dims[Y, CLUSTERS] * dims[X, CLUSTERS] * dims[Y, FIRST_PLACES] * dims[X, FIRST_PLACES]
    elif innermost == Y:
        at_l2 = words * outer_steps
        to_pes = words * dims[Y, ALL_FIRST_PLACES] * dims[X, ALL_FIRST_PLACES]
    else:
        at_l2 = words * outer_steps * dims[Y, STEPS] * dims[X, STEPS]
        to_pes = words * dims[Y, ALL_PLACES] * dims[X, ALL_PLACES]
        share *= dims[innermost, NEEDED] / dims[innermost, TILE]
    return remaining(at_l2, share), remaining(to_pes, share)


@subroutine
def bound_outputs(dims, params, moving, innermost):
    """Outputs that L2 gets and that PEs send, at least: once for all C, if they can stay."""
    words = params[OUTPUTS]
    if params[DEPTHWISE] == 1:
        return words, words
    if moving & WITH_OUTPUTS == 0:
        return words, words * dims[C, CLUSTERS] * dims[C, FIRST_PLACES]
    if innermost == C:
        return words * dims[C, OUTER_STEPS], words * dims[C, ALL_FIRST_PLACES]
    return words * dims[C, OUTER_STEPS] * dims[C, STEPS], words * dims[C, ALL_PLACES]
