"""The bound of a box of mappings: of one cluster size and the same parallel dims, tiles in intervals."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.bound.dominance import drop_dominated
from dse.models.loopnest.bound.fitting import C, K, X, Y, cut_off
from dse.models.loopnest.bound.inner import CASES, bound_inner
from dse.models.loopnest.bound.interval import measure_dim
from dse.models.loopnest.bound.outer import bound_outer
from dse.models.loopnest.totals import accesses_pj
from dse.support.compiling import inlined, subroutine
from dse.support.numerics.losses import loss_value

value_of = inlined(loss_value)


@subroutine
def loss_of(known, cycles, to_pes, at_l2, at_dram):
    """The loss, by the model's own operations in their order: where figures are a mapping's, so is the loss,
    to the last bit."""
    energy = accesses_pj(known.energies, float(known.problem.layer.macs), to_pes, at_l2, at_dram) * 1e-3
    return value_of(known.terms, (cycles / known.energies.hertz, energy))


@subroutine
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    return (amount + rate - 1) // rate


@inlined
def window_of(indices, dim, layer):
    """Input rows or columns of so many outputs; channels as they are."""
    return indices * layer.pitches[dim - Y] + layer.overlaps[dim - Y] if dim >= Y else indices


@subroutine
def filled_at_first(dims, layer):
    """What the link brings before the first outer step, at least: its inputs and weights."""
    inputs, weights = layer.link.input, layer.link.weights
    for dim in range(4):
        if dim != K:
            inputs *= window_of(dims[dim].span, dim, layer)
        if dim <= C:
            weights *= dims[dim].span
    return inputs + weights


@subroutine
def measure_box(box, choice, problem, dims):
    """Measures all dims of a box; `choice` has the cluster size and the parallel dims."""
    cluster, outer, inner = choice[0], choice[1], choice[2]
    clusters = problem.machine.pes // cluster
    for dim in range(4):
        across, places = clusters if dim == outer else 1, cluster if dim == inner else 1
        measure_dim(box[dim], dim, across, places, problem.layer, dims[dim])


@subroutine
def cut_to_fit(box, choice, starts, known, scratch):
    """Cuts off what fits in no buffer, and what is dominated; False if nothing is left.

    `starts` (4) are where tables of undominated pairs begin, or -1.
    """
    # Of a mapping and the one with rows and columns in each other's place, one is enough.
    if known.alike and box[Y].low > box[X].high:
        return False
    if not cut_off(box, choice, known, scratch.others):
        return False
    left = True
    for dim in range(4):
        left = left and (starts[dim] < 0 or drop_dominated(box, dim, starts[dim], known))
    return left


@subroutine
def link_words(box, known, scratch):
    """The fewest words of DRAM and of its link: boxes that come one after the other often have the same."""
    linked, same = scratch.linked[0], True
    for dim in range(4):
        same &= linked.lows[dim] == box[dim].low and linked.highs[dim] == box[dim].high
    if not same:
        linked.dram, linked.link = bound_outer(known, scratch)
        for dim in range(4):
            linked.lows[dim], linked.highs[dim] = box[dim].low, box[dim].high
    return linked.dram, linked.link


@subroutine
def first_and_last(problem, dims):
    """Cycles of the NoC before the first step and after the last one (fill and drain of section 5); and the
    fewest of these and the last outer step together.

    Each word that the last outer step needs has come in it, but for those of its first inner step: they count
    as if they came in fill, whose step is the largest. Its outputs leave in it or in drain. The very last
    inner step computes when all has come: a dim's whole extent, where it has but one step.
    """
    layer, noc = problem.layer, problem.machine.noc
    inputs, weights = layer.of.input, layer.of.weights
    final, sent = layer.taps, layer.of.output
    last_inputs, last_weights, last_outputs = layer.of.input, layer.of.weights, layer.of.output
    for dim in range(4):
        one = dims[dim]
        if dim != C or layer.depthwise == 1:
            last_outputs *= one.last_span
            # The last inner step has all of a dim that has but one, and an index of others.
            if one.can_move == 0:
                sent *= one.last_span
        if one.can_move == 0:
            final *= one.last_serial
        if dim != K:
            inputs *= one.first_window if dim >= Y else one.first
            last_inputs *= window_of(one.last_span, dim, layer)
        if dim <= C:
            weights *= one.first
            last_weights *= one.last_span
    words = last_inputs + last_weights + last_outputs
    ends = cycles_of(inputs + weights, noc) + cycles_of(sent, noc)
    return ends, cycles_of(words, noc) + cycles_of(final, problem.machine.lanes)


@subroutine
def bound_box(box, choice, starts, known, scratch):
    """A loss that no feasible mapping of the box is below; inf if none fits, or if too many PEs idle.

    Cycles (docs, section 5) are no fewer than fill and drain with the longer of work, NoC and DRAM link
    between; energy (section 6) is that of the fewest words of any order. Each figure is taken from the tiles
    of the box that have least of it, so nothing in the box is below.
    """
    if not cut_to_fit(box, choice, starts, known, scratch):
        return np.inf
    problem, dims = known.problem, scratch.dims
    measure_box(box, choice, problem, dims)
    work = problem.layer.taps
    for dim in range(4):
        work *= dims[dim].serial
    if work > known.most_work:
        return np.inf
    return bound_cases(work, known, scratch, *link_words(box, known, scratch))


@subroutine
def bound_cases(work, known, scratch, dram, link):
    """The least loss over which loop is innermost, of a box that is measured, with its words of the link.

    `cycles` of section 5 are no fewer with the link's time alone for each outer step but the last, in which
    nothing crosses it; nor with the time inside of outer steps alone, which in all is no less than work, or
    than the NoC takes for all words.
    """
    layer, machine, dims, cases = known.problem.layer, known.problem.machine, scratch.dims, scratch.cases
    written, steps, last = layer.link.output, 1, layer.taps
    for dim in range(4):
        if dim != C or layer.depthwise == 1:
            written *= dims[dim].last_span
        steps *= dims[dim].outer_steps
        last *= dims[dim].last_serial
    ends, at_last = first_and_last(known.problem, dims)
    offchip, latency = machine.offchip, machine.latency
    link_ends = cycles_of(filled_at_first(dims, layer), offchip) + cycles_of(written, offchip)
    waits = (steps - 1) * latency
    # Fill and drain are beside all work; their words are among those at L2.
    busy = ends + cycles_of(work, machine.lanes)
    linked = cycles_of(link, offchip) + max(at_last, ends + cycles_of(last, machine.lanes))
    least, of_all = np.inf, cases[CASES]
    # What holds whichever loop is innermost, for bounds that go further (`small`).
    of_all.to_pes = of_all.at_l2 = of_all.cycles = 2**62
    of_all.link_cycles, of_all.ends, of_all.at_last = 2 * latency + link_ends + waits, ends, at_last
    for number in range(bound_inner(layer, dims, cases)):
        case = cases[number]
        inside = max(busy, cycles_of(case.at_l2, machine.noc))
        cycles = 2 * latency + max(linked, link_ends + waits + inside)
        least = min(least, loss_of(known, cycles, case.to_pes, case.at_l2, dram))
        of_all.to_pes, of_all.at_l2 = min(of_all.to_pes, case.to_pes), min(of_all.at_l2, case.at_l2)
        of_all.cycles = min(of_all.cycles, cycles)
    return least
