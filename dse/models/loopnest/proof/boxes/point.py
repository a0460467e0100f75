"""The best of all orders of one choice of tiles: by its words first, and then by the model's own price."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.mapping import (
    CLUSTER,
    COLUMNS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.models.loopnest.contents import OUTER_COLUMNS, OUTER_ROWS
from dse.models.loopnest.extents import (
    BUSIEST,
    EXTENT,
    KIND_COLUMNS,
    MAX_RUNS,
    TABLE_COLUMNS,
)
from dse.models.loopnest.kernel import measure_all, price_rows
from dse.models.loopnest.outer import STEADY, forget, time_outside
from dse.models.loopnest.params import FILTER, LANES, NOC
from dse.models.loopnest.proof.boxes.box import (
    LEAST_CYCLES,
    LINK_CYCLES,
    STEADY_CYCLES,
    loss_of,
    value_of,
)
from dse.models.loopnest.proof.boxes.dims import CAN_MOVE, OUTER_STEPS
from dse.models.loopnest.proof.boxes.fitting import LEAST, LOW
from dse.models.loopnest.proof.boxes.inner import AT_L2, CASES, TO_PES
from dse.models.loopnest.timing import (
    AT_START,
    COMPUTE,
    FURTHER,
    GROUP_COLUMNS,
    INSIDE_COLUMNS,
    KNOWN,
    MAX_GROUPS,
    cycles_of,
)
from dse.models.loopnest.totals import (
    COUNT_COLUMNS,
    DRAIN,
    DRAM_DOWN,
    DRAM_INPUT,
    DRAM_UP,
    DRAM_WEIGHT,
    FILL,
    L1_NEED,
    L2_DOWN,
    L2_INPUT,
    L2_NEED,
    L2_UP,
    L2_WEIGHT,
    PE_INPUT,
    PE_UP,
    PE_WEIGHT,
    begin_and_end,
    count_dram,
    count_l1,
)
from dse.models.loopnest.traffic import SUM_COLUMNS, SUM_KINDS
from dse.support.compiling import subroutine, subroutine_with_arrays


@subroutine_with_arrays
def point_scratch():
    """The arrays that `price_point` works in."""
    return (
        np.empty((4, TABLE_COLUMNS), np.int64),
        np.empty((4, 2, MAX_RUNS, 4), np.int64),
        np.empty((2, 4), np.int64),
        np.empty((4, SUM_KINDS, SUM_COLUMNS), np.int64),
        np.empty((3, 4, 3), np.int64),
        np.empty(4, np.int64),
        np.empty(COUNT_COLUMNS, np.int64),
        np.empty((MAX_GROUPS, GROUP_COLUMNS), np.int64),
        np.empty((5, INSIDE_COLUMNS), np.int64),
        np.empty((OUTER_ROWS, OUTER_COLUMNS), np.int64),
        np.empty((2, 4), np.int64),
        np.empty((16, 4), np.int64),
        np.empty(3, np.int64),
        np.empty((24, 3), np.int64),
    )


@subroutine
def set_row(row, box, choice):
    """Writes tiles, cluster size and parallel dims into a row of a MappingBatch."""
    for dim in range(4):
        row[OUTER_TILE + dim], row[INNER_TILE + dim] = box[dim, LOW], box[dim, LEAST]
    row[OUTER_PARALLEL], row[INNER_PARALLEL], row[CLUSTER] = choice[1], choice[2], choice[0]


@subroutine
def set_least_times(tables, params, times):
    """Writes the time of each kind of outer step, but for its last transition, if the NoC never waits."""
    for kinds in range(16):
        work = busiest = params[FILTER]
        for dim in range(4):
            at = (kinds >> dim & 1) * KIND_COLUMNS
            work *= tables[dim, at + EXTENT]
            busiest *= tables[dim, at + BUSIEST]
        compute = cycles_of(work - busiest, params[LANES])
        times[kinds, AT_START] = times[kinds, FURTHER] = compute * params[NOC]
        times[kinds, COMPUTE], times[kinds, KNOWN] = compute, 1


@subroutine_with_arrays
def price_point(
    box, choice, params, known, sizes, constants, terms, timed, orders, order_table, dims, cases, rows,
    integers, floats, reasons, details, scratch, best, row_of_best,
):  # fmt: skip
    """Prices what orders of a point could beat the best, and keeps the best.

    The box has just been bounded: `dims` and `cases` are its own.
    """
    tables, runs, loops, sums, fills, kinds, counts, groups, inside, outer, active, times, totals, left = (
        scratch
    )
    outer_moves = inner_moves = 0
    for dim in range(4):
        outer_moves |= int(dims[dim, OUTER_STEPS] > 1) << dim
        inner_moves |= int(dims[dim, CAN_MOVE] > 0) << dim
    firsts, seconds = orders[0, outer_moves], orders[1, inner_moves]
    set_row(rows[0], box, choice)
    measure_all(params[0], rows, 0, tables, runs)
    begin_and_end(tables, params[0], counts)
    if counts[L1_NEED] > sizes[0] or counts[L2_NEED] > sizes[1]:
        return
    least, ends = cases[CASES], counts[FILL] + counts[DRAIN]
    if timed:
        least[LEAST_CYCLES] = max(least[LEAST_CYCLES], ends + least[STEADY_CYCLES])
        set_least_times(tables, params[0], times)
    # Of the outer orders, those that could be better with the best inner one: which, words and cycles.
    count = 0
    for first in range(firsts[0]):
        for dim in range(4):
            loops[0, dim] = order_table[firsts[1 + first], dim]
        count_dram(tables, params[0], loops, fills, counts)
        dram = counts[DRAM_INPUT] + counts[DRAM_WEIGHT] + counts[DRAM_UP] + counts[DRAM_DOWN]
        cycles = least[LEAST_CYCLES]
        if not loss_of(params[0], constants, terms, cycles, least[TO_PES], least[AT_L2], dram) < best[0]:
            continue
        if timed:
            time_outside(tables, runs, loops, params[0], groups, inside, outer, active, times, totals)
            cycles = max(cycles, ends + totals[STEADY])
            if not loss_of(params[0], constants, terms, cycles, least[TO_PES], least[AT_L2], dram) < best[0]:
                continue
        left[count, 0], left[count, 1], left[count, 2] = firsts[1 + first], dram, cycles
        count += 1
    if count == 0:
        return
    for second in range(seconds[0]):
        for dim in range(4):
            loops[1, dim] = order_table[seconds[1 + second], dim]
        # The times inside outer steps are those of the inner order.
        forget(times)
        for index in range(count):
            dram = left[index, 1]
            for dim in range(4):
                loops[0, dim] = order_table[left[index, 0], dim]
            count_l1(tables, params[0], loops, sums, kinds, counts)
            at_l2 = counts[L2_INPUT] + counts[L2_WEIGHT] + counts[L2_UP] + counts[L2_DOWN]
            to_pes = counts[PE_INPUT] + counts[PE_WEIGHT] + counts[PE_UP] + counts[L2_DOWN]
            moved = least[LINK_CYCLES] + (at_l2 + params[0, NOC] - 1) // params[0, NOC]
            cycles = max(left[index, 2], moved)
            if not loss_of(params[0], constants, terms, cycles, to_pes, at_l2, dram) < best[0]:
                continue
            if timed:
                time_outside(tables, runs, loops, params[0], groups, inside, outer, active, times, totals)
                cycles = ends + totals[STEADY]
                if not loss_of(params[0], constants, terms, cycles, to_pes, at_l2, dram) < best[0]:
                    continue
            for dim in range(4):
                rows[0, OUTER_ORDER + dim], rows[0, INNER_ORDER + dim] = loops[0, dim], loops[1, dim]
            price_rows(params, known, rows, 0, 1, details, integers, floats, reasons)
            if reasons[0] != 0:
                continue
            loss = value_of(terms, (integers[0, 0] / constants[5], floats[0, 0]))
            if loss < best[0]:
                best[0] = loss
                for column in range(COLUMNS):
                    row_of_best[column] = rows[0, column]
