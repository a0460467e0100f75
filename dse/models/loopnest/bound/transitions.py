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

from dse.models.loopnest.bound.fitting import HIGH, LEAST, LOW
from dse.models.loopnest.bound.interval import quotient
from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    OFFCHIP,
    OVERLAPS,
    PES,
    PITCHES,
    SIZES,
)
from dse.support.compiling import subroutine

K, C, Y, X = range(4)
# Of a dim: outer steps, at least and at most; its size; indices of all steps but one, of the first and of the
# last one, at least; what the busiest PE goes through in all steps, in all but the last and in the last, at
# least and at most.
FEWEST, MOST_STEPS, ALL, ON, FIRST, LAST = range(6)
DONE, DONE_ON, DONE_LAST, DONE_MOST, DONE_ON_MOST, DONE_LAST_MOST = range(6, 12)
SIDES = 12


@subroutine
def at_work(extent, least, places):
    """Indices that the busiest of some PEs goes through, at least, with inner tiles of `least` or more."""
    return max(quotient(extent, places), min(least, extent)) if places > 1 else extent


@subroutine
def set_sides(box, choice, params, sides):
    """Fills `sides` (4, SIDES) for all tiles of a box."""
    for dim in range(4):
        size, low, high, least = params[SIZES + dim], box[dim, LOW], box[dim, HIGH], box[dim, LEAST]
        across = params[PES] // choice[0] if dim == choice[1] else 1
        places = choice[0] if dim == choice[2] else 1
        fewest, most = quotient(size, high * across), quotient(size, low * across)
        span, widest = min(low * across, size), min(high * across, size)
        last, last_most = 1, widest
        if fewest == most:
            last = size if most == 1 else size - (most - 1) * high * across
            last_most = size if most == 1 else size - (most - 1) * low * across
        side = sides[dim]
        side[FEWEST], side[MOST_STEPS], side[ALL] = fewest, most, size
        side[ON], side[FIRST], side[LAST] = size - widest if fewest > 1 else 0, span, max(last, 1)
        # The first cluster has all of a tile, but for the last step.
        of_last = at_work(max(1, min(low, last)), least, places)
        of_last_most = at_work(min(high, last_most), least, places)
        of_one, of_one_most = at_work(low, least, places), at_work(high, least, places)
        side[DONE_LAST], side[DONE_LAST_MOST] = of_last, of_last_most
        side[DONE_ON] = (fewest - 1) * of_one
        # All outer steps but the last are whole: each cluster goes through its share of what they cover.
        before, rounded = (size - max(last, 1)) / across if most > 1 else 0.0, (most - 1.0) * (places - 1.0)
        if places > 1:
            before = max((before + rounded) / places, (most - 1.0) * min(least, high))
        side[DONE_ON_MOST] = min((most - 1.0) * of_one_most, before)
        # Of a dim that is not parallel, all of it; else its share.
        shared = float(size) if across == places == 1 else quotient(quotient(size, across), places)
        side[DONE] = max(side[DONE_ON] + of_last, shared)
        side[DONE_MOST] = side[DONE_ON_MOST] + of_last_most


@subroutine
def outside(outer, dim):
    """Whether a dim is among the loops outside."""
    return outer >> dim & 1 == 1


@subroutine
def held_words(outer, loop, first_dim, sides, params):
    """Inputs (`first_dim` C) or weights (K) that enter L2 as a loop advances with a set of others outside.

    Where the tensor does not depend on the loop they come again if one inside of it goes back, and stay
    otherwise.
    """
    words, again = 1.0, 0.0
    last_dim = C if first_dim == K else X
    for dim in range(4):
        side = sides[dim]
        if dim < first_dim or dim > last_dim:
            if outside(outer, dim):
                words *= side[FEWEST]
            elif dim == loop:
                words *= side[FEWEST] - 1.0
            continue
        pitch = params[PITCHES + dim - Y] if dim >= Y else 1
        overlap = params[OVERLAPS + dim - Y] if dim >= Y else 0
        if outside(outer, dim):
            words *= side[ALL] * pitch + side[FEWEST] * overlap
        elif dim == loop:
            words *= side[ON] * pitch
            again = 1.0
        else:
            window = side[FIRST] * pitch + overlap
            words *= window
            if side[FEWEST] > 1:
                new = min(window, (side[FEWEST] - 1.0) * side[FIRST] * pitch)
                again = max(again, new / window)
    return words * again


