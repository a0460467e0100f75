"""What all steps of a box bring together at least, whatever its tiles: a bound for wide intervals.

A product of the fewest steps with the smallest tile is far below what any one tile brings: that many tiles
of that size do not cover the loop. So a loop's sums are bounded as such: tiles of a loop are never fewer
elements than the loop has.
"""

from __future__ import annotations

from dse.models.maestro.proof.boxes.spread import (
    ALL_FULL,
    ALL_NEW,
    ITERATIONS,
    MORE_FULL,
    MORE_NEW,
    START_NEW,
    SWEEP,
    SWEPT,
    SWEPT_OUT,
    pieces,
)
from dse.models.maestro.proof.level import (
    DIMS,
    FILTER,
    OFFCHIP,
    SIZES,
    halo_of,
    in_input,
    in_output,
    in_weights,
)
from dse.support.compiling import subroutine

# Of a loop: its steps; what it holds where loops outside of it advance; what its steps bring one after the
# other, and the same without the first one, where no loop inside begins anew and where one does; what it
# holds in all of its steps; that of the first step as often, of inputs or weights and of outputs.
COUNT, HELD, EVERY, MORE, SWEPT_ALL, FIRSTS, OUTS = 0, 1, 2, 4, 6, 7, 8
SUMS = 9


@subroutine
def set_sums(box, spatial, least, params, sums):
    """Sets `sums` (4, SUMS) of a box (4, 2) of outer tiles, with the `least` shares of its parallel loop."""
    for dim in range(DIMS):
        size, low, high, halo = params[SIZES + dim], box[dim, 0], box[dim, 1], halo_of(dim, params)
        if dim == spatial:
            sums[dim, COUNT], sums[dim, HELD] = least[ITERATIONS], least[START_NEW]
            sums[dim, EVERY], sums[dim, EVERY + 1] = least[ALL_NEW], least[ALL_FULL]
            sums[dim, MORE], sums[dim, MORE + 1] = least[MORE_NEW], least[MORE_FULL]
            sums[dim, SWEPT_ALL], sums[dim, FIRSTS] = least[SWEEP], least[SWEPT]
            sums[dim, OUTS] = least[SWEPT_OUT]
            continue
        steps = pieces(size, high)
        covered, more = max(size, steps * low), max(size - high, (steps - 1) * low)
        sums[dim, COUNT], sums[dim, HELD] = steps, low + halo
        sums[dim, EVERY], sums[dim, EVERY + 1] = covered + halo, covered + steps * halo
        sums[dim, MORE], sums[dim, MORE + 1] = more, more + (steps - 1) * halo
        sums[dim, SWEPT_ALL] = sums[dim, FIRSTS] = covered + steps * halo
        sums[dim, OUTS] = covered


@subroutine
def link_cycles(sums, first_words, first_out, depthwise, params):
    """Cycles that all steps wait for the off-chip link at least: each of them a whole number.

    The first step decides how long each waits. Whole cycles of a step, at least k, are k/(k+1) of all.
    """
    steps, inputs, weights, outputs = 1, 1, params[FILTER], 1
    for dim in range(DIMS):
        steps *= sums[dim, COUNT]
        inputs *= sums[dim, FIRSTS if in_input(dim) else COUNT]
        weights *= sums[dim, FIRSTS if in_weights(dim, depthwise) else COUNT]
        outputs *= sums[dim, OUTS if in_output(dim, depthwise) else COUNT]
    found = 0
    for words, one in ((inputs + weights, first_words), (outputs, first_out)):
        whole = one // params[OFFCHIP]
        found = max(found, steps * whole, words // (params[OFFCHIP] * (whole + 1)) * whole)
    return found


@subroutine
def words_of_order(order, after, moves_in, weights, depthwise, sums, params):
    """Elements of inputs, or of `weights`, that all steps of an order bring at least.

    From the innermost loop out: what is brought by the first step where a loop outside advances, by all
    others, and by all. A loop that the tensor does not depend on has those inside begin anew, but for the
    first step (section 4.1 of `reference`).
    """
    first = every = params[FILTER] if weights else 1
    others = 0
    for index in range(DIMS):
        place = DIMS - 1 - index
        dim = order[place]
        if in_weights(dim, depthwise) if weights else in_input(dim):
            again = 1 if after[place] & moves_in else 0
            others = sums[dim, MORE + again] * first + sums[dim, SWEPT_ALL] * others
            first *= sums[dim, HELD]
            every = max(sums[dim, EVERY + again] * every, first + others)
        else:
            every += (sums[dim, COUNT] - 1) * others
            others *= sums[dim, COUNT]
    return every
