"""What all steps of a box bring together at least, whatever its tiles: a bound for wide intervals.

A product of the fewest steps with the smallest tile is far below what any one tile brings: that many tiles
of that size do not cover the loop. So a loop's sums are bounded as such: tiles of a loop are never fewer
elements than the loop has. Of a LOOP in `records`: `count` are its steps; `held` is what it holds where loops
outside of it advance; `every` what its steps bring one after the other and `more` the same without the first
one, where no loop inside begins anew (`new`) and where one does (`full`); `swept_all` what it holds in all of
its steps; `firsts` and `outs` that of the first step as often, of inputs or weights and of outputs.
"""

from __future__ import annotations

from dse.models.maestro.proof.records import DIMS, ceil_quotient, in_input, in_output, in_weights
from dse.support.compiling import subroutine


@subroutine
def set_loops(box, least, layer, loops):
    """Sets the `loops` (4) of a box, with the `least` shares of its parallel one.

    The fewest steps are those of the largest tile, and they cover the loop: nothing brings less.
    """
    for dim in range(DIMS):
        size, low, high, halo = layer.sizes[dim], box.low[dim], box.high[dim], layer.halos[dim]
        loop = loops[dim]
        loop.tile, loop.largest = low, high
        # Which steps are at an edge depends on the tile: of several none is counted as whole.
        loop.whole = size // high if low == high else 0
        if dim == box.parallel:
            loop.steps, loop.count, loop.held = 1, least.iterations, least.start_new
            loop.every_new, loop.every_full = least.all_new, least.all_full
            loop.more_new, loop.more_full = least.more_new, least.more_full
            loop.swept_all, loop.firsts, loop.outs = least.sweep, least.swept, least.swept_out
            continue
        # In n steps of t there are n * t: the loop at least, and the smallest tile in the fewest steps. All
        # but the first have n * t - t: the loop without the largest tile at least.
        steps = ceil_quotient(size, high)
        covered, more = max(size, steps * low), max(size - high, (steps - 1) * low)
        loop.steps, loop.count, loop.held = steps, steps, low + halo
        loop.every_new, loop.every_full = covered + halo, covered + steps * halo
        loop.more_new, loop.more_full = more, more + (steps - 1) * halo
        loop.swept_all = loop.firsts = covered + steps * halo
        loop.outs = covered


@subroutine
def link_cycles(loops, steps, layer, machine):
    """Cycles that all steps wait for the off-chip link at least: each of them a whole number (step 5.3
    of `reference`).

    The first step decides how long each waits: the whole part of its words over the link's. Where that is at
    least k, it is at least k/(k+1) of the quotient, so that the words of all steps together are a bound too.
    """
    count, inputs, weights, outputs = 1, 1, layer.taps, 1
    for dim in range(DIMS):
        loop = loops[dim]
        count *= loop.count
        inputs *= loop.firsts if in_input(dim) else loop.count
        weights *= loop.firsts if in_weights(dim, layer) else loop.count
        outputs *= loop.outs if in_output(dim, layer) else loop.count
    into, out = (steps.first_i + steps.first_w) // machine.offchip, steps.first_out // machine.offchip
    # The fewest steps of the least words, or all words by that share.
    whole = max(count * into, (inputs + weights) // (machine.offchip * (into + 1)) * into)
    return max(whole, count * out, outputs // (machine.offchip * (out + 1)) * out)


@subroutine
def words_of_order(order, of_weights, layer, given, loops, steps):
    """Elements of inputs, or of weights, that all steps of an order bring at least.

    From the innermost loop out: what is brought by the first step where a loop outside advances, by all
    others, and by all. A loop that the tensor does not depend on has those inside begin anew, but for the
    first step (step 4.2 of `reference`).
    """
    first = every = layer.taps if of_weights else 1
    others = 0
    for index in range(DIMS):
        place = DIMS - 1 - index
        dim = given.nests[order, place]
        loop = loops[dim]
        if in_weights(dim, layer) if of_weights else in_input(dim):
            again = given.inside[order, place] & steps.moves_in > 0
            others = (loop.more_full if again else loop.more_new) * first + loop.swept_all * others
            first *= loop.held
            # The least figures of `first` and `others` may be of different tiles: what a loop brings in all
            # of its steps, of whichever tile, can be more.
            every = max((loop.every_full if again else loop.every_new) * every, first + others)
        else:
            # An advance finds the tensor where it is: the first step inside brings nothing.
            every += (loop.count - 1) * others
            others *= loop.count
    return every
