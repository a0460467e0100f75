"""The bound of a box of mappings: of one cluster size and the same parallel dims, tiles in intervals."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.dominance import trim
from dse.models.loopnest.bound.fitting import HIGH, LOW, cut_off
from dse.models.loopnest.bound.inner import AT_L2, CASES, TO_PES, bound_inner
from dse.models.loopnest.bound.interval import (
    CAN_MOVE,
    FIRST,
    FIRST_WINDOW,
    LAST_SERIAL,
    LAST_SPAN,
    OUTER_STEPS,
    SERIAL,
    SPAN,
    measure_box,
)
from dse.models.loopnest.bound.outer import bound_outer
from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    LATENCY,
    LAYER_MACS,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OFFCHIP,
    OVERLAPS,
    PES,
    PITCHES,
)
from dse.models.loopnest.totals import accesses_pj
from dse.support.compiling import inlined, subroutine
from dse.support.numerics.losses import loss_value

K, C, Y, X = range(4)
LEAST_CYCLES, LINK_CYCLES, ENDS, STEADY_CYCLES, AT_LAST = 2, 3, 4, 5, 6

value_of = inlined(loss_value)


@subroutine
def loss_of(known, cycles, to_pes, at_l2, at_dram):
    """The loss, by the model's own operations in their order."""
    energy = accesses_pj(known.energies, float(known.params[LAYER_MACS]), to_pes, at_l2, at_dram) * 1e-3
    return value_of(known.terms, (cycles / known.energies.hertz, energy))


@subroutine
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    return (amount + rate - 1) // rate


@inlined
def window_of(indices, dim, params):
    """Input rows or columns of so many outputs; channels as they are."""
    return indices * params[PITCHES + dim - Y] + params[OVERLAPS + dim - Y] if dim >= Y else indices


@subroutine
def boxes_of(dims, params, column):
    """What inputs, weights and outputs of so many indices of each dim take of L2 and its link."""
    inputs, weights, outputs = params[LINK_INPUT], params[LINK_WEIGHTS], params[LINK_OUTPUT]
    for dim in range(4):
        indices = dims[dim, column]
        if dim != K:
            inputs *= window_of(indices, dim, params)
        if dim <= C:
            weights *= indices
        if dim != C or params[DEPTHWISE] == 1:
            outputs *= indices
    return inputs, weights, outputs


@subroutine
def measure(box, choice, params, scratch):
    """Measures all dims of a box; `choice` has the cluster size and the parallel dims."""
    cluster, outer, inner = choice[0], choice[1], choice[2]
    clusters = params[PES] // cluster
    for dim in range(4):
        across, places = clusters if dim == outer else 1, cluster if dim == inner else 1
        measure_box(box, dim, across, places, params, scratch)


@subroutine
def fits(box, choice, starts, known, scratch):
    """Cuts off what fits in no buffer, and what is dominated; False if nothing is left.

    `starts` (4) are where tables of undominated pairs begin, or -1.
    """
    # Of a mapping and the one with rows and columns in each other's place, one is enough.
    if known.alike and box[Y, LOW] > box[X, HIGH]:
        return False
    if not cut_off(box, choice, known, scratch.cases[CASES]):
        return False
    left = True
    for dim in range(4):
        left = left and (starts[dim] < 0 or trim(box, dim, starts[dim], known))
    return left


@subroutine
def link_words(box, known, scratch):
    """The fewest words of DRAM and of its link: boxes that come one after the other often have the same."""
    last, same = scratch.outer, True
    for dim in range(4):
        same &= last[2 * dim] == box[dim, LOW] and last[2 * dim + 1] == box[dim, HIGH]
    if not same:
        last[8], last[9] = bound_outer(known, scratch)
        for dim in range(4):
            last[2 * dim], last[2 * dim + 1] = box[dim, LOW], box[dim, HIGH]
    return last[8], last[9]


