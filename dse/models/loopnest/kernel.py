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
from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.outer import forget_times, time_outside
from dse.models.loopnest.records import DIMS, WORK
from dse.models.loopnest.totals import begin_and_end, count_dram, count_l1, energy_pj
from dse.models.loopnest.traffic import C, K, Y
from dse.support.compiling import inlined, kernel, subroutine

FEASIBLE = int(Reason.FEASIBLE)
ZERO_TILE = int(Reason.ZERO_TILE)
PARTIAL_FILTER = int(Reason.PARTIAL_FILTER)
CLUSTER_TOO_LARGE = int(Reason.CLUSTER_TOO_LARGE)
SPREAD_FILTER = int(Reason.SPREAD_FILTER)


@inlined
def check_row(problem, row):
    """The reason that a row's values give, before any pricing (docs/loopnest.md, section 8)."""
    if problem.reason != FEASIBLE:
        return problem.reason
    # K of a depthwise layer is 1, whatever its tiles.
    for dim in range(int(problem.layer.depthwise), DIMS):
        if row[OUTER_TILE + dim] < 1 or row[INNER_TILE + dim] < 1:
            return ZERO_TILE
    if row[OUTER_PARALLEL] >= DIMS or row[INNER_PARALLEL] >= DIMS:
        return SPREAD_FILTER
    for axis in range(2):
        size = problem.layer.filter[axis]
        if row[OUTER_TILE + DIMS + axis] < size or row[INNER_TILE + DIMS + axis] < size:
            return PARTIAL_FILTER
    if row[CLUSTER] < 1 or row[CLUSTER] > problem.machine.pes:
        return CLUSTER_TOO_LARGE
    return FEASIBLE


@inlined
def set_order(order, row, start):
    """The four mapped dims of a level, outermost first; the filter's stay whole in a PE."""
    found = 0
    for position in range(start, start + 6):
        if row[position] < DIMS:
            order[found] = row[position]
            found += 1


@subroutine
def measure_all(work, problem, row):
    """Measures all dims of a row: w = num_pes // P clusters, a <= D and b <= a (section 2)."""
    layer, depthwise = problem.layer, problem.layer.depthwise == 1
    cluster = row[CLUSTER]
    clusters = problem.machine.pes // cluster
    outer, inner = row[OUTER_PARALLEL], row[INNER_PARALLEL]
    if depthwise:
        outer, inner = C if outer == K else outer, C if inner == K else inner
    for dim in range(DIMS):
        one, size = work.dims[dim], layer.sizes[dim]
        one.extent = size
        one.tile = min(row[OUTER_TILE + dim], size) if not (depthwise and dim == K) else 1
        one.piece = min(row[INNER_TILE + dim], one.tile) if not (depthwise and dim == K) else 1
        one.pitch = layer.pitches[dim - Y] if dim >= Y else 1
        one.overlap = layer.overlaps[dim - Y] if dim >= Y else 0
        one.clusters, one.places = clusters if dim == outer else 1, cluster if dim == inner else 1
        measure_dim(one)


@subroutine
def price_row(work, problem, row):
    """All counts of a row whose values are checked (sections 2 to 7)."""
    layer, counts = problem.layer, work.counts
    set_order(work.orders[0], row, OUTER_ORDER)
    set_order(work.orders[1], row, INNER_ORDER)
    measure_all(work, problem, row)
    count_l1(work, layer)
    count_dram(work, layer)
    begin_and_end(work, problem)
    forget_times(work.times)
    time_outside(work, problem)
    counts.compute, counts.dram_wait = work.totals.computing, work.totals.waiting
    counts.cycles = counts.filling + work.totals.steady + counts.drain


@kernel
def price_rows(problems, energies, rows, share, details, costs):
    """Prices the rows from the first of `share` to before its second, into the columns of `costs`.

    `problems` and `energies` (`params`) have a record for each row, or one for all. Where `details` has
    rows, it gets the counts (COUNTED) of each.
    """
    works = np.empty(1, WORK)
    start, stop = share
    for i in range(start, stop):
        problem, per = problems[i if len(problems) > 1 else 0], energies[i if len(problems) > 1 else 0]
        reason = check_row(problem, rows[i])
        costs.reason[i], costs.valid[i] = reason, reason == FEASIBLE
        if reason != FEASIBLE:
            costs.cycles[i] = costs.macs[i] = costs.l1_size[i] = costs.l2_size[i] = 0
            costs.energy_nj[i] = costs.power[i] = costs.area[i] = 0.0
            continue
        # A record does not keep its array: named in here, the array lives as long as the loop.
        work = works[0]
        price_row(work, problem, rows[i])
        counts = work.counts
        if len(details) > 0:
            details[i] = counts
        energy = energy_pj(counts, per)
        costs.cycles[i], costs.macs[i] = counts.cycles, problem.layer.macs
        costs.l1_size[i], costs.l2_size[i] = counts.l1_need, counts.l2_need
        costs.energy_nj[i] = energy * 1e-3
        # Power is energy over time, and leakage beside (section 6).
        costs.power[i] = energy * per.ghz / counts.cycles + per.leakage_mw
        costs.area[i] = per.area_mm2
