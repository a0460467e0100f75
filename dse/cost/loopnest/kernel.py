"""`loopnest` over batches: counts and figures of every row, as `reference` has them, in closed form."""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.compiled import OPTIONS
from dse.cost.loopnest.compiled import INLINED, LEAN
from dse.cost.loopnest.extents import (
    INTERIOR,
    KIND_COLUMNS,
    LAST,
    LAST_SPAN,
    LEFT,
    MAX_RUNS,
    NEEDED,
    OUTER_STEPS,
    OVERLAP,
    PIECE,
    PITCH,
    SPAN,
    TABLE_COLUMNS,
    UNIFORM,
    WINDOW,
    measure,
)
from dse.cost.loopnest.facts import (
    DEPTHWISE,
    END_REAL,
    FILTER,
    FILTER_ROWS,
    FIRST_REAL,
    LATENCY,
    NOC,
    OFFCHIP,
    OVERLAPS,
    PES,
    PITCHES,
    REASON,
    SIZES,
)
from dse.cost.loopnest.outer import COMPUTING, OUTER_COLUMNS, OUTER_ROWS, STEADY, WAITING, time_outside
from dse.cost.loopnest.timing import (
    GROUP_COLUMNS,
    INSIDE_COLUMNS,
    MAX_GROUPS,
    cycles_of,
)
from dse.cost.loopnest.traffic import (
    ALL,
    INDICES,
    OUTPUTS,
    PES_ONLY,
    STEPS_ONLY,
    SUM_COLUMNS,
    SUM_KINDS,
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
from dse.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.reasons import Reason

FEASIBLE = int(Reason.FEASIBLE)
ZERO_TILE = int(Reason.ZERO_TILE)
PARTIAL_FILTER = int(Reason.PARTIAL_FILTER)
CLUSTER_TOO_LARGE = int(Reason.CLUSTER_TOO_LARGE)
SPREAD_FILTER = int(Reason.SPREAD_FILTER)

# Counts of a row, in the order of COUNTS.
CYCLES, COMPUTE, FILL, DRAIN, DRAM_WAIT = range(5)
DRAM_INPUT, DRAM_WEIGHT, DRAM_UP, DRAM_DOWN, L2_INPUT, L2_WEIGHT, L2_UP, L2_DOWN = range(5, 13)
PE_INPUT, PE_WEIGHT, PE_UP, L1_NEED, L2_NEED = range(13, 18)
COUNT_COLUMNS = 18

# Energies of one access in pJ, MACs among them; then the layer's MACs, GHz and the leakage in mW.
MAC_PJ, L1_PJ, NOC_PJ, L2_PJ, DRAM_PJ, MACS, GHZ, LEAKAGE, AREA = range(9)


@njit(**INLINED)
def check_row(facts, rows, i):
    """The reason that a row's values give, before any pricing."""
    if facts[REASON] != FEASIBLE:
        return facts[REASON]
    for dim in range(int(facts[DEPTHWISE]), 4):
        if rows[i, OUTER_TILE + dim] < 1 or rows[i, INNER_TILE + dim] < 1:
            return ZERO_TILE
    if rows[i, OUTER_PARALLEL] > 3 or rows[i, INNER_PARALLEL] > 3:
        return SPREAD_FILTER
    for axis in range(2):
        size = facts[FILTER_ROWS + axis]
        if rows[i, OUTER_TILE + 4 + axis] < size or rows[i, INNER_TILE + 4 + axis] < size:
            return PARTIAL_FILTER
    if rows[i, CLUSTER] < 1 or rows[i, CLUSTER] > facts[PES]:
        return CLUSTER_TOO_LARGE
    return FEASIBLE


@njit(**INLINED)
def set_order(orders, level, rows, i, start):
    """The four mapped dims of a level, outermost first."""
    found = 0
    for position in range(start, start + 6):
        if rows[i, position] < 4:
            orders[level, found] = rows[i, position]
            found += 1


@njit(**LEAN)
def measure_all(facts, rows, i, tables, runs):
    """Measures all dims of a row."""
    depthwise = facts[DEPTHWISE] == 1
    cluster = rows[i, CLUSTER]
    clusters = facts[PES] // cluster
    outer, inner = rows[i, OUTER_PARALLEL], rows[i, INNER_PARALLEL]
    if depthwise:
        outer, inner = C if outer == K else outer, C if inner == K else inner
    for dim in range(4):
        size = facts[SIZES + dim]
        tile = min(rows[i, OUTER_TILE + dim], size) if not (depthwise and dim == K) else 1
        part = min(rows[i, INNER_TILE + dim], tile) if not (depthwise and dim == K) else 1
        pitch = facts[PITCHES + dim - Y] if dim >= Y else 1
        overlap = facts[OVERLAPS + dim - Y] if dim >= Y else 0
        across, places = clusters if dim == outer else 1, cluster if dim == inner else 1
        measure(tables, runs, dim, size, tile, part, across, places, pitch, overlap)


@njit(**LEAN)
def count_l1(tables, facts, orders, sums, kinds, counts):
    """Words between L2 and the PEs."""
    depthwise, window = facts[DEPTHWISE] == 1, facts[FILTER]
    everything = 1
    for dim in range(4):
        add_up(tables, sums, facts[SIZES + dim], dim)
        if dim != C or depthwise:
            everything *= facts[SIZES + dim]
    kinds[0], kinds[1], kinds[2], kinds[3] = STEPS_ONLY, INDICES, WINDOWS, WINDOWS
    counts[L2_INPUT] = counts[PE_INPUT] = new_words(sums, kinds, orders)
    if sums[K, PES_ONLY, ALL] != sums[K, STEPS_ONLY, ALL]:
        kinds[0] = PES_ONLY
        counts[PE_INPUT] = new_words(sums, kinds, orders)
    kinds[0], kinds[1], kinds[2], kinds[3] = INDICES, INDICES, STEPS_ONLY, STEPS_ONLY
    counts[L2_WEIGHT] = counts[PE_WEIGHT] = window * new_words(sums, kinds, orders)
    shared = sums[2, PES_ONLY, ALL] != sums[2, STEPS_ONLY, ALL]
    if shared or sums[3, PES_ONLY, ALL] != sums[3, STEPS_ONLY, ALL]:
        kinds[2] = kinds[3] = PES_ONLY
        counts[PE_WEIGHT] = window * new_words(sums, kinds, orders)
    kinds[0], kinds[1], kinds[2], kinds[3] = OUTPUTS, OUTPUTS if depthwise else STEPS_ONLY, OUTPUTS, OUTPUTS
    counts[L2_UP] = counts[PE_UP] = new_words(sums, kinds, orders)
    counts[L2_DOWN] = counts[L2_UP] - everything
    if not depthwise and sums[C, PES_ONLY, ALL] != sums[C, STEPS_ONLY, ALL]:
        kinds[1] = PES_ONLY
        counts[PE_UP] = new_words(sums, kinds, orders)


@njit(**LEAN)
def count_dram(tables, facts, orders, fills, counts):
    """Words between DRAM and L2."""
    depthwise, window = facts[DEPTHWISE] == 1, facts[FILTER]
    everything = 1
    for dim in range(4):
        size, steps = facts[SIZES + dim], tables[dim, OUTER_STEPS]
        whole = size if steps == 1 else 0
        set_fill(fills, 0, dim, size, 0, whole)
        set_fill(fills, 1, dim, size, 0, whole)
        set_fill(fills, 2, dim, size, 0, whole)
        if dim == K:
            set_fill(fills, 0, dim, steps, steps - 1, 1)
        if dim >= Y:
            axis = dim - Y
            rows = real_windows(tables, dim, size, facts[FIRST_REAL + axis], facts[END_REAL + axis])
            set_fill(fills, 0, dim, rows[0], rows[1], rows[2])
            set_fill(fills, 1, dim, steps, steps - 1, 1)
        if dim == C and not depthwise:
            set_fill(fills, 2, dim, steps, steps - 1, 1)
        else:
            everything *= size
    counts[DRAM_INPUT] = new_in_l2(fills, 0, orders)
    counts[DRAM_WEIGHT] = window * new_in_l2(fills, 1, orders)
    counts[DRAM_UP] = new_in_l2(fills, 2, orders)
    counts[DRAM_DOWN] = counts[DRAM_UP] - everything


@njit(**INLINED)
def first_kind(tables, dim):
    """The kind of a dim's first outer step."""
    return LAST if tables[dim, OUTER_STEPS] == 1 or tables[dim, UNIFORM] == 1 else INTERIOR


@njit(**INLINED)
def need(tables, facts, column):
    """Elements that the first step needs, which is the largest: of the first PE or in L2 (PIECE or SPAN)."""
    inputs, weights, outputs = 1, facts[FILTER], 1
    for dim in range(4):
        indices = tables[dim, column]
        if dim != K:
            inputs *= indices * tables[dim, PITCH] + tables[dim, OVERLAP]
        if dim <= C:
            weights *= indices
        if dim != C or facts[DEPTHWISE] == 1:
            outputs *= indices
    return inputs, weights, outputs


@njit(**LEAN)
def begin_and_end(tables, facts, counts):
    """Cycles before the first step and after the last one, and the buffers needed."""
    inputs, weights, outputs = need(tables, facts, PIECE)
    counts[L1_NEED] = 2 * (inputs + weights + outputs)
    inputs, weights, outputs = need(tables, facts, SPAN)
    counts[L2_NEED] = 2 * (inputs + weights + outputs)
    counts[FILL] = facts[LATENCY] + cycles_of(inputs + weights, facts[OFFCHIP])
    inputs, weights, sent, written = 1, facts[FILTER], 1, 1
    for dim in range(4):
        at = first_kind(tables, dim) * KIND_COLUMNS
        if dim != K:
            inputs *= tables[dim, at + WINDOW]
        if dim <= C:
            weights *= tables[dim, at + NEEDED]
        if dim != C or facts[DEPTHWISE] == 1:
            sent *= tables[dim, LAST * KIND_COLUMNS + LEFT]
            written *= tables[dim, LAST_SPAN]
    counts[FILL] += cycles_of(inputs + weights, facts[NOC])
    counts[DRAIN] = facts[LATENCY] + cycles_of(sent, facts[NOC]) + cycles_of(written, facts[OFFCHIP])


@njit(**INLINED)
def energy_pj(counts, constants):
    """Energy of all accesses (docs, section 6)."""
    delivered = counts[PE_INPUT] + counts[PE_WEIGHT] + counts[PE_UP] + counts[L2_DOWN]
    l2 = counts[L2_INPUT] + counts[L2_WEIGHT] + counts[L2_UP] + counts[L2_DOWN]
    dram = counts[DRAM_INPUT] + counts[DRAM_WEIGHT] + counts[DRAM_UP] + counts[DRAM_DOWN]
    macs = constants[MACS]
    return (
        macs * constants[MAC_PJ]
        + (4.0 * macs + delivered) * constants[L1_PJ]
        + delivered * constants[NOC_PJ]
        + (l2 + dram) * constants[L2_PJ]
        + dram * constants[DRAM_PJ]
    )


@njit(**LEAN)
def price_each(
    facts, constants, rows, start, stop, details, integers, floats, reasons,
    tables, runs, orders, sums, fills, kinds, groups, inside, outer, active, times, totals, counts,
):  # fmt: skip
    """`price_rows`, with arrays to work in."""
    for i in range(start, stop):
        reasons[i] = check_row(facts, rows, i)
        if reasons[i] != FEASIBLE:
            for column in range(4):
                integers[column, i] = 0
            for column in range(3):
                floats[column, i] = 0.0
            continue
        set_order(orders, 0, rows, i, OUTER_ORDER)
        set_order(orders, 1, rows, i, INNER_ORDER)
        measure_all(facts, rows, i, tables, runs)
        count_l1(tables, facts, orders, sums, kinds, counts)
        count_dram(tables, facts, orders, fills, counts)
        begin_and_end(tables, facts, counts)
        time_outside(tables, runs, orders, facts, groups, inside, outer, active, times, totals)
        counts[COMPUTE], counts[DRAM_WAIT] = totals[COMPUTING], totals[WAITING]
        counts[CYCLES] = counts[FILL] + totals[STEADY] + counts[DRAIN]
        if len(details) > 0:
            for column in range(COUNT_COLUMNS):
                details[i, column] = counts[column]
        energy = energy_pj(counts, constants)
        integers[0, i], integers[1, i] = counts[CYCLES], np.int64(constants[MACS])
        integers[2, i], integers[3, i] = counts[L1_NEED], counts[L2_NEED]
        floats[0, i] = energy * 1e-3
        floats[1, i] = energy * constants[GHZ] / counts[CYCLES] + constants[LEAKAGE]
        floats[2, i] = constants[AREA]


@njit(**OPTIONS)
def price_rows(facts, constants, rows, start, stop, details, integers, floats, reasons):
    """Prices the rows from `start` to `stop`.

    Fills `integers` (4, n): cycles, MACs, L1 and L2 need; `floats` (3, n): energy in nJ, power in mW and area
    in mm2; `reasons` (n); and, where it has rows, `details` (n, 18): the counts.
    """
    tables = np.empty((4, TABLE_COLUMNS), dtype=np.int64)
    runs = np.empty((4, 2, MAX_RUNS, 4), dtype=np.int64)
    orders = np.empty((2, 4), dtype=np.int64)
    sums = np.empty((4, SUM_KINDS, SUM_COLUMNS), dtype=np.int64)
    fills = np.empty((3, 4, 3), dtype=np.int64)
    kinds = np.empty(4, dtype=np.int64)
    groups = np.empty((MAX_GROUPS, GROUP_COLUMNS), dtype=np.int64)
    inside = np.empty((5, INSIDE_COLUMNS), dtype=np.int64)
    outer = np.empty((OUTER_ROWS, OUTER_COLUMNS), dtype=np.int64)
    active = np.empty((2, 4), dtype=np.int64)
    times = np.empty((16, 4), dtype=np.int64)
    totals = np.empty(3, dtype=np.int64)
    counts = np.empty(COUNT_COLUMNS, dtype=np.int64)
    price_each(
        facts, constants, rows, start, stop, details, integers, floats, reasons,
        tables, runs, orders, sums, fills, kinds, groups, inside, outer, active, times, totals, counts,
    )  # fmt: skip
