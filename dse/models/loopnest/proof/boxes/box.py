"""The bound of a box of mappings: of one cluster size and the same parallel dims, tiles in intervals."""

from __future__ import annotations

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
    SIZES,
)
from dse.models.loopnest.proof.boxes.dims import (
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
from dse.models.loopnest.proof.boxes.dominance import trim
from dse.models.loopnest.proof.boxes.fitting import HIGH, LEAST, LOW, MOST, cut_off
from dse.models.loopnest.proof.boxes.inner import AT_L2, CASES, TO_PES, bound_inner
from dse.models.loopnest.proof.boxes.outer import bound_outer
from dse.support.compiling import inlined, subroutine
from dse.support.numerics.losses import loss_value

K, C, Y, X = range(4)
# Constants: energies of an access in pJ, the clock, and what a MAC takes of its L1.
MAC_PJ, L1_PJ, NOC_PJ, L2_PJ, DRAM_PJ, HERTZ, L1_A_MAC = range(7)
# The least of all cases, in the row after them: words as in a case; cycles; those of the DRAM link before the
# first and after the last outer step, and of latency; those of the NoC before and after all steps; those in
# between, where they are known; those of the NoC before all steps, in the last outer step and after it: what
# that one needs comes in it, but for its first inner step, which needs no more than the very first one; and
# its outputs leave.
LEAST_CYCLES, LINK_CYCLES, ENDS, STEADY_CYCLES, AT_LAST = 2, 3, 4, 5, 6
CASE_COLUMNS = 7
MOST_WORK = 4

value_of = inlined(loss_value)


@subroutine
def loss_of(params, constants, terms, cycles, to_pes, at_l2, at_dram):
    """The loss, by the model's own operations in their order."""
    macs = float(params[LAYER_MACS])
    energy = (
        macs * constants[MAC_PJ]
        + (constants[L1_A_MAC] * macs + to_pes) * constants[L1_PJ]
        + to_pes * constants[NOC_PJ]
        + (at_l2 + at_dram) * constants[L2_PJ]
        + at_dram * constants[DRAM_PJ]
    ) * 1e-3
    return value_of(terms, (cycles / constants[HERTZ], energy))


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
def measure(box, choice, params, dims, shares):
    """Measures all dims of a box; `choice` has the cluster size and the parallel dims."""
    cluster, outer, inner = choice[0], choice[1], choice[2]
    clusters = params[PES] // cluster
    for dim in range(4):
        pitch = params[PITCHES + dim - Y] if dim >= Y else 1
        overlap = params[OVERLAPS + dim - Y] if dim >= Y else 0
        measure_box(
            dims, shares, dim, params[SIZES + dim], box[dim, LOW], box[dim, HIGH], box[dim, LEAST],
            box[dim, MOST], clusters if dim == outer else 1, cluster if dim == inner else 1, pitch, overlap,
        )  # fmt: skip


@subroutine
def bound_box(
    box, choice, params, sizes, constants, terms, orders, order_table, dims, shares, fills, cases, known,
    counts, starts,
):  # fmt: skip
    """A loss that no feasible mapping of the box is below; inf if none fits, or if too many PEs idle.

    `sizes` are of L1 and L2, and last the most steps of the busiest PE.

    Tiles that do not fit are cut off the box, and dominated ones: `counts` holds tables of `dominance`, which
    begin at `starts` (4), or -1. `known` (10) has the outer tiles of the box that was bounded
    last, and its words of DRAM and its link.
    """
    if not cut_off(box, choice, params, sizes, cases[CASES]):
        return float("inf")
    for dim in range(4):
        if starts[dim] >= 0 and not trim(box, dim, counts, starts[dim], params[SIZES + dim] + 1):
            return float("inf")
    measure(box, choice, params, dims, shares)
    inputs, weights, _ = boxes_of(dims, params, SPAN)
    # Boxes that are bounded one after the other often differ in their inner tiles only.
    same = True
    for dim in range(4):
        same &= known[2 * dim] == box[dim, LOW] and known[2 * dim + 1] == box[dim, HIGH]
    if not same:
        known[8], known[9] = bound_outer(dims, params, orders, order_table, fills)
        for dim in range(4):
            known[2 * dim], known[2 * dim + 1] = box[dim, LOW], box[dim, HIGH]
    dram, link = known[8], known[9]
    written, work, steps, last = params[LINK_OUTPUT], params[FILTER], 1, params[FILTER]
    first_inputs, first_weights = params[OF_INPUT], params[OF_WEIGHTS]
    final, sent = params[FILTER], params[OF_OUTPUT]
    last_inputs, last_weights, last_outputs = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    for dim in range(4):
        if dim != C or params[DEPTHWISE] == 1:
            written *= dims[dim, LAST_SPAN]
            last_outputs *= dims[dim, LAST_SPAN]
            # The last inner step has all of a dim that has but one, and an index of others.
            if dims[dim, CAN_MOVE] == 0:
                sent *= dims[dim, LAST_SPAN]
        work *= dims[dim, SERIAL]
        steps *= dims[dim, OUTER_STEPS]
        last *= dims[dim, LAST_SERIAL]
        if dims[dim, CAN_MOVE] == 0:
            final *= dims[dim, LAST_SERIAL]
        if dim != K:
            first_inputs *= dims[dim, FIRST_WINDOW] if dim >= Y else dims[dim, FIRST]
            last_inputs *= window_of(dims[dim, LAST_SPAN], dim, params)
        if dim <= C:
            first_weights *= dims[dim, FIRST]
            last_weights *= dims[dim, LAST_SPAN]
    if work > sizes[MOST_WORK]:
        return float("inf")
    noc, offchip, latency = params[NOC], params[OFFCHIP], params[LATENCY]
    ends = cycles_of(first_inputs + first_weights, noc) + cycles_of(sent, noc)
    link_ends = cycles_of(inputs + weights, offchip) + cycles_of(written, offchip)
    waits = (steps - 1) * latency
    busy = ends + cycles_of(work, params[LANES])
    # The very last inner step computes when all has come: a dim's whole extent, where it has but one step.
    words = last_inputs + last_weights + last_outputs
    at_last = cycles_of(words, noc) + cycles_of(final, params[LANES])
    linked = cycles_of(link, offchip) + max(at_last, ends + cycles_of(last, params[LANES]))
    least, of_all = float("inf"), cases[CASES]
    for column in range(3):
        of_all[column] = 2**62
    of_all[STEADY_CYCLES], of_all[AT_LAST] = 0, at_last
    of_all[LINK_CYCLES], of_all[ENDS] = 2 * latency + link_ends + waits, ends
    for case in range(bound_inner(dims, shares, params, cases)):
        to_pes, at_l2 = cases[case, TO_PES], cases[case, AT_L2]
        cycles = 2 * latency + max(linked, link_ends + waits + max(busy, cycles_of(at_l2, noc)))
        least = min(least, loss_of(params, constants, terms, cycles, to_pes, at_l2, dram))
        of_all[TO_PES], of_all[AT_L2] = min(of_all[TO_PES], to_pes), min(of_all[AT_L2], at_l2)
        of_all[LEAST_CYCLES] = min(of_all[LEAST_CYCLES], cycles)
    return least
