"""The inner tiles of a shape, dim by dim, and a bound of all that begin with the same ones.

Inner tiles are chosen for K first, then for C, Y and X. Where some are chosen, those of the other dims are
among the smallest so many: larger ones do not fit in L1 beside the chosen ones. Each figure that words and
work rise with is taken from the tile that has least of it, and the cases of `tiles` bound the rest.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
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
    COLUMNS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    EVERY_WINDOW,
    FIRST_PLACES,
    L1,
    NEEDED,
    OUTER_STEPS,
    OUTPUTS,
    PIECE,
    SHARED,
    STEPS,
    TILE,
    set_inner,
)
from dse.models.loopnest.proof.shapes import below, loss_of
from dse.models.loopnest.proof.tiles import (
    WITH_INPUTS,
    WITH_OUTPUTS,
    WITH_WEIGHTS,
    WITH_X,
    remaining,
)
from dse.models.loopnest.timing import cycles_of
from dse.models.loopnest.traffic import (
    C,
    K,
    X,
    Y,
)
from dse.support.compiling import subroutine

# Of an inner tile of a dim: its size, then what a bound takes the least of: input rows or columns of all
# pieces, the same without what the steps along this dim share (in parts of UNITS), steps, steps times the
# size, PEs at work in all steps, in all first ones, in the first; then the most: the share that stays, what a
# step needs, steps.
SIZE, WINDOWS, UNSHARED, FEWEST, WORK, PLACES, FIRSTS, FIRST, SHARE, NEED, MOST = range(11)
FIGURES = 11
UNITS = 2**20
# Where these stand: those of each tile alone, and the least and the most of it and all smaller ones.
ALONE, UP_TO = 0, 1


@subroutine
def list_pieces(dims, cluster, params, parallels, inner_tiles, pieces, figures):
    """Measures the inner tiles of each dim that divide its outer one, alone and spread over a cluster's PEs.

    Fills `pieces` (2, 4, n, COLUMNS), the columns of `dims`, and `figures` (2, 4, n, 2, FIGURES); the first
    axis says whether the dim is parallel. `figures[0, dim, 0, ALONE, SIZE]` is 0 where none divides it.
    """
    for dim in range(DIMS):
        spread = 0
        for number in range(parallels[1, 0]):
            spread |= int(cluster > 1 and parallels[1, 1 + number] == dim)
        count = 0
        for number in range(inner_tiles[dim, 0]):
            piece = inner_tiles[dim, 1 + number]
            if dims[dim, TILE] % piece != 0:
                continue
            for way in range(1 + spread):
                set_inner(dims, dim, piece, cluster if way == 1 else 1, params)
                for column in range(STEPS, COLUMNS):
                    pieces[way, dim, count, column] = dims[dim, column]
                set_figures(dims, dim, figures[way, dim], count)
            count += 1
        figures[0, dim, count, ALONE, SIZE] = figures[1, dim, count, ALONE, SIZE] = 0


@subroutine
def set_figures(dims, dim, figures, place):
    """Fills the figures of the inner tile that `dims` holds, and those of it and the smaller ones before."""
    alone, up_to = figures[place, ALONE], figures[place, UP_TO]
    alone[SIZE], alone[WINDOWS] = dims[dim, PIECE], dims[dim, EVERY_WINDOW]
    alone[UNSHARED] = remaining(dims[dim, EVERY_WINDOW] * UNITS, dims[dim, SHARED])
    alone[FEWEST], alone[WORK] = dims[dim, STEPS], dims[dim, STEPS] * dims[dim, PIECE]
    alone[PLACES], alone[FIRSTS] = dims[dim, ALL_PLACES], dims[dim, ALL_FIRST_PLACES]
    alone[FIRST], alone[SHARE] = dims[dim, FIRST_PLACES], dims[dim, SHARED]
    alone[NEED], alone[MOST] = dims[dim, NEEDED], dims[dim, STEPS]
    for column in range(FIGURES):
        up_to[column] = alone[column]
        if place > 0:
            before = figures[place - 1, UP_TO, column]
            if column >= SHARE or column == SIZE:
                up_to[column] = max(before, alone[column])
            else:
                up_to[column] = min(before, alone[column])


@subroutine
def fits(k, c, y, x, params):
    """Whether L1 holds what inner tiles need, twice."""
    inputs, weights, outputs = params[OF_INPUT] * c, params[OF_WEIGHTS] * k * c, params[OF_OUTPUT] * y * x
    inputs *= y * params[DIM_PITCHES + Y] + params[DIM_OVERLAPS + Y]
    inputs *= x * params[DIM_PITCHES + X] + params[DIM_OVERLAPS + X]
    outputs *= c if params[DEPTHWISE] == 1 else k
    return 2 * (inputs + weights + outputs) <= params[L1]


@subroutine
def limit(figures, sizes, level, last, params):
    """Fills `last[level]` (4): by dim, the place of the largest inner tile that fits beside the smallest.

    `sizes` (4) has those that are chosen, of the dims before `level`, and the smallest of the others. False
    if not even these fit.
    """
    if not fits(sizes[0], sizes[1], sizes[2], sizes[3], params):
        return False
    for dim in range(level, DIMS):
        smallest, place = sizes[dim], 0
        # What fitted beside less, or all that there are.
        most = last[level - 1, dim] if level > 0 else len(figures[dim])
        while place < most and figures[dim, place + 1, ALONE, SIZE] > 0:
            sizes[dim] = figures[dim, place + 1, ALONE, SIZE]
            if not fits(sizes[0], sizes[1], sizes[2], sizes[3], params):
                break
            place += 1
        sizes[dim], last[level, dim] = smallest, place
    return True


@subroutine
def bound_part(at, dims, params, constants, terms, shape):
    """The bound, and its tie break, of all inner tiles with no less of any figure than `at` (4, FIGURES).

    `shape` has the fewest cycles and DRAM words of the outer orders, the cycles of the link before the first
    step and after the last one, those of the NoC, at least, and what outer steps wait.
    """
    outer_cycles, dram, ends, least_ends, waits = shape
    # Dims that take many steps whichever tile is chosen, and those that may.
    moving, may_move = 0, 0
    work = params[FILTER]
    for dim in range(DIMS):
        moving |= int(at[dim, FEWEST] > 1) << dim
        may_move |= int(at[dim, MOST] > 1) << dim
        work *= dims[dim, OUTER_STEPS] * at[dim, WORK]
    busy = least_ends + max(outer_cycles, ends + cycles_of(work, params[LANES]) + waits)
    least, least_tie = np.inf, np.inf
    for innermost in (K, C, Y):
        dims_of = may_move & (WITH_X if innermost == Y else 1 << innermost)
        if dims_of == 0 and (moving > 0 or innermost != Y):
            continue
        in_l2, in_pes = part_inputs(at, dims, params, moving, innermost)
        w_l2, w_pes = part_weights(at, dims, params, moving, innermost)
        up, out_pes = part_outputs(at, dims, params, moving, innermost)
        down = up - params[OUTPUTS]
        at_l2 = in_l2 + w_l2 + up + down
        cycles = max(busy, cycles_of(at_l2, params[NOC]) + ends + waits)
        loss, tie_break = loss_of(
            params, constants, terms, cycles, in_pes + w_pes + out_pes + down, at_l2, dram
        )
        if below(loss, tie_break, least, least_tie):
            least, least_tie = loss, tie_break
    return least, least_tie


@subroutine
def part_inputs(at, dims, params, moving, innermost):
    """Inputs that L2 sends and that PEs get, at least: see `bound_inputs`."""
    words = params[OF_INPUT] * at[C, WINDOWS] * at[Y, WINDOWS] * at[X, WINDOWS]
    if moving & WITH_INPUTS == 0:
        at_l2, to_pes = 1, dims[K, CLUSTERS] * at[K, FIRST]
    elif innermost == K:
        at_l2, to_pes = dims[K, OUTER_STEPS], at[K, FIRSTS]
    else:
        at_l2, to_pes = dims[K, OUTER_STEPS] * at[K, FEWEST], at[K, PLACES]
    if at[C, SHARE] == 0 and at[Y, SHARE] == 0 and at[X, SHARE] == 0:
        return words * at_l2, words * to_pes
    # Of what one dim's steps share.
    c_y, x_input = float(at[C, WINDOWS] * at[Y, WINDOWS]), float(at[X, WINDOWS] * params[OF_INPUT])
    new = min(at[C, UNSHARED] * float(at[Y, WINDOWS]), at[Y, UNSHARED] * float(at[C, WINDOWS])) * x_input
    new = min(new, at[X, UNSHARED] * float(params[OF_INPUT]) * c_y) / UNITS
    if innermost == C and moving & WITH_INPUTS != 0:
        # A step along C leaves nothing of the tile.
        again = at[C, NEED] / dims[C, TILE]
        new = again * new + (1.0 - again) * words
    new *= 1.0 - 1e-12
    return int(new * at_l2), int(new * to_pes)


@subroutine
def part_weights(at, dims, params, moving, innermost):
    """Weights that L2 sends and that PEs get, at least: see `bound_weights`."""
    words = params[OF_WEIGHTS] * params[SIZES + K] * params[SIZES + C]
    share = float(max(at[K, SHARE], at[C, SHARE]))
    outer_steps = dims[Y, OUTER_STEPS] * dims[X, OUTER_STEPS]
    if moving & WITH_WEIGHTS == 0:
        at_l2 = words
        to_pes = words * dims[Y, CLUSTERS] * dims[X, CLUSTERS] * at[Y, FIRST] * at[X, FIRST]
    elif innermost == Y:
        at_l2, to_pes = words * outer_steps, words * at[Y, FIRSTS] * at[X, FIRSTS]
    else:
        at_l2 = words * outer_steps * at[Y, FEWEST] * at[X, FEWEST]
        to_pes = words * at[Y, PLACES] * at[X, PLACES]
        share *= at[innermost, NEED] / dims[innermost, TILE]
    return remaining(at_l2, share), remaining(to_pes, share)


@subroutine
def part_outputs(at, dims, params, moving, innermost):
    """Outputs that L2 gets and that PEs send, at least: see `bound_outputs`."""
    words = params[OUTPUTS]
    if params[DEPTHWISE] == 1:
        return words, words
    if moving & WITH_OUTPUTS == 0:
        return words, words * dims[C, CLUSTERS] * at[C, FIRST]
    if innermost == C:
        return words * dims[C, OUTER_STEPS], words * at[C, FIRSTS]
    return words * dims[C, OUTER_STEPS] * at[C, FEWEST], words * at[C, PLACES]
