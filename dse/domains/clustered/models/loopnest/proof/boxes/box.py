"""The bound of a box of mappings: of one cluster size and the same parallel dims, tiles in intervals."""

from __future__ import annotations

from numba import njit

from dse.domains.clustered.models.loopnest.facts import (
    DEPTHWISE,
    FILTER,
    LANES,
    LATENCY,
    LAYER_MACS,
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
from dse.domains.clustered.models.loopnest.proof.boxes.dims import (
    FIRST,
    FIRST_WINDOW,
    LAST_SPAN,
    OUTER_STEPS,
    SERIAL,
    SPAN,
    measure_box,
)
from dse.domains.clustered.models.loopnest.proof.boxes.fitting import HIGH, LEAST, LOW, MOST, cut_off
from dse.domains.clustered.models.loopnest.proof.boxes.inner import AT_L2, CASES, TO_PES, bound_inner
from dse.domains.clustered.models.loopnest.proof.boxes.outer import bound_outer
from dse.support.jit import INLINED, LEAN
from dse.support.numerics.losses import loss_value

K, C, Y, X = range(4)
# Constants: energies of an access in pJ, the clock, and what a MAC takes of its L1.
MAC_PJ, L1_PJ, NOC_PJ, L2_PJ, DRAM_PJ, HERTZ, L1_A_MAC = range(7)
# The least of all cases, in the row after them: words as in a case; cycles; those of the DRAM link before the
# first and after the last outer step, and of latency; those of the NoC before and after all steps.
LEAST_CYCLES, LINK_CYCLES, ENDS = 2, 3, 4
CASE_COLUMNS = 5

value_of = njit(**INLINED)(loss_value)


@njit(**LEAN)
def loss_of(facts, constants, terms, cycles, to_pes, at_l2, at_dram):
    """The loss, by the model's own operations in their order."""
    macs = float(facts[LAYER_MACS])
    energy = (
        macs * constants[MAC_PJ]
        + (constants[L1_A_MAC] * macs + to_pes) * constants[L1_PJ]
        + to_pes * constants[NOC_PJ]
        + (at_l2 + at_dram) * constants[L2_PJ]
        + at_dram * constants[DRAM_PJ]
    ) * 1e-3
    return value_of(terms, (cycles / constants[HERTZ], energy))


@njit(**LEAN)
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    return (amount + rate - 1) // rate


@njit(**LEAN)
def boxes_of(dims, facts, column):
    """What inputs, weights and outputs of so many indices of each dim take."""
    inputs, weights, outputs = facts[OF_INPUT], facts[OF_WEIGHTS], facts[OF_OUTPUT]
    for dim in range(4):
        indices = dims[dim, column]
        if dim >= Y:
            inputs *= indices * facts[PITCHES + dim - Y] + facts[OVERLAPS + dim - Y]
        elif dim == C:
            inputs *= indices
        if dim <= C:
            weights *= indices
        if dim != C or facts[DEPTHWISE] == 1:
            outputs *= indices
    return inputs, weights, outputs


@njit(**LEAN)
def measure(box, choice, facts, dims, shares):
    """Measures all dims of a box; `choice` has the cluster size and the parallel dims."""
    cluster, outer, inner = choice[0], choice[1], choice[2]
    clusters = facts[PES] // cluster
    for dim in range(4):
        pitch = facts[PITCHES + dim - Y] if dim >= Y else 1
        overlap = facts[OVERLAPS + dim - Y] if dim >= Y else 0
        measure_box(
            dims, shares, dim, facts[SIZES + dim], box[dim, LOW], box[dim, HIGH], box[dim, LEAST],
            box[dim, MOST], clusters if dim == outer else 1, cluster if dim == inner else 1, pitch, overlap,
        )  # fmt: skip


@njit(**LEAN)
def bound_box(
    box, choice, facts, sizes, constants, terms, orders, order_table, dims, shares, fills, cases, known
):
    """A loss that no feasible mapping of the box is below; inf if none fits. `sizes` are of L1 and L2.

    Tiles that do not fit are cut off the box. `known` (10) has the outer tiles of the box that was bounded
    last, and its words of DRAM and its link.
    """
    if not cut_off(box, choice, facts, sizes, cases[CASES]):
        return float("inf")
    measure(box, choice, facts, dims, shares)
    inputs, weights, _ = boxes_of(dims, facts, SPAN)
    # Boxes that are bounded one after the other often differ in their inner tiles only.
    same = True
    for dim in range(4):
        same &= known[2 * dim] == box[dim, LOW] and known[2 * dim + 1] == box[dim, HIGH]
    if not same:
        known[8], known[9] = bound_outer(dims, facts, orders, order_table, fills)
        for dim in range(4):
            known[2 * dim], known[2 * dim + 1] = box[dim, LOW], box[dim, HIGH]
    dram, link = known[8], known[9]
    written, work, steps, last = facts[OF_OUTPUT], facts[FILTER], 1, facts[FILTER]
    first_inputs, first_weights = facts[OF_INPUT], facts[OF_WEIGHTS]
    for dim in range(4):
        if dim != C or facts[DEPTHWISE] == 1:
            written *= dims[dim, LAST_SPAN]
        work *= dims[dim, SERIAL]
        steps *= dims[dim, OUTER_STEPS]
        if dim != K:
            first_inputs *= dims[dim, FIRST_WINDOW] if dim >= Y else dims[dim, FIRST]
        if dim <= C:
            first_weights *= dims[dim, FIRST]
    noc, offchip, latency = facts[NOC], facts[OFFCHIP], facts[LATENCY]
    ends = cycles_of(first_inputs + first_weights, noc) + 1
    link_ends = cycles_of(inputs + weights, offchip) + cycles_of(written, offchip)
    waits = (steps - 1) * latency
    busy = ends + cycles_of(work, facts[LANES])
    linked = cycles_of(link, offchip) + ends + cycles_of(last, facts[LANES])
    least, of_all = float("inf"), cases[CASES]
    for column in range(3):
        of_all[column] = 2**62
    of_all[LINK_CYCLES], of_all[ENDS] = 2 * latency + link_ends + waits, ends
    for case in range(bound_inner(dims, shares, facts, cases)):
        to_pes, at_l2 = cases[case, TO_PES], cases[case, AT_L2]
        cycles = 2 * latency + max(linked, link_ends + waits + max(busy, cycles_of(at_l2, noc)))
        least = min(least, loss_of(facts, constants, terms, cycles, to_pes, at_l2, dram))
        of_all[TO_PES], of_all[AT_L2] = min(of_all[TO_PES], to_pes), min(of_all[AT_L2], at_l2)
        of_all[LEAST_CYCLES] = min(of_all[LEAST_CYCLES], cycles)
    return least
