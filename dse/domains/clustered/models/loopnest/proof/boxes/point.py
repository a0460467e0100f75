"""The best of all orders of one choice of tiles: by its words first, and then by the model's own price."""

from __future__ import annotations

import numpy as np
from numba import njit

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
from dse.domains.clustered.models.loopnest.extents import MAX_RUNS, TABLE_COLUMNS
from dse.domains.clustered.models.loopnest.facts import NOC
from dse.domains.clustered.models.loopnest.kernel import measure_all, price_rows
from dse.domains.clustered.models.loopnest.proof.boxes.box import LEAST_CYCLES, LINK_CYCLES, loss_of, value_of
from dse.domains.clustered.models.loopnest.proof.boxes.dims import CAN_MOVE, OUTER_STEPS
from dse.domains.clustered.models.loopnest.proof.boxes.fitting import LEAST, LOW
from dse.domains.clustered.models.loopnest.proof.boxes.inner import AT_L2, CASES, TO_PES
from dse.domains.clustered.models.loopnest.totals import (
    COUNT_COLUMNS,
    DRAM_DOWN,
    DRAM_INPUT,
    DRAM_UP,
    DRAM_WEIGHT,
    L2_DOWN,
    L2_INPUT,
    L2_UP,
    L2_WEIGHT,
    PE_INPUT,
    PE_UP,
    PE_WEIGHT,
    count_dram,
    count_l1,
)
from dse.domains.clustered.models.loopnest.traffic import SUM_COLUMNS, SUM_KINDS
from dse.support.jit import LEAN, OPTIONS


@njit(**{**OPTIONS, "cache": False})
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
    )


@njit(**LEAN)
def set_row(row, box, choice):
    """Writes tiles, cluster size and parallel dims into a row of a MappingBatch."""
    for dim in range(4):
        row[OUTER_TILE + dim], row[INNER_TILE + dim] = box[dim, LOW], box[dim, LEAST]
    row[OUTER_PARALLEL], row[INNER_PARALLEL], row[CLUSTER] = choice[1], choice[2], choice[0]


@njit(**{**OPTIONS, "cache": False})
def price_point(
    box, choice, facts, known, sizes, constants, terms, orders, order_table, dims, cases, rows, integers,
    floats, reasons, details, scratch, best, row_of_best,
):  # fmt: skip
    """Prices what orders of a point could beat the best, and keeps the best.

    The box has just been bounded: `dims` and `cases` are its own.
    """
    tables, runs, loops, sums, fills, kinds, counts = scratch
    outer_moves = inner_moves = 0
    for dim in range(4):
        outer_moves |= int(dims[dim, OUTER_STEPS] > 1) << dim
        inner_moves |= int(dims[dim, CAN_MOVE] > 0) << dim
    outer, inner = orders[0, outer_moves], orders[1, inner_moves]
    set_row(rows[0], box, choice)
    measure_all(facts[0], rows, 0, tables, runs)
    least = cases[CASES]
    for first in range(outer[0]):
        for dim in range(4):
            loops[0, dim] = order_table[outer[1 + first], dim]
        count_dram(tables, facts[0], loops, fills, counts)
        dram = counts[DRAM_INPUT] + counts[DRAM_WEIGHT] + counts[DRAM_UP] + counts[DRAM_DOWN]
        loss = loss_of(facts[0], constants, terms, least[LEAST_CYCLES], least[TO_PES], least[AT_L2], dram)
        if not loss < best[0]:
            continue
        for second in range(inner[0]):
            for dim in range(4):
                loops[1, dim] = order_table[inner[1 + second], dim]
            count_l1(tables, facts[0], loops, sums, kinds, counts)
            at_l2 = counts[L2_INPUT] + counts[L2_WEIGHT] + counts[L2_UP] + counts[L2_DOWN]
            to_pes = counts[PE_INPUT] + counts[PE_WEIGHT] + counts[PE_UP] + counts[L2_DOWN]
            moved = least[LINK_CYCLES] + (at_l2 + facts[0, NOC] - 1) // facts[0, NOC]
            cycles = max(least[LEAST_CYCLES], moved)
            if not loss_of(facts[0], constants, terms, cycles, to_pes, at_l2, dram) < best[0]:
                continue
            for dim in range(4):
                rows[0, OUTER_ORDER + dim], rows[0, INNER_ORDER + dim] = loops[0, dim], loops[1, dim]
            price_rows(facts, known, rows, 0, 1, details, integers, floats, reasons)
            if reasons[0] != 0 or integers[2, 0] > sizes[0] or integers[3, 0] > sizes[1]:
                continue
            loss = value_of(terms, (integers[0, 0] / constants[5], floats[0, 0]))
            if loss < best[0]:
                best[0] = loss
                for column in range(COLUMNS):
                    row_of_best[column] = rows[0, column]
