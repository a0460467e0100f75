"""What a mapping moves, needs and takes in all, from its measured dims."""

from __future__ import annotations

from dse.models.loopnest.extents import (
    KIND_COLUMNS,
    LAST,
    LAST_SPAN,
    LEFT,
    NEEDED,
    OUTER_STEPS,
    OVERLAP,
    PIECE,
    PITCH,
    SPAN,
    WINDOW,
    first_kind,
)
from dse.models.loopnest.params import (
    DEPTHWISE,
    DRAM_PJ,
    END_REAL,
    FIRST_REAL,
    L1_A_MAC,
    L1_PJ,
    L2_PJ,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    MAC_PJ,
    MACS,
    NOC,
    NOC_PJ,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OFFCHIP,
    SIZES,
)
from dse.models.loopnest.timing import (
    cycles_of,
)
from dse.models.loopnest.traffic import (
    ALL,
    INDICES,
    OUTPUTS,
    PES_ONLY,
    STEPS_ONLY,
    WINDOWS,
    C,
    K,
    Y,
    add_up,
    new_in_l2,
    new_words,
    real_windows,
    set_fill,
)
from dse.support.compiling import inlined, subroutine

# Counts of a row, in the order of COUNTS.
CYCLES, COMPUTE, FILL, DRAIN, DRAM_WAIT = range(5)
DRAM_INPUT, DRAM_WEIGHT, DRAM_UP, DRAM_DOWN, L2_INPUT, L2_WEIGHT, L2_UP, L2_DOWN = range(5, 13)
PE_INPUT, PE_WEIGHT, PE_UP, L1_NEED, L2_NEED = range(13, 18)
COUNT_COLUMNS = 18


@subroutine
def count_l1(tables, params, orders, sums, kinds, counts):
    """Words between L2 and the PEs."""
    depthwise, everything = params[DEPTHWISE] == 1, params[OF_OUTPUT]
    for dim in range(4):
        add_up(tables, sums, params[SIZES + dim], dim)
        if dim != C or depthwise:
            everything *= params[SIZES + dim]
    kinds[0], kinds[1], kinds[2], kinds[3] = STEPS_ONLY, INDICES, WINDOWS, WINDOWS
    counts[L2_INPUT] = counts[PE_INPUT] = params[OF_INPUT] * new_words(sums, kinds, orders)
    if sums[K, PES_ONLY, ALL] != sums[K, STEPS_ONLY, ALL]:
        kinds[0] = PES_ONLY
        counts[PE_INPUT] = params[OF_INPUT] * new_words(sums, kinds, orders)
    kinds[0], kinds[1], kinds[2], kinds[3] = INDICES, INDICES, STEPS_ONLY, STEPS_ONLY
    counts[L2_WEIGHT] = counts[PE_WEIGHT] = params[OF_WEIGHTS] * new_words(sums, kinds, orders)
    shared = sums[2, PES_ONLY, ALL] != sums[2, STEPS_ONLY, ALL]
    if shared or sums[3, PES_ONLY, ALL] != sums[3, STEPS_ONLY, ALL]:
        kinds[2] = kinds[3] = PES_ONLY
        counts[PE_WEIGHT] = params[OF_WEIGHTS] * new_words(sums, kinds, orders)
    kinds[0], kinds[1], kinds[2], kinds[3] = OUTPUTS, OUTPUTS if depthwise else STEPS_ONLY, OUTPUTS, OUTPUTS
    counts[L2_UP] = counts[PE_UP] = params[OF_OUTPUT] * new_words(sums, kinds, orders)
    counts[L2_DOWN] = counts[L2_UP] - everything
    if not depthwise and sums[C, PES_ONLY, ALL] != sums[C, STEPS_ONLY, ALL]:
        kinds[1] = PES_ONLY
        counts[PE_UP] = params[OF_OUTPUT] * new_words(sums, kinds, orders)