@subroutine
def first_and_last(params, dims):
    """Cycles of the NoC before the first step and after the last one, and, with these left out, those of the
    last outer step: what it needs comes in it, but for its first inner step, and its outputs leave.

    The very last inner step computes when all has come: a dim's whole extent, where it has but one step.
    """
    inputs, weights = params[OF_INPUT], params[OF_WEIGHTS]
    final, sent = params[FILTER], params[OF_OUTPUT]
    last_inputs, last_weights, last_outputs = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    for dim in range(4):
        if dim != C or params[DEPTHWISE] == 1:
            last_outputs *= dims[dim, LAST_SPAN]
            # The last inner step has all of a dim that has but one, and an index of others.
            if dims[dim, CAN_MOVE] == 0:
                sent *= dims[dim, LAST_SPAN]
        if dims[dim, CAN_MOVE] == 0:
            final *= dims[dim, LAST_SERIAL]
        if dim != K:
            inputs *= dims[dim, FIRST_WINDOW] if dim >= Y else dims[dim, FIRST]
            last_inputs *= window_of(dims[dim, LAST_SPAN], dim, params)
        if dim <= C:
            weights *= dims[dim, FIRST]
            last_weights *= dims[dim, LAST_SPAN]
    noc, words = params[NOC], last_inputs + last_weights + last_outputs
    ends = cycles_of(inputs + weights, noc) + cycles_of(sent, noc)
    return ends, cycles_of(words, noc) + cycles_of(final, params[LANES])


@subroutine
def bound_box(box, choice, starts, known, scratch):
    """A loss that no feasible mapping of the box is below; inf if none fits, or if too many PEs idle.

    Cycles (docs, section 5) are no fewer than fill and drain with the longer of work, NoC and DRAM link
    between; energy (section 6) is that of the fewest words of any order. Each figure is taken from the tiles
    of the box that have least of it, so nothing in the box is below.
    """
    if not fits(box, choice, starts, known, scratch):
        return np.inf
    params, dims, cases = known.params, scratch.dims, scratch.cases
    measure(box, choice, params, scratch)
    inputs, weights, _ = boxes_of(dims, params, SPAN)
    dram, link = link_words(box, known, scratch)
    written, work, steps, last = params[LINK_OUTPUT], params[FILTER], 1, params[FILTER]
    for dim in range(4):
        if dim != C or params[DEPTHWISE] == 1:
            written *= dims[dim, LAST_SPAN]
        work *= dims[dim, SERIAL]
        steps *= dims[dim, OUTER_STEPS]
        last *= dims[dim, LAST_SERIAL]
    if work > known.most_work:
        return np.inf
    ends, at_last = first_and_last(params, dims)
    offchip, latency = params[OFFCHIP], params[LATENCY]
    link_ends = cycles_of(inputs + weights, offchip) + cycles_of(written, offchip)
    waits = (steps - 1) * latency
    busy = ends + cycles_of(work, params[LANES])
    linked = cycles_of(link, offchip) + max(at_last, ends + cycles_of(last, params[LANES]))
    least, of_all = np.inf, cases[CASES]
    for column in range(3):
        of_all[column] = 2**62
    of_all[STEADY_CYCLES], of_all[AT_LAST] = 0, at_last
    of_all[LINK_CYCLES], of_all[ENDS] = 2 * latency + link_ends + waits, ends
    for case in range(bound_inner(params, scratch)):
        to_pes, at_l2 = cases[case, TO_PES], cases[case, AT_L2]
        cycles = 2 * latency + max(linked, link_ends + waits + max(busy, cycles_of(at_l2, params[NOC])))
        least = min(least, loss_of(known, cycles, to_pes, at_l2, dram))
        of_all[TO_PES], of_all[AT_L2] = min(of_all[TO_PES], to_pes), min(of_all[AT_L2], at_l2)
        of_all[LEAST_CYCLES] = min(of_all[LEAST_CYCLES], cycles)
    return least
