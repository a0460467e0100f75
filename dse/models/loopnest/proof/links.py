"""The DRAM link alone: cycles and words of all outer steps, by order, if each does the same work.

It is what `time_outer` comes to where nothing moves over the NoC. Each dim's part in what a step needs of L2,
and in what stays there, follows from the shape; an order multiplies them.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    OFFCHIP,
)
from dse.models.loopnest.proof.dims import (
    CLUSTERS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    L2_BACK,
    LAST_CLUSTERS,
    LAST_SPAN,
    LINK_OUTPUTS,
    OUTER_STEPS,
    SPAN,
)
from dse.models.loopnest.proof.outer_level import real_inputs
from dse.models.loopnest.timing import cycles_of
from dse.models.loopnest.traffic import (
    C,
    K,
)
from dse.support.compiling import subroutine, subroutine_with_arrays

# What L2 needs and what stays there: of inputs, of weights; of outputs those that are begun, stay, leave.
IN, IN_KEPT, W, W_KEPT, OUT, STAY, LEFT = range(7)
PRODUCTS = 7
COUNT, FIRST = 7, 8
# What a dim does between two steps: it stays at any step or at its last one, goes back to its first one, or
# advances to any step or to its last one.
AT_ANY, AT_LAST, BACK, TO_ANY, TO_LAST = range(5)


@subroutine_with_arrays
def link_scratch():
    """The arrays that `set_links` and `time_link` work in."""
    parts, within = np.ones((DIMS, 5, PRODUCTS), np.int64), np.empty((DIMS + 2, PRODUCTS), np.int64)
    return parts, within, np.empty((2, FIRST + 1), np.int64)


@subroutine
def set_links(dims, params, parts):
    """Fills `parts` for the outer columns of `dims`."""
    for dim in range(DIMS):
        span, last, overlap = dims[dim, SPAN], dims[dim, LAST_SPAN], params[DIM_OVERLAPS + dim]
        window = span * params[DIM_PITCHES + dim] + overlap
        last_window = last * params[DIM_PITCHES + dim] + overlap
        set_part(parts[dim, AT_ANY], dim, params, window, window, span, span, span)
        set_part(parts[dim, AT_LAST], dim, params, last_window, last_window, last, last, last)
        set_part(parts[dim, BACK], dim, params, window, dims[dim, L2_BACK], span, 0, last)
        set_part(parts[dim, TO_ANY], dim, params, window, overlap, span, 0, span)
        set_part(parts[dim, TO_LAST], dim, params, last_window, overlap, last, 0, span)


@subroutine
def set_part(part, dim, params, window, kept, needed, stay, left):
    """Fills one row of `parts`; it keeps 1 where a tensor does not depend on the dim."""
    if dim != K:
        part[IN], part[IN_KEPT] = window, kept
    if dim <= C:
        part[W], part[W_KEPT] = needed, kept
    if dim != C or params[DEPTHWISE] == 1:
        part[OUT], part[STAY], part[LEFT] = needed, stay, left


@subroutine
def set_within(dims, order, parts, within):
    """Fills a row of `within` for each loop: those inside it go back. The row DIMS is of all."""
    base = within[DIMS]
    for column in range(PRODUCTS):
        base[column] = 1
    for dim in range(DIMS):
        if dims[dim, OUTER_STEPS] == 1:
            for column in range(PRODUCTS):
                base[column] *= parts[dim, AT_ANY, column]
    for place in range(DIMS - 1, -1, -1):
        dim = order[place]
        if dims[dim, OUTER_STEPS] > 1:
            for column in range(PRODUCTS):
                within[place, column] = base[column]
                base[column] *= parts[dim, BACK, column]


@subroutine
def time_link(dims, order, params, work, real, scratch):
    """Cycles of a mapping in outer loop order `order`, each outer step with `work` cycles, and words of DRAM.

    `real` is that of `time_outer`.
    """
    parts, within, around = scratch
    set_within(dims, order, parts, within)
    base, step, offchip = within[DIMS], within[DIMS + 1], params[OFFCHIP]
    link_input, link_output = params[LINK_INPUT], params[LINK_OUTPUT]
    dram, dram_up = params[LINK_WEIGHTS] * base[W], link_output * base[LEFT]
    total = 2 * params[LATENCY] + work
    total += cycles_of(link_input * base[IN] + dram, offchip) + cycles_of(dram_up, offchip)
    summed = params[DEPTHWISE] == 0 and dims[C, OUTER_STEPS] > 1
    least, states, outside_c = work + params[LATENCY], 1, False
    for column in range(FIRST + 1):
        around[0, column] = 1
    for place in range(DIMS):
        dim = order[place]
        steps = dims[dim, OUTER_STEPS]
        if steps == 1:
            continue
        uneven = dims[dim, CLUSTERS] != dims[dim, LAST_CLUSTERS]
        for variant in range(2):
            alike = (steps - 2 if uneven else steps - 1) if variant == 0 else int(uneven)
            if alike == 0:
                continue
            for column in range(PRODUCTS):
                step[column] = within[place, column] * parts[dim, TO_ANY + variant, column]
            for state in range(states):
                of = around[state]
                weights = params[LINK_WEIGHTS] * (of[W] * step[W] - of[W_KEPT] * step[W_KEPT])
                stay = of[STAY] * step[STAY]
                written = link_output * (of[LEFT] * step[LEFT] - stay)
                link = link_input * (of[IN] * step[IN] - of[IN_KEPT] * step[IN_KEPT]) + weights + written
                count = alike * of[COUNT]
                dram += count * weights
                dram_up += count * written
                # After so many no sums come back: all, or those that end before the first channels.
                first = count
                if summed and dim == C:
                    first = count * 0
                elif summed and outside_c:
                    first = alike * of[FIRST]
                if first > 0:
                    total += first * max(least, cycles_of(link, offchip))
                if count > first:
                    link += link_output * (of[OUT] * step[OUT] - stay)
                    total += (count - first) * max(least, cycles_of(link, offchip))
        states = spread(dims, dim, uneven, parts, around, states)
        outside_c |= dim == C
    words = real_inputs(dims, order, params, real) + dram + 2 * dram_up - params[LINK_OUTPUTS]
    return total, words


@subroutine
def spread(dims, dim, uneven, parts, around, states):
    """Takes a loop in among those outside, its last step apart if it is another; returns how many states."""
    steps = dims[dim, OUTER_STEPS]
    if uneven:
        for column in range(PRODUCTS):
            around[1, column] = around[0, column] * parts[dim, AT_LAST, column]
        around[1, COUNT], around[1, FIRST] = around[0, COUNT], around[0, FIRST] * int(dim != C)
        states, steps = 2, steps - 1
    # The second state is of the dim that has just been split, or all its dims are even.
    for state in range(1 if uneven else states):
        around[state, COUNT] *= steps
        around[state, FIRST] *= 1 if dim == C else steps
        for column in range(PRODUCTS):
            around[state, column] *= parts[dim, AT_ANY, column]
    return states