@subroutine
def count_dram(tables, params, orders, fills, counts):
    """Words between DRAM and L2."""
    depthwise, everything = params[DEPTHWISE] == 1, params[LINK_OUTPUT]
    for dim in range(4):
        size, steps = params[SIZES + dim], tables[dim, OUTER_STEPS]
        whole = size if steps == 1 else 0
        set_fill(fills, 0, dim, size, 0, whole)
        set_fill(fills, 1, dim, size, 0, whole)
        set_fill(fills, 2, dim, size, 0, whole)
        if dim == K:
            set_fill(fills, 0, dim, steps, steps - 1, 1)
        if dim >= Y:
            axis = dim - Y
            rows = real_windows(tables, dim, size, params[FIRST_REAL + axis], params[END_REAL + axis])
            set_fill(fills, 0, dim, rows[0], rows[1], rows[2])
            set_fill(fills, 1, dim, steps, steps - 1, 1)
        if dim == C and not depthwise:
            set_fill(fills, 2, dim, steps, steps - 1, 1)
        else:
            everything *= size
    counts[DRAM_INPUT] = params[LINK_INPUT] * new_in_l2(fills, 0, orders)
    counts[DRAM_WEIGHT] = params[LINK_WEIGHTS] * new_in_l2(fills, 1, orders)
    counts[DRAM_UP] = params[LINK_OUTPUT] * new_in_l2(fills, 2, orders)
    counts[DRAM_DOWN] = counts[DRAM_UP] - everything


@inlined
def need(tables, params, column, each):
    """What the first step needs, which is the largest: of the first PE or in L2 (PIECE or SPAN).

    `each` begins what an input, weights and an output take there (OF_INPUT or LINK_INPUT).
    """
    inputs, weights, outputs = params[each], params[each + 1], params[each + 2]
    for dim in range(4):
        indices = tables[dim, column]
        if dim != K:
            inputs *= indices * tables[dim, PITCH] + tables[dim, OVERLAP]
        if dim <= C:
            weights *= indices
        if dim != C or params[DEPTHWISE] == 1:
            outputs *= indices
    return inputs, weights, outputs


@subroutine
def begin_and_end(tables, params, counts):
    """Cycles before the first step and after the last one, and the buffers needed."""
    inputs, weights, outputs = need(tables, params, PIECE, OF_INPUT)
    counts[L1_NEED] = 2 * (inputs + weights + outputs)
    inputs, weights, outputs = need(tables, params, SPAN, LINK_INPUT)
    counts[L2_NEED] = 2 * (inputs + weights + outputs)
    counts[FILL] = params[LATENCY] + cycles_of(inputs + weights, params[OFFCHIP])
    inputs, weights = params[OF_INPUT], params[OF_WEIGHTS]
    sent, written = params[OF_OUTPUT], params[LINK_OUTPUT]
    for dim in range(4):
        at = first_kind(tables, dim) * KIND_COLUMNS
        if dim != K:
            inputs *= tables[dim, at + WINDOW]
        if dim <= C:
            weights *= tables[dim, at + NEEDED]
        if dim != C or params[DEPTHWISE] == 1:
            sent *= tables[dim, LAST * KIND_COLUMNS + LEFT]
            written *= tables[dim, LAST_SPAN]
    counts[FILL] += cycles_of(inputs + weights, params[NOC])
    counts[DRAIN] = params[LATENCY] + cycles_of(sent, params[NOC]) + cycles_of(written, params[OFFCHIP])


@inlined
def accesses_pj(constants, macs, l1_a_mac, to_pes, at_l2, at_dram):
    """Energy of so many MACs and words (docs, section 6); `constants` begin with those of an access."""
    return (
        macs * constants[MAC_PJ]
        + (l1_a_mac * macs + to_pes) * constants[L1_PJ]
        + to_pes * constants[NOC_PJ]
        + (at_l2 + at_dram) * constants[L2_PJ]
        + at_dram * constants[DRAM_PJ]
    )


@inlined
def energy_pj(counts, constants):
    """Energy of all accesses (docs, section 6)."""
    delivered = counts[PE_INPUT] + counts[PE_WEIGHT] + counts[PE_UP] + counts[L2_DOWN]
    l2 = counts[L2_INPUT] + counts[L2_WEIGHT] + counts[L2_UP] + counts[L2_DOWN]
    dram = counts[DRAM_INPUT] + counts[DRAM_WEIGHT] + counts[DRAM_UP] + counts[DRAM_DOWN]
    return accesses_pj(constants, constants[MACS], constants[L1_A_MAC], delivered, l2, dram)
