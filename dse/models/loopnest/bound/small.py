"""A tighter bound of a small box: each inner order by its own words, from the least parts of every dim."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.box import cycles_of, loss_of
from dse.models.loopnest.bound.fitting import C
from dse.models.loopnest.bound.inner import CASES, least_words
from dse.models.loopnest.bound.links import link_decided, steady_cycles
from dse.models.loopnest.bound.parts import (
    FLOWS,
    L2_IN,
    L2_UP,
    L2_W,
    PE_IN,
    PE_UP,
    PE_W,
    find_parts,
    has_few_pairs,
    inner_words,
    outer_words,
)
from dse.models.loopnest.bound.transitions import between_steps
from dse.support.compiling import subroutine


@subroutine
def bound_further(box, choice, starts, to_beat, known, scratch):
    """A loss that no mapping is below of a box that `bound_box` has just seen; no more than is `to_beat`.

    The cycles are those of `links` where the outer steps are decided, and of `transitions` elsewhere; a small
    box has its words by order. The row of `cases` of all orders is made to hold what this knows.
    """
    problem, dims, of_all = known.problem, scratch.dims, scratch.cases[CASES]
    further = 0.0
    if known.timed:
        steps = 1
        for dim in range(4):
            steps *= dims[dim].outer_steps
        # The latency of each outer step is in what follows.
        cycles = of_all.link_cycles - (steps - 1) * problem.machine.latency
        if link_decided(box, choice, problem):
            steady, last = steady_cycles(box, choice, known, scratch)
            cycles += steady - last + max(of_all.at_last, of_all.ends + last)
        else:
            cycles += of_all.ends + int(np.ceil(between_steps(box, choice, problem, scratch)))
        of_all.cycles = max(of_all.cycles, cycles)
        further = loss_of(known, of_all.cycles, of_all.to_pes, of_all.at_l2, scratch.linked[0].dram)
    if further < to_beat and has_few_pairs(box, known.tiles):
        further = max(further, bound_small(box, choice, starts, known, scratch))
    return further


@subroutine
def bound_small(box, choice, starts, known, scratch):
    """A loss that no mapping of a small box is below; `bound_box` has just seen it.

    Each inner order has its own words: products of parts, the least of which all pairs of tiles have (see
    `parts`), so none has fewer. The row of `cases` that is of all orders is made to hold what this knows.
    """
    dims, of_all, parts = scratch.dims, scratch.cases[CASES], scratch.parts
    layer, machine = known.problem.layer, known.problem.machine
    find_parts(box, choice, starts, known, parts)
    outer_moves = inner_moves = 0
    work, outputs = float(layer.taps), layer.of.output
    for dim in range(4):
        outer_moves |= int(dims[dim].outer_steps > 1) << dim
        inner_moves |= int(dims[dim].can_move > 0) << dim
        # What the first PE does in all steps is a product over dims, too.
        work *= parts.remembered[dim, parts.places[dim]].walked
        if dim != C or layer.depthwise == 1:
            outputs *= layer.sizes[dim]
    outer, inner = known.orders[0, outer_moves], known.orders[1, inner_moves]
    # The outer order that adds least need not be the same for all tensors: each has its own.
    for flow in range(FLOWS):
        parts.added[flow] = np.inf
        for number in range(outer[0]):
            order = known.order_table[outer[1 + number]]
            parts.added[flow] = min(parts.added[flow], outer_words(parts, parts.kinds[flow], order))
    least = np.inf
    least_pes = least_l2 = least_cycles = 2**62
    busy = of_all.ends + cycles_of(least_words(work), machine.lanes)
    for number in range(inner[0]):
        to_pes, at_l2 = words_of(parts, known.order_table[inner[1 + number]], layer.of)
        to_pes = max(least_words(to_pes) - outputs, of_all.to_pes)
        at_l2 = max(least_words(at_l2) - outputs, of_all.at_l2)
        moved = of_all.link_cycles + max(busy, cycles_of(at_l2, machine.noc))
        cycles = max(of_all.cycles, moved)
        least = min(least, loss_of(known, cycles, to_pes, at_l2, scratch.linked[0].dram))
        least_pes, least_l2 = min(least_pes, to_pes), min(least_l2, at_l2)
        least_cycles = min(least_cycles, cycles)
    of_all.to_pes, of_all.at_l2, of_all.cycles = least_pes, least_l2, least_cycles
    return least


@subroutine
def words_of(parts, order, of):
    """Words to and from PEs, and at L2, at least, of an inner order; first sums are counted as if read."""
    words = parts.words
    for flow in range(FLOWS):
        words[flow] = parts.added[flow] + inner_words(parts, parts.kinds[flow], order)
    up = of.output * words[L2_UP]
    to_pes = of.input * words[PE_IN]
    to_pes += of.weights * words[PE_W]
    to_pes += of.output * words[PE_UP] + up
    at_l2 = of.input * words[L2_IN]
    at_l2 += of.weights * words[L2_W] + 2 * up
    return to_pes, at_l2
