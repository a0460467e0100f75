"""A tighter bound of a small box: each inner order by its own words, from the least parts of every dim."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.box import (
    AT_LAST,
    ENDS,
    LEAST_CYCLES,
    LINK_CYCLES,
    STEADY_CYCLES,
    cycles_of,
    loss_of,
)
from dse.models.loopnest.bound.inner import AT_L2, CASES, TO_PES, least_words
from dse.models.loopnest.bound.interval import CAN_MOVE, OUTER_STEPS
from dse.models.loopnest.bound.links import (
    link_decided,
    steady_cycles,
)
from dse.models.loopnest.bound.parts import (
    FLOWS,
    L2_IN,
    L2_UP,
    L2_W,
    PE_IN,
    PE_UP,
    PE_W,
    WALKED,
    inner_words,
    outer_words,
    recall,
    small,
)
from dse.models.loopnest.bound.transitions import between_steps
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
from dse.support.compiling import subroutine

C = 1


@subroutine
def bound_further(box, choice, starts, to_beat, known, scratch):
    """A loss that no mapping is below of a box that `bound_box` has just seen; no more than is `to_beat`.

    The cycles are those of `links` where the outer steps are decided, and of `transitions` elsewhere; a small
    box has its words by order. The row of `cases` of all orders is made to hold what this knows.
    """
    params, dims, of_all = known.params, scratch.dims, scratch.cases[CASES]
    further = 0.0
    if known.timed:
        steps = 1
        for dim in range(4):
            steps *= dims[dim, OUTER_STEPS]
        cycles = of_all[LINK_CYCLES] - (steps - 1) * params[LATENCY]
        if link_decided(box, choice, params):
            steady, last = steady_cycles(box, choice, known, scratch)
            of_all[STEADY_CYCLES] = steady
            cycles += steady - last + max(of_all[AT_LAST], of_all[ENDS] + last)
        else:
            cycles += of_all[ENDS] + int(np.ceil(between_steps(box, choice, params, scratch)))
        of_all[LEAST_CYCLES] = max(of_all[LEAST_CYCLES], cycles)
        further = loss_of(known, of_all[LEAST_CYCLES], of_all[TO_PES], of_all[AT_L2], scratch.outer[8])
    if further < to_beat and small(box, known.tiles):
        further = max(further, bound_small(box, choice, starts, known, scratch))
    return further


@subroutine
def bound_small(box, choice, starts, known, scratch):
    """A loss that no mapping of a small box is below; `bound_box` has just seen it.

    Each inner order has its own words: products of parts, the least of which all pairs of tiles have (see
    `parts`), so none has fewer. The row of `cases` that is of all orders is made to hold what this knows.
    """
    params, dims, of_all, parts = known.params, scratch.dims, scratch.cases[CASES], scratch.parts
    recall(box, choice, starts, known, parts)
    outer_moves = inner_moves = 0
    work, outputs = float(params[FILTER]), params[OF_OUTPUT]
    for dim in range(4):
        outer_moves |= int(dims[dim, OUTER_STEPS] > 1) << dim
        inner_moves |= int(dims[dim, CAN_MOVE] > 0) << dim
        work *= parts.rows[dim, parts.places[dim], WALKED]
        if dim != C or params[DEPTHWISE] == 1:
            outputs *= params[SIZES + dim]
    outer, inner = known.orders[0, outer_moves], known.orders[1, inner_moves]
    for flow in range(FLOWS):
        parts.added[flow] = np.inf
        for number in range(outer[0]):
            order = known.order_table[outer[1 + number]]
            parts.added[flow] = min(parts.added[flow], outer_words(parts, parts.kinds[flow], order))
    least = np.inf
    least_pes = least_l2 = least_cycles = 2**62
    busy = of_all[ENDS] + cycles_of(least_words(work), params[LANES])
    for number in range(inner[0]):
        to_pes, at_l2 = words_of(parts, known.order_table[inner[1 + number]], params)
        to_pes = max(least_words(to_pes) - outputs, of_all[TO_PES])
        at_l2 = max(least_words(at_l2) - outputs, of_all[AT_L2])
        moved = of_all[LINK_CYCLES] + max(busy, cycles_of(at_l2, params[NOC]))
        cycles = max(of_all[LEAST_CYCLES], moved)
        least = min(least, loss_of(known, cycles, to_pes, at_l2, scratch.outer[8]))
        least_pes, least_l2 = min(least_pes, to_pes), min(least_l2, at_l2)
        least_cycles = min(least_cycles, cycles)
    of_all[TO_PES], of_all[AT_L2], of_all[LEAST_CYCLES] = least_pes, least_l2, least_cycles
    return least


@subroutine
def words_of(parts, order, params):
    """Words to and from PEs, and at L2, at least, of an inner order; first sums are counted as if read."""
    up = params[OF_OUTPUT] * flow_words(parts, L2_UP, order)
    to_pes = params[OF_INPUT] * flow_words(parts, PE_IN, order)
    to_pes += params[OF_WEIGHTS] * flow_words(parts, PE_W, order)
    to_pes += params[OF_OUTPUT] * flow_words(parts, PE_UP, order) + up
    at_l2 = params[OF_INPUT] * flow_words(parts, L2_IN, order)
    at_l2 += params[OF_WEIGHTS] * flow_words(parts, L2_W, order) + 2 * up
    return to_pes, at_l2


@subroutine
def flow_words(parts, flow, order):
    """Words of a flow, at least: those that outer steps add, and those of inner ones."""
    return parts.added[flow] + inner_words(parts, parts.kinds[flow], order)
