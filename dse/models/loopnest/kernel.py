"""`loopnest` over batches: counts and figures of every row, as `reference` has them, in closed form."""

from __future__ import annotations

import numpy as np

from dse.core.reasons import Reason
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.models.loopnest.contents import OUTER_COLUMNS, OUTER_ROWS
from dse.models.loopnest.extents import (
    MAX_RUNS,
    TABLE_COLUMNS,
    measure,
)
from dse.models.loopnest.outer import COMPUTING, STEADY, WAITING, forget, time_outside
from dse.models.loopnest.params import (
    AREA,
    DEPTHWISE,
    FILTER_ROWS,
    GHZ,
    LAYER_MACS,
    LEAKAGE,
    OVERLAPS,
    PES,
    PITCHES,
    REASON,
    SIZES,
)
from dse.models.loopnest.timing import (
    GROUP_COLUMNS,
    INSIDE_COLUMNS,
    MAX_GROUPS,
)
from dse.models.loopnest.totals import (
    COMPUTE,
    COUNT_COLUMNS,
    CYCLES,
    DRAIN,
    DRAM_WAIT,
    FILL,
    L1_NEED,
    L2_NEED,
    begin_and_end,
    count_dram,
    count_l1,
    energy_pj,
)
from dse.models.loopnest.traffic import (
    SUM_COLUMNS,
    SUM_KINDS,
    C,
    K,
    Y,
)
from dse.support.compiling import inlined, kernel, subroutine

FEASIBLE = int(Reason.FEASIBLE)
ZERO_TILE = int(Reason.ZERO_TILE)
PARTIAL_FILTER = int(Reason.PARTIAL_FILTER)
CLUSTER_TOO_LARGE = int(Reason.CLUSTER_TOO_LARGE)
SPREAD_FILTER = int(Reason.SPREAD_FILTER)


@inlined
def check_row(params, rows, i):
    """The reason that a row's values give, before any pricing."""
    if params[REASON] != FEASIBLE:
        return params[REASON]
    for dim in range(int(params[DEPTHWISE]), 4):
        if rows[i, OUTER_TILE + dim] < 1 or rows[i, INNER_TILE + dim] < 1:
            return ZERO_TILE
    if rows[i, OUTER_PARALLEL] > 3 or rows[i, INNER_PARALLEL] > 3:
        return SPREAD_FILTER
    for axis in range(2):
        size = params[FILTER_ROWS + axis]
        if rows[i, OUTER_TILE + 4 + axis] < size or rows[i, INNER_TILE + 4 + axis] < size:
            return PARTIAL_FILTER
    if rows[i, CLUSTER] < 1 or rows[i, CLUSTER] > params[PES]:
        return CLUSTER_TOO_LARGE
    return FEASIBLE


@inlined
def set_order(orders, level, rows, i, start):
    """The four mapped dims of a level, outermost first."""
    found = 0
    for position in range(start, start + 6):
        if rows[i, position] < 4:
            orders[level, found] = rows[i, position]
            found += 1


@subroutine
def measure_all(params, rows, i, tables, runs):
    """Measures all dims of a row."""
    depthwise = params[DEPTHWISE] == 1
    cluster = rows[i, CLUSTER]
    clusters = params[PES] // cluster
    outer, inner = rows[i, OUTER_PARALLEL], rows[i, INNER_PARALLEL]
    if depthwise:
        outer, inner = C if outer == K else outer, C if inner == K else inner
    for dim in range(4):
        size = params[SIZES + dim]
        tile = min(rows[i, OUTER_TILE + dim], size) if not (depthwise and dim == K) else 1
        part = min(rows[i, INNER_TILE + dim], tile) if not (depthwise and dim == K) else 1
        pitch = params[PITCHES + dim - Y] if dim >= Y else 1
        overlap = params[OVERLAPS + dim - Y] if dim >= Y else 0
        across, places = clusters if dim == outer else 1, cluster if dim == inner else 1
        measure(tables, runs, dim, size, tile, part, across, places, pitch, overlap)


@subroutine
def price_each(
    all_params, all_constants, rows, start, stop, details, integers, floats, reasons,
    tables, runs, orders, sums, fills, kinds, groups, inside, outer, active, times, totals, counts,
):  # fmt: skip
    """`price_rows`, with arrays to work in."""
    each = len(all_params) > 1
    for i in range(start, stop):
        params, constants = all_params[i if each else 0], all_constants[i if each else 0]
        reasons[i] = check_row(params, rows, i)
        if reasons[i] != FEASIBLE:
            for column in range(4):
                integers[column, i] = 0
            for column in range(3):
                floats[column, i] = 0.0
            continue
        set_order(orders, 0, rows, i, OUTER_ORDER)
        set_order(orders, 1, rows, i, INNER_ORDER)
        measure_all(params, rows, i, tables, runs)
        count_l1(tables, params, orders, sums, kinds, counts)
        count_dram(tables, params, orders, fills, counts)
        begin_and_end(tables, params, counts)
        forget(times)
        time_outside(tables, runs, orders, params, groups, inside, outer, active, times, totals)
        counts[COMPUTE], counts[DRAM_WAIT] = totals[COMPUTING], totals[WAITING]
        counts[CYCLES] = counts[FILL] + totals[STEADY] + counts[DRAIN]
        if len(details) > 0:
            for column in range(COUNT_COLUMNS):
                details[i, column] = counts[column]
        energy = energy_pj(counts, constants)
        integers[0, i], integers[1, i] = counts[CYCLES], params[LAYER_MACS]
        integers[2, i], integers[3, i] = counts[L1_NEED], counts[L2_NEED]
        floats[0, i] = energy * 1e-3
        floats[1, i] = energy * constants[GHZ] / counts[CYCLES] + constants[LEAKAGE]
        floats[2, i] = constants[AREA]


@kernel
def price_rows(params, constants, rows, start, stop, details, integers, floats, reasons):
    """Prices the rows from `start` to `stop`; `params` and `constants` have a row for each, or one for all.

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
        params, constants, rows, start, stop, details, integers, floats, reasons,
        tables, runs, orders, sums, fills, kinds, groups, inside, outer, active, times, totals, counts,
    )  # fmt: skip
