"""Cycles of a box whose outer steps are not decided: as an outer loop advances, the longer of work and link.

With c(i) what the busiest PE computes in outer step i, and link(i) what crosses the DRAM link to the next,
`sum of outer(i) >= sum over outer loops of max(c + noc_latency, link / offchip_bandwidth)`, both summed over
the steps after which that loop advances (docs, section 5). These sums are products over dims: of those
outside of the loop all steps, of itself all steps but the last or the first, of those inside one step, as
they go back. Of every factor a box has a least and a greatest. The sum is also all that is computed, and what
the link takes longer: `sum of c(i) + sum over loops of max(0, link / offchip_bandwidth - c - noc_latency)`.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.fitting import C, K, X, Y
from dse.models.loopnest.bound.interval import ceil_quotient
from dse.support.compiling import subroutine


@subroutine
def at_work(extent, least, places):
    """Indices that the busiest of some PEs goes through, at least, with inner tiles of `least` or more."""
    return max(ceil_quotient(extent, places), min(least, extent)) if places > 1 else extent


@subroutine
def set_sides(box, choice, problem, sides):
    """Fills `sides` (4) for all tiles of a box."""
    for dim in range(4):
        across = problem.machine.pes // choice[0] if dim == choice[1] else 1
        places = choice[0] if dim == choice[2] else 1
        set_side(box[dim], problem.layer.sizes[dim], across, places, sides[dim])


@subroutine
def set_side(tiles, size, across, places, side):
    """Fills what is least and most of a dim, over all its tiles in a box (SIDE)."""
    low, high, least = tiles.low, tiles.high, tiles.least
    fewest, most = ceil_quotient(size, high * across), ceil_quotient(size, low * across)
    span, widest = min(low * across, size), min(high * across, size)
    last, last_most = 1, widest
    if fewest == most:
        last = size if most == 1 else size - (most - 1) * high * across
        last_most = size if most == 1 else size - (most - 1) * low * across
    side.fewest, side.most_steps, side.everything = fewest, most, size
    side.onward, side.first, side.last = size - widest if fewest > 1 else 0, span, max(last, 1)
    # The first cluster has all of a tile, but for the last step.
    of_last = at_work(max(1, min(low, last)), least, places)
    of_last_most = at_work(min(high, last_most), least, places)
    of_one, of_one_most = at_work(low, least, places), at_work(high, least, places)
    # The most is of outer tiles alone: see `add_advances`.
    side.done_last, side.done_last_most = of_last, of_last_most
    side.done_on = (fewest - 1) * of_one
    # All outer steps but the last are whole: each cluster goes through its share of what they cover.
    before, rounded = (size - max(last, 1)) / across if most > 1 else 0.0, (most - 1.0) * (places - 1.0)
    if places > 1:
        before = max((before + rounded) / places, (most - 1.0) * min(least, high))
    side.done_on_most = min((most - 1.0) * of_one_most, before)
    # Of a dim that is not parallel, all of it; else its share.
    shared = float(size) if across == places == 1 else ceil_quotient(ceil_quotient(size, across), places)
    side.done = max(side.done_on + of_last, shared)
    side.done_most = side.done_on_most + of_last_most


@subroutine
def is_outside(outer, dim):
    """Whether a dim is among the loops outside."""
    return outer >> dim & 1 == 1


@subroutine
def held_words(outer, loop, first_dim, sides, layer):
    """Inputs (`first_dim` C) or weights (K) that enter L2 as a loop advances with a set of others outside.

    Where the tensor does not depend on the loop they come again if one inside of it goes back, and stay
    otherwise.
    """
    words, again = 1.0, 0.0
    last_dim = C if first_dim == K else X
    for dim in range(4):
        side = sides[dim]
        if dim < first_dim or dim > last_dim:
            if is_outside(outer, dim):
                words *= side.fewest
            elif dim == loop:
                words *= side.fewest - 1.0
            continue
        pitch = layer.pitches[dim - Y] if dim >= Y else 1
        overlap = layer.overlaps[dim - Y] if dim >= Y else 0
        if is_outside(outer, dim):
            words *= side.everything * pitch + side.fewest * overlap
        elif dim == loop:
            words *= side.onward * pitch
            again = 1.0
        else:
            window = side.first * pitch + overlap
            words *= window
            # All but what first and last step share: `overlap - (steps - 2) * first * pitch`, if any.
            if side.fewest > 1:
                new = min(window, (side.fewest - 1.0) * side.first * pitch)
                again = max(again, new / window)
    return words * again


@subroutine
def output_words(outer, loop, sides, layer):
    """Outputs and sums that leave L2 or come back as a loop advances with a set of others outside."""
    reduced, moves = layer.depthwise == 0, False
    # Without channels that are summed up nothing comes back.
    up, down = 1.0, 1.0 if reduced else 0.0
    for dim in range(4):
        side = sides[dim]
        if dim == C and reduced:
            if is_outside(outer, dim):
                up, down = up * side.fewest, down * (side.fewest - 1.0)
            elif dim == loop:
                up, down = up * (side.fewest - 1.0), down * (side.fewest - 1.0)
            else:
                # Sums are complete: they leave, and others begin.
                down = 0.0
        elif is_outside(outer, dim):
            up, down = up * side.everything, down * side.everything
        elif dim == loop:
            up, down, moves = up * side.onward, down * side.onward, True
        else:
            # Those of its last step leave, those of its first begin.
            up, down = up * side.last, down * side.first
            moves = moves or side.fewest > 1
    return up + down if moves else 0.0


@subroutine
def add_advances(outer, loop, sides, problem, found):
    """Writes to `found` (2) how much longer the link takes than work as a loop advances, and the longer."""
    layer, machine, words = problem.layer, problem.machine, problem.layer.link
    # As int64, not as literals: numba would compile the function for each of them.
    link = words.input * held_words(outer, loop, np.int64(C), sides, layer)
    link += words.weights * held_words(outer, loop, np.int64(K), sides, layer)
    link = (link + words.output * output_words(outer, loop, sides, layer)) / machine.offchip
    a_step = layer.taps / machine.lanes
    least, most, fewest, steps = a_step, a_step, 1.0, 1.0
    for dim in range(4):
        side = sides[dim]
        if is_outside(outer, dim):
            least, most = least * side.done, most * side.done_most
            fewest, steps = fewest * side.fewest, steps * side.most_steps
        elif dim == loop:
            least, most = least * side.done_on, most * side.done_on_most
            fewest, steps = fewest * (side.fewest - 1.0), steps * (side.most_steps - 1.0)
        else:
            least, most = least * side.done_last, most * side.done_last_most
    # `most` is with the best inner tiles, as `done` is. With others more is computed, and `max(c, link)`
    # rises with c: the sum of both terms bounds those too.
    found[0] = max(0.0, link - most - steps * machine.latency)
    found[1] = max(link, least + fewest * machine.latency)


@subroutine
def between_steps(box, choice, problem, scratch):
    """Cycles from the first outer step's start to the last one's end, at least, in the best outer order."""
    sides, sums, found = scratch.sides, scratch.sums, scratch.pair
    set_sides(box, choice, problem, sides)
    done = last = problem.layer.taps / problem.machine.lanes
    steps, moving = 1.0, 0
    for dim in range(4):
        done, last = done * sides[dim].done, last * sides[dim].done_last
        steps *= sides[dim].fewest
        moving |= int(sides[dim].most_steps > 1) << dim
    for outer in range(16):
        sums[outer, 0] = sums[outer, 1] = np.inf if outer > 0 else 0.0
    # What a loop adds depends on the set outside of it, not on that set's order: a shortest path over sets.
    for outer in range(16):
        if outer & moving != outer:
            continue
        for loop in range(4):
            if not is_outside(moving & ~outer, loop):
                continue
            add_advances(outer, loop, sides, problem, found)
            both = outer | 1 << loop
            for column in range(2):
                sums[both, column] = min(sums[both, column], sums[outer, column] + found[column])
    waiting = done + (steps - 1.0) * problem.machine.latency + sums[moving, 0]
    return max(waiting, sums[moving, 1] + last) * (1.0 - 1e-12)