@subroutine
def output_words(outer, loop, sides, params):
    """Outputs and sums that leave L2 or come back as a loop advances with a set of others outside."""
    reduced, moves = params[DEPTHWISE] == 0, False
    # Without channels that are summed up nothing comes back.
    up, down = 1.0, 1.0 if reduced else 0.0
    for dim in range(4):
        side = sides[dim]
        if dim == C and reduced:
            if outside(outer, dim):
                up, down = up * side[FEWEST], down * (side[FEWEST] - 1.0)
            elif dim == loop:
                up, down = up * (side[FEWEST] - 1.0), down * (side[FEWEST] - 1.0)
            else:
                # Sums are complete: they leave, and others begin.
                down = 0.0
        elif outside(outer, dim):
            up, down = up * side[ALL], down * side[ALL]
        elif dim == loop:
            up, down, moves = up * side[ON], down * side[ON], True
        else:
            up, down = up * side[LAST], down * side[FIRST]
            moves = moves or side[FEWEST] > 1
    return up + down if moves else 0.0


@subroutine
def add_advances(outer, loop, sides, params, found):
    """Writes to `found` (2) how much longer the link takes than work as a loop advances, and the longer."""
    link = params[LINK_INPUT] * held_words(outer, loop, C, sides, params)
    link += params[LINK_WEIGHTS] * held_words(outer, loop, K, sides, params)
    link = (link + params[LINK_OUTPUT] * output_words(outer, loop, sides, params)) / params[OFFCHIP]
    a_step = params[FILTER] / params[LANES]
    least, most, fewest, steps = a_step, a_step, 1.0, 1.0
    for dim in range(4):
        side = sides[dim]
        if outside(outer, dim):
            least, most = least * side[DONE], most * side[DONE_MOST]
            fewest, steps = fewest * side[FEWEST], steps * side[MOST_STEPS]
        elif dim == loop:
            least, most = least * side[DONE_ON], most * side[DONE_ON_MOST]
            fewest, steps = fewest * (side[FEWEST] - 1.0), steps * (side[MOST_STEPS] - 1.0)
        else:
            least, most = least * side[DONE_LAST], most * side[DONE_LAST_MOST]
    found[0] = max(0.0, link - most - steps * params[LATENCY])
    found[1] = max(link, least + fewest * params[LATENCY])


@subroutine
def between_steps(box, choice, params, scratch):
    """Cycles from the first outer step's start to the last one's end, at least, in the best outer order."""
    sides, sums, found = scratch.sides, scratch.sums, scratch.pair
    set_sides(box, choice, params, sides)
    done = last = params[FILTER] / params[LANES]
    steps, moving = 1.0, 0
    for dim in range(4):
        done, last = done * sides[dim, DONE], last * sides[dim, DONE_LAST]
        steps *= sides[dim, FEWEST]
        moving |= int(sides[dim, MOST_STEPS] > 1) << dim
    for outer in range(16):
        sums[outer, 0] = sums[outer, 1] = np.inf if outer > 0 else 0.0
    for outer in range(16):
        if outer & moving != outer:
            continue
        for loop in range(4):
            if not outside(moving & ~outer, loop):
                continue
            add_advances(outer, loop, sides, params, found)
            both = outer | 1 << loop
            for column in range(2):
                sums[both, column] = min(sums[both, column], sums[outer, column] + found[column])
    waiting = done + (steps - 1.0) * params[LATENCY] + sums[moving, 0]
    return max(waiting, sums[moving, 1] + last) * (1.0 - 1e-12)
