"""What no mapping of a box moves less of between L2 and the PEs, by the loop that is innermost."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.interval import (
    AGAIN,
    ALIKE,
    BEGIN_PIECES,
    BEYOND,
    CAN_MOVE,
    FIRST_PIECES,
    IF_MOVES,
    MOVES,
    NEEDS,
    OUTER_STEPS,
    PIECES,
    ROWS,
    STEPS,
)
from dse.models.loopnest.params import (
    DEPTHWISE,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OVERLAPS,
    PITCHES,
    SIZES,
)
from dse.support.compiling import subroutine

K, C, Y, X = range(4)
TO_PES, AT_L2 = range(2)
NOTHING = 4
CASES = 4


@subroutine
def least_words(amount):
    """The least whole number that is no less than an amount, whatever its last bits."""
    return int(np.ceil(amount * (1.0 - 1e-12)))


@subroutine
def often(once, some, every, again, in_some, in_every):
    """How often words are moved: once; `some` times where a loop of theirs moves inside; `every` time."""
    return once + again * (in_some * max(0.0, some - once) + in_every * max(0.0, every - max(once, some)))


@subroutine
def bound_inner(params, scratch):
    """Fills `cases` (4, 2) with the fewest words to and from PEs, and at L2; returns how many there are."""
    dims, shares, cases = scratch.dims, scratch.shares, scratch.cases
    depthwise, channels = params[DEPTHWISE] == 1, params[SIZES + C]
    outputs = params[OF_OUTPUT] * params[SIZES + Y] * params[SIZES + X]
    outputs *= channels if depthwise else params[SIZES + K]
    filters = params[OF_WEIGHTS] * channels * params[SIZES + K]
    in_channels = params[OF_INPUT] * channels
    # Halos are kept along Y or along X, but for loops that move in some outer steps only.
    rows_y, rows_x, all_y, all_x = dims[Y, ROWS], dims[X, ROWS], dims[Y, NEEDS], dims[X, NEEDS]
    if shares[Y, ALIKE] == 1.0 and shares[X, ALIKE] == 1.0:
        sliding = min(float(rows_y) * all_x, float(all_y) * rows_x) * in_channels
    else:
        sliding = float(rows_y) * rows_x * in_channels
    # The rows and columns that are used at all, each once.
    distinct = 1.0 * in_channels
    for dim in (Y, X):
        distinct *= params[SIZES + dim] * params[PITCHES + dim - Y] + params[OVERLAPS + dim - Y]
    whole = float(all_y) * all_x * in_channels
    in_again = min(shares[C, AGAIN], min(shares[Y, AGAIN], shares[X, AGAIN]))
    w_again = min(shares[K, AGAIN], shares[C, AGAIN])
    in_moves = max(shares[C, MOVES], max(shares[Y, MOVES], shares[X, MOVES]))
    w_moves = max(shares[K, MOVES], shares[C, MOVES])
    out_moves = max(shares[K, MOVES], max(shares[Y, MOVES], shares[X, MOVES]))
    number = 0
    for innermost in (K, C, Y, NOTHING):
        if innermost == NOTHING:
            can, share = max(in_moves, w_moves) == 0.0, 0.0
        elif innermost == Y:
            can, share = dims[Y, CAN_MOVE] == 1 or dims[X, CAN_MOVE] == 1, 1.0
            for dim in (Y, X):
                if dims[dim, CAN_MOVE] == 1:
                    share = min(share, shares[dim, IF_MOVES])
        else:
            can, share = dims[innermost, CAN_MOVE] == 1, shares[innermost, IF_MOVES]
        if not can:
            continue
        # Inputs.
        every = share if innermost != K else 0.0
        words = sliding
        if innermost == C:
            words += share * shares[C, BEYOND] * max(0.0, whole - sliding)
        moves = max(in_moves, every)
        at_l2 = words * often(1, dims[K, OUTER_STEPS], dims[K, STEPS], in_again, moves, every)
        to_pes = words * often(
            dims[K, BEGIN_PIECES], dims[K, FIRST_PIECES], dims[K, PIECES], in_again, moves, every
        )
        at_l2, to_pes = max(at_l2, distinct), max(to_pes, distinct * dims[K, BEGIN_PIECES])
        # Weights.
        every = share if innermost != Y else 0.0
        moves = max(w_moves, every)
        at_l2 += filters * often(
            1,
            float(dims[Y, OUTER_STEPS]) * dims[X, OUTER_STEPS],
            float(dims[Y, STEPS]) * dims[X, STEPS],
            w_again, moves, every,
        )  # fmt: skip
        to_pes += filters * often(
            float(dims[Y, BEGIN_PIECES]) * dims[X, BEGIN_PIECES],
            float(dims[Y, FIRST_PIECES]) * dims[X, FIRST_PIECES],
            float(dims[Y, PIECES]) * dims[X, PIECES],
            w_again, moves, every,
        )  # fmt: skip
        # Outputs.
        up = pes_up = float(outputs)
        if not depthwise:
            every = share if innermost != C else 0.0
            moves = max(out_moves, every)
            up *= often(1, dims[C, OUTER_STEPS], dims[C, STEPS], 1.0, moves, every)
            pes_up *= often(dims[C, BEGIN_PIECES], dims[C, FIRST_PIECES], dims[C, PIECES], 1.0, moves, every)
        cases[number, TO_PES] = least_words(to_pes + pes_up + up - outputs)
        cases[number, AT_L2] = least_words(at_l2 + 2 * up - outputs)
        number += 1
    return number
