"""A tighter bound of a small box: each inner order by its own words, from the least parts of every dim."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.extents import MAX_RUNS, TABLE_COLUMNS
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
from dse.models.loopnest.proof.boxes.box import (
    AT_LAST,
    ENDS,
    LEAST_CYCLES,
    LINK_CYCLES,
    STEADY_CYCLES,
    cycles_of,
    loss_of,
)
from dse.models.loopnest.proof.boxes.dims import CAN_MOVE, OUTER_STEPS
from dse.models.loopnest.proof.boxes.inner import AT_L2, CASES, TO_PES, least_words
from dse.models.loopnest.proof.boxes.links import (
    link_decided,
    steady_cycles,
)
from dse.models.loopnest.proof.boxes.parts import (
    A_PE,
    A_STEP,
    KEY,
    MEMORY,
    OUT,
    OWN,
    ROW,
    WALKED,
    inner_words,
    outer_words,
    recall,
    small,
)
from dse.models.loopnest.proof.boxes.transitions import between_steps
from dse.models.loopnest.traffic import SUM_COLUMNS, SUM_KINDS
from dse.support.compiling import subroutine, subroutine_with_arrays

C, K, Y = 1, 0, 2
# A tensor and who it is counted for: L2 or the PEs.
L2_IN, PE_IN, L2_W, PE_W, L2_UP, PE_UP = range(6)
FLOWS = 6


@subroutine_with_arrays
def small_scratch(params):
    """The arrays that `bound_small` works in."""
    kinds = np.empty((FLOWS, 4), np.int64)
    for flow in range(FLOWS):
        shared = A_STEP if flow % 2 == 0 else A_PE
        for dim in range(4):
            kinds[flow, dim] = OUT if flow >= L2_UP else OWN
        if flow <= PE_IN:
            kinds[flow, K] = shared
        elif flow <= PE_W:
            kinds[flow, Y] = kinds[flow, Y + 1] = shared
        elif params[DEPTHWISE] == 0:
            kinds[flow, C] = shared
    return (
        np.full((4, MEMORY, KEY), -1, np.int64),
        np.empty((4, MEMORY, ROW)),
        np.empty(4, np.int64),
        np.empty((4, TABLE_COLUMNS), np.int64),
        np.empty((4, 2, MAX_RUNS, 4), np.int64),
        np.empty((4, SUM_KINDS, SUM_COLUMNS), np.int64),
        kinds,
        np.empty(FLOWS),
    )


@subroutine
def bound_further(
    box, choice, params, constants, terms, orders, order_table, dims, cases, dram, timed, to_beat, parts,
    links, counts, starts,
):  # fmt: skip
    """A loss that no mapping is below of a box that `bound_box` has just seen; no more than is `to_beat`.

    `timed` says whether cycles count. The row of `cases` of all orders is made to hold what this knows.
    """
    of_all, further = cases[CASES], 0.0
    if timed:
        steps = 1
        for dim in range(4):
            steps *= dims[dim, OUTER_STEPS]
        cycles = of_all[LINK_CYCLES] - (steps - 1) * params[LATENCY]
        if link_decided(box, choice, params):
            steady, last = steady_cycles(box, choice, params, orders[0], order_table, dims, links[0])
            of_all[STEADY_CYCLES] = steady
            cycles += steady - last + max(of_all[AT_LAST], of_all[ENDS] + last)
        else:
            cycles += of_all[ENDS] + int(np.ceil(between_steps(box, choice, params, links[1])))
        of_all[LEAST_CYCLES] = max(of_all[LEAST_CYCLES], cycles)
        further = loss_of(params, constants, terms, of_all[LEAST_CYCLES], of_all[TO_PES], of_all[AT_L2], dram)
    if further < to_beat and small(box):
        found = bound_small(
            box, choice, params, constants, terms, orders, order_table, dims, cases, dram, parts,
            counts, starts,
        )  # fmt: skip
        further = max(further, found)
    return further


@subroutine
def bound_small(
    box, choice, params, constants, terms, orders, order_table, dims, cases, dram, scratch, counts, starts
):
    """A loss that no mapping of a small box is below; `bound_box` has just seen it.

    The row of `cases` that is of all orders is made to hold what this knows, too.
    """
    keys, rows, places_of, tables, runs, sums, kinds, added = scratch
    recall(keys, rows, places_of, tables, runs, sums, params, box, choice, counts, starts)
    outer_moves = inner_moves = 0
    work, outputs = float(params[FILTER]), params[OF_OUTPUT]
    for dim in range(4):
        outer_moves |= int(dims[dim, OUTER_STEPS] > 1) << dim
        inner_moves |= int(dims[dim, CAN_MOVE] > 0) << dim
        work *= rows[dim, places_of[dim], WALKED]
        if dim != C or params[DEPTHWISE] == 1:
            outputs *= params[SIZES + dim]
    outer, inner = orders[0, outer_moves], orders[1, inner_moves]
    for flow in range(FLOWS):
        added[flow] = np.inf
        for number in range(outer[0]):
            order = order_table[outer[1 + number]]
            added[flow] = min(added[flow], outer_words(rows, places_of, kinds[flow], order))
    of_all = cases[CASES]
    least, noc = np.inf, params[NOC]
    least_pes = least_l2 = least_cycles = 2**62
    busy = of_all[ENDS] + cycles_of(least_words(work), params[LANES])
    for number in range(inner[0]):
        order = order_table[inner[1 + number]]
        l2_in = added[L2_IN] + inner_words(rows, places_of, kinds[L2_IN], order)
        pe_in = added[PE_IN] + inner_words(rows, places_of, kinds[PE_IN], order)
        l2_w = added[L2_W] + inner_words(rows, places_of, kinds[L2_W], order)
        pe_w = added[PE_W] + inner_words(rows, places_of, kinds[PE_W], order)
        l2_up = added[L2_UP] + inner_words(rows, places_of, kinds[L2_UP], order)
        pe_up = added[PE_UP] + inner_words(rows, places_of, kinds[PE_UP], order)
        of_input, of_weights, of_output = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
        up = of_output * l2_up
        to_pes = least_words(of_input * pe_in + of_weights * pe_w + of_output * pe_up + up) - outputs
        at_l2 = least_words(of_input * l2_in + of_weights * l2_w + 2 * up) - outputs
        to_pes, at_l2 = max(to_pes, of_all[TO_PES]), max(at_l2, of_all[AT_L2])
        cycles = max(of_all[LEAST_CYCLES], of_all[LINK_CYCLES] + max(busy, cycles_of(at_l2, noc)))
        least = min(least, loss_of(params, constants, terms, cycles, to_pes, at_l2, dram))
        least_pes, least_l2 = min(least_pes, to_pes), min(least_l2, at_l2)
        least_cycles = min(least_cycles, cycles)
    of_all[TO_PES], of_all[AT_L2], of_all[LEAST_CYCLES] = least_pes, least_l2, least_cycles
    return least
