"""What no mapping of a box moves less of between L2 and the PEs, by the loop that is innermost."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.fitting import C, K, X, Y
from dse.support.compiling import subroutine

NOTHING = 4
CASES = 4


@subroutine
def least_words(amount):
    """The least whole number that is no less than an amount, whatever its last bits."""
    return int(np.ceil(amount * (1.0 - 1e-12)))


@subroutine
def times_moved(once, some, every, again, moves):
    """How often words are moved: once; `some` times where a loop of theirs moves inside; `every` time.

    `moves` are the shares of the steps in which that is so.
    """
    in_some, in_every = moves
    # Each time but the first only that share comes `again` which no idle PE has kept.
    return once + again * (in_some * max(0.0, some - once) + in_every * max(0.0, every - max(once, some)))


@subroutine
def share_that_moves(dims, innermost):
    """The least share of indices in outer steps where this loop is the innermost that moves; -1.0: it cannot.

    NOTHING is the case that no loop moves for certain.
    """
    if innermost == NOTHING:
        still = True
        for dim in range(4):
            still &= dims[dim].moves == 0.0
        return 0.0 if still else -1.0
    if innermost != Y:
        return dims[innermost].if_moves if dims[innermost].can_move == 1 else -1.0
    # Rows or columns, whichever moves less: weights stay through both.
    share = 2.0
    for dim in range(Y, 4):
        if dims[dim].can_move == 1:
            share = min(share, dims[dim].if_moves)
    return share if share < 2.0 else -1.0


@subroutine
def words_of_inputs(dims, layer):
    """Inputs that pieces need: where neighbours share rows or columns, with none shared, and each once.

    Halos are kept along Y or along X, but for loops that move in some outer steps only: there along both.
    """
    channels = layer.of.input * layer.sizes[C]
    rows_y, rows_x, all_y, all_x = dims[Y].rows, dims[X].rows, dims[Y].needs, dims[X].needs
    if dims[Y].uniform == 1.0 and dims[X].uniform == 1.0:
        sliding = min(float(rows_y) * all_x, float(all_y) * rows_x) * channels
    else:
        sliding = float(rows_y) * rows_x * channels
    distinct = 1.0 * channels
    for dim in (Y, X):
        distinct *= layer.sizes[dim] * layer.pitches[dim - Y] + layer.overlaps[dim - Y]
    return sliding, float(all_y) * all_x * channels, distinct


@subroutine
def move_inputs(dims, inputs, innermost, share):
    """Inputs to PEs and out of L2, at least: all of them again for every step of K that they stay through."""
    sliding, whole, distinct = inputs
    every = share if innermost != K else 0.0
    words = sliding
    if innermost == C:
        # What comes as channels advance shares no rows with what was there: halos count in full.
        words += share * dims[C].beyond * max(0.0, whole - sliding)
    again = min(dims[C].again, min(dims[Y].again, dims[X].again))
    moves = max(max(dims[C].moves, max(dims[Y].moves, dims[X].moves)), every), every
    one = dims[K]
    at_l2 = words * times_moved(1.0, float(one.outer_steps), float(one.steps), again, moves)
    begin = float(one.begin_pieces)
    to_pes = words * times_moved(begin, float(one.first_pieces), float(one.pieces), again, moves)
    return max(to_pes, distinct * begin), max(at_l2, distinct)


@subroutine
def move_weights(dims, weights, innermost, share):
    """Weights to PEs and out of L2, at least: again for each step of Y and X inside."""
    every = share if innermost != Y else 0.0
    again = min(dims[K].again, dims[C].again)
    moves = max(max(dims[K].moves, dims[C].moves), every), every
    rows, columns = dims[Y], dims[X]
    at_l2 = weights * times_moved(
        1.0, float(rows.outer_steps) * columns.outer_steps, float(rows.steps) * columns.steps, again, moves
    )
    to_pes = weights * times_moved(
        float(rows.begin_pieces) * columns.begin_pieces,
        float(rows.first_pieces) * columns.first_pieces,
        float(rows.pieces) * columns.pieces,
        again,
        moves,
    )
    return to_pes, at_l2


@subroutine
def move_outputs(dims, outputs, innermost, share):
    """Outputs and sums that leave PEs, and that enter L2, at least: again for every step of C."""
    every = share if innermost != C else 0.0
    moves = max(max(dims[K].moves, max(dims[Y].moves, dims[X].moves)), every), every
    one = dims[C]
    up = outputs * times_moved(1.0, float(one.outer_steps), float(one.steps), 1.0, moves)
    begin, first, pieces = float(one.begin_pieces), float(one.first_pieces), float(one.pieces)
    return outputs * times_moved(begin, first, pieces, 1.0, moves), up


@subroutine
def bound_inner(layer, dims, cases):
    """Fills `cases` with the fewest words to and from PEs, and at L2; returns how many there are.

    Whatever the order, one of the loops that move is innermost: a tensor with that dim has its words anew as
    it advances, as section 4 says, the others have theirs where a loop of theirs moves. No order has fewer.
    """
    depthwise, channels = layer.depthwise == 1, layer.sizes[C]
    outputs = layer.of.output * layer.sizes[Y] * layer.sizes[X]
    outputs *= channels if depthwise else layer.sizes[K]
    weights = float(layer.of.weights * channels * layer.sizes[K])
    inputs = words_of_inputs(dims, layer)
    number = 0
    for innermost in (K, C, Y, NOTHING):
        share = share_that_moves(dims, innermost)
        if share < 0.0:
            continue
        in_pes, in_l2 = move_inputs(dims, inputs, innermost, share)
        w_pes, w_l2 = move_weights(dims, weights, innermost, share)
        # Channels of a depthwise layer are not summed: each output leaves once.
        up = pes_up = float(outputs)
        if not depthwise:
            pes_up, up = move_outputs(dims, up, innermost, share)
        # All sums that leave come back but those that are outputs (section 4: down = N - outputs).
        cases[number].to_pes = least_words(in_pes + w_pes + pes_up + up - outputs)
        cases[number].at_l2 = least_words(in_l2 + w_l2 + 2 * up - outputs)
        number += 1
    return number
