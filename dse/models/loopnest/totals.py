"""What a mapping moves, needs and takes in all, from its dims (docs/loopnest.md, sections 4 to 7)."""

from __future__ import annotations

from dse.models.loopnest.extents import first_kind
from dse.models.loopnest.records import DIMS, LAST, Fill
from dse.models.loopnest.timing import cycles_of
from dse.models.loopnest.traffic import (
    INDICES,
    OUTPUTS,
    PES_ONLY,
    STEPS_ONLY,
    WINDOWS,
    C,
    K,
    Y,
    add_up,
    fill_of_steps,
    new_in_l2,
    new_words,
    real_windows,
    set_fill,
)
from dse.support.compiling import inlined, subroutine

INPUT, WEIGHT, OUTPUT = range(3)


@inlined
def is_spread(sums):
    """Whether several PEs have something of a dim in one step."""
    return sums[PES_ONLY].everything != sums[STEPS_ONLY].everything


@subroutine
def count_l1(work, layer):
    """Words between L2 and the PEs: up = N, down = N - outputs for sums (section 4)."""
    depthwise, everything, of = layer.depthwise == 1, layer.of.output, layer.of
    counts, dims, chosen = work.counts, work.dims, work.chosen
    for dim in range(DIMS):
        add_up(dims[dim], dim)
        if dim != C or depthwise:
            everything *= layer.sizes[dim]
    # L2 reads and writes once what several PEs have; each of them has its own delivery over the NoC.
    chosen[0], chosen[1], chosen[2], chosen[3] = STEPS_ONLY, INDICES, WINDOWS, WINDOWS
    counts.l2_input = counts.pe_input = of.input * new_words(work)
    if is_spread(dims[K].sums):
        chosen[0] = PES_ONLY
        counts.pe_input = of.input * new_words(work)
    chosen[0], chosen[1], chosen[2], chosen[3] = INDICES, INDICES, STEPS_ONLY, STEPS_ONLY
    counts.l2_weight = counts.pe_weight = of.weights * new_words(work)
    if is_spread(dims[2].sums) or is_spread(dims[3].sums):
        chosen[2] = chosen[3] = PES_ONLY
        counts.pe_weight = of.weights * new_words(work)
    chosen[0], chosen[1], chosen[2], chosen[3] = OUTPUTS, OUTPUTS, OUTPUTS, OUTPUTS
    if not depthwise:
        chosen[1] = STEPS_ONLY
    counts.l2_output_up = counts.pe_output_up = of.output * new_words(work)
    counts.l2_output_down = counts.l2_output_up - everything
    if not depthwise and is_spread(dims[C].sums):
        chosen[1] = PES_ONLY
        counts.pe_output_up = of.output * new_words(work)


@subroutine
def count_dram(work, layer):
    """Words between DRAM and L2, clipped to the rows that are real (section 4)."""
    depthwise, everything, link = layer.depthwise == 1, layer.link.output, layer.link
    for dim in range(DIMS):
        one, size, fills = work.dims[dim], layer.sizes[dim], work.fills
        # A dim with one outer step goes back to what is there; others go through all that there is.
        whole = Fill(size, 0, size if one.steps == 1 else 0)
        # K is no dim of inputs, rows and columns none of weights, summed channels none of outputs.
        of_inputs = fill_of_steps(one.steps) if dim == K else whole
        if dim >= Y:
            rows, stay, back = real_windows(one, layer.first_real[dim - Y], layer.end_real[dim - Y])
            of_inputs = Fill(rows, stay, back)
        set_fill(fills[INPUT, dim], of_inputs)
        set_fill(fills[WEIGHT, dim], fill_of_steps(one.steps) if dim >= Y else whole)
        summed = dim == C and not depthwise
        set_fill(fills[OUTPUT, dim], fill_of_steps(one.steps) if summed else whole)
        if not summed:
            everything *= size
    counts, order = work.counts, work.orders[0]
    counts.dram_input = link.input * new_in_l2(work.fills[INPUT], order)
    counts.dram_weight = link.weights * new_in_l2(work.fills[WEIGHT], order)
    counts.dram_output_up = link.output * new_in_l2(work.fills[OUTPUT], order)
    counts.dram_output_down = counts.dram_output_up - everything


@inlined
def first_need(work, layer, in_l2):
    """What the first step needs, which is the largest: of the first PE, or in L2 (sections 3 and 7)."""
    of = layer.link if in_l2 else layer.of
    inputs, weights, outputs = of.input, of.weights, of.output
    for dim in range(DIMS):
        one = work.dims[dim]
        indices = one.span if in_l2 else one.piece
        if dim != K:
            inputs *= indices * one.pitch + one.overlap
        if dim <= C:
            weights *= indices
        if dim != C or layer.depthwise == 1:
            outputs *= indices
    return inputs, weights, outputs


@subroutine
def begin_and_end(work, problem):
    """Cycles before the first step and after the last one, fill and drain of section 5, and section 7."""
    layer, machine, counts = problem.layer, problem.machine, work.counts
    inputs, weights, outputs = first_need(work, layer, False)
    counts.l1_need = 2 * (inputs + weights + outputs)
    inputs, weights, outputs = first_need(work, layer, True)
    counts.l2_need = 2 * (inputs + weights + outputs)
    counts.filling = machine.latency + cycles_of(inputs + weights, machine.offchip)
    inputs, weights = layer.of.input, layer.of.weights
    sent, written = layer.of.output, layer.link.output
    for dim in range(DIMS):
        one = work.dims[dim]
        begin = one.kinds[first_kind(one)]
        if dim != K:
            inputs *= begin.window
        if dim <= C:
            weights *= begin.needed
        if dim != C or layer.depthwise == 1:
            sent *= one.kinds[LAST].left
            written *= one.last_span
    counts.filling += cycles_of(inputs + weights, machine.noc)
    counts.drain = machine.latency + cycles_of(sent, machine.noc) + cycles_of(written, machine.offchip)


@inlined
def accesses_pj(per, macs, to_pes, at_l2, at_dram):
    """Energy of so many MACs and words (section 6); `per` has the energies of an access."""
    return (
        macs * per.mac_pj
        + (per.l1_a_mac * macs + to_pes) * per.l1_pj
        + to_pes * per.noc_pj
        + (at_l2 + at_dram) * per.l2_pj
        + at_dram * per.dram_pj
    )


@inlined
def energy_pj(counts, energies):
    """Energy of all accesses (section 6)."""
    delivered = counts.pe_input + counts.pe_weight + counts.pe_output_up + counts.l2_output_down
    l2 = counts.l2_input + counts.l2_weight + counts.l2_output_up + counts.l2_output_down
    dram = counts.dram_input + counts.dram_weight + counts.dram_output_up + counts.dram_output_down
    return accesses_pj(energies, energies.macs, delivered, l2, dram)
