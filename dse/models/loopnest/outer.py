"""Cycles of the outer steps: each as long as its inner steps or the DRAM link takes, whichever is longer."""

from __future__ import annotations

from dse.models.loopnest.contents import (
    ALL_LOOPS,
    BUSY,
    COUNT,
    FIRST,
    GROUPS,
    IN_KEPT,
    IN_NEW,
    KINDS,
    L2_IN,
    L2_IN_KEPT,
    L2_LEFT,
    L2_OUT,
    L2_STAY,
    L2_W,
    L2_W_KEPT,
    OUT_LEFT,
    OUT_NEW,
    OUT_STAY,
    W_KEPT,
    W_NEW,
    WORKING,
    copy,
    reset,
    times_back,
    times_next,
    times_stay,
)
from dse.models.loopnest.extents import (
    INTERIOR,
    LAST,
    OUTER_STEPS,
    UNIFORM,
)
from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OFFCHIP,
)
from dse.models.loopnest.timing import (
    AT_START,
    COMPUTE,
    FURTHER,
    KNOWN,
    cycles_of,
    time_inside,
)
from dse.models.loopnest.traffic import C
from dse.support.compiling import inlined, subroutine

# Sums over the outer steps.
STEADY, WAITING, COMPUTING = range(3)


@subroutine
def time_outside(tables, runs, orders, params, groups, inside, outer, active, times, sums):
    """Cycles of all outer steps into `sums`.

    `outer` holds a row of the loops inside for each level, one of all loops, one to work in and the groups.
    Times of kinds that are known are taken as they are.
    """
    reduced = params[DEPTHWISE] == 0
    sums[STEADY] = sums[WAITING] = sums[COMPUTING] = 0
    reset(outer, ALL_LOOPS)
    for dim in range(4):
        if tables[dim, OUTER_STEPS] == 1:
            times_stay(outer, ALL_LOOPS, tables, dim, reduced, LAST)
            outer[ALL_LOOPS, KINDS] |= 1 << dim
    levels = 0
    for level in range(4):
        if tables[orders[0, level], OUTER_STEPS] > 1:
            active[0, levels] = orders[0, level]
            levels += 1
    for level in range(levels - 1, -1, -1):
        copy(outer, ALL_LOOPS, level)
        dim = active[0, level]
        times_back(outer, ALL_LOOPS, tables, dim, reduced)
        outer[ALL_LOOPS, KINDS] |= 1 << dim
    reset(outer, GROUPS)
    count, everywhere = outer[GROUPS, COUNT], outer[ALL_LOOPS, KINDS]
    for level in range(levels):
        dim = active[0, level]
        interior = tables[dim, OUTER_STEPS] - 1
        kind = LAST if tables[dim, UNIFORM] == 1 else INTERIOR
        ahead = interior if kind == LAST else interior - 1
        for after in range(kind, 2):
            if after == kind and ahead == 0:
                continue
            alike = ahead if after == kind else 1
            # Of the advances over channels, one begins at their very start.
            first = int(after == kind or ahead == 0)
            step = kind, after, alike, first
            add_steps(
                tables, runs, orders, level, step, params, groups, inside, outer, active, count, times, sums
            )
        if level + 1 < levels:
            count = spread_outer(tables, dim, reduced, outer, count)
    know(tables, runs, orders, everywhere, params, groups, inside, active, times)
    at_start = tables[C, OUTER_STEPS] == 1
    busiest = cycles_of(params[FILTER] * outer[ALL_LOOPS, BUSY], params[LANES])
    sums[COMPUTING] += times[everywhere, COMPUTE] + busiest
    time = times[everywhere, AT_START] if at_start else times[everywhere, FURTHER]
    sums[STEADY] += cycles_of(time, params[NOC]) + busiest


@inlined
def forget(times):
    """No time of the inside of an outer step is known."""
    for kinds in range(16):
        times[kinds, KNOWN] = 0


@inlined
def know(tables, runs, orders, kinds, params, groups, inside, active, times):
    """Times the inside of an outer step, once for each combination of kinds."""
    if times[kinds, KNOWN] == 0:
        time_inside(tables, runs, orders, kinds, params, groups, inside, active[1], times)
        times[kinds, KNOWN] = 1


@subroutine
def add_steps(tables, runs, orders, level, step, params, groups, inside, outer, active, count, times, sums):
    """Adds equal outer steps, for all groups of the loops outside of the level.

    `step` holds the kinds before and after, how many there are, and whether one is from the dim's start.
    """
    before, after, alike, first = step
    dim, reduced, window = active[0, level], params[DEPTHWISE] == 0, params[FILTER]
    copy(outer, level, WORKING)
    times_next(outer, WORKING, tables, dim, reduced, before, after)
    of_input, of_weights, of_output = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    inactive, outside = tables[C, OUTER_STEPS] == 1, outer[level, KINDS] >> C & 1 == 0
    for index in range(GROUPS, GROUPS + count):
        kinds = outer[index, KINDS] | outer[level, KINDS] | before << dim
        know(tables, runs, orders, kinds, params, groups, inside, active, times)
        arriving = outer[index, IN_NEW] * outer[WORKING, IN_NEW]
        arriving -= outer[index, IN_KEPT] * outer[WORKING, IN_KEPT]
        weights = outer[index, W_NEW] * outer[WORKING, W_NEW] - outer[index, W_KEPT] * outer[WORKING, W_KEPT]
        stay = outer[index, OUT_STAY] * outer[WORKING, OUT_STAY]
        sent = outer[index, OUT_LEFT] * outer[WORKING, OUT_LEFT] - stay
        words = of_input * arriving + of_weights * weights + of_output * sent
        arriving = outer[index, L2_IN] * outer[WORKING, L2_IN]
        arriving -= outer[index, L2_IN_KEPT] * outer[WORKING, L2_IN_KEPT]
        weights = outer[index, L2_W] * outer[WORKING, L2_W]
        weights -= outer[index, L2_W_KEPT] * outer[WORKING, L2_W_KEPT]
        l2_stay = outer[index, L2_STAY] * outer[WORKING, L2_STAY]
        sent = outer[index, L2_LEFT] * outer[WORKING, L2_LEFT] - l2_stay
        link = params[LINK_INPUT] * arriving + params[LINK_WEIGHTS] * weights + params[LINK_OUTPUT] * sent
        begun = of_output * (outer[index, OUT_NEW] * outer[WORKING, OUT_NEW] - stay)
        l2_begun = params[LINK_OUTPUT] * (outer[index, L2_OUT] * outer[WORKING, L2_OUT] - l2_stay)
        busiest = cycles_of(window * outer[index, BUSY] * outer[WORKING, BUSY], params[LANES])
        if not reduced or inactive:
            occurs = alike * outer[index, COUNT]
            add_time(times, kinds, AT_START, busiest, words, link, occurs, params, sums)
        elif dim == C:
            occurs, words, link = outer[index, COUNT], words + begun, link + l2_begun
            if first:
                add_time(times, kinds, AT_START, busiest, words, link, occurs, params, sums)
            if alike > first:
                occurs *= alike - first
                add_time(times, kinds, FURTHER, busiest, words, link, occurs, params, sums)
        elif outside:
            occurs, at_start = outer[index, COUNT], outer[index, FIRST]
            if at_start > 0:
                add_time(times, kinds, AT_START, busiest, words, link, alike * at_start, params, sums)
            if occurs > at_start:
                words, link, occurs = words + begun, link + l2_begun, alike * (occurs - at_start)
                add_time(times, kinds, FURTHER, busiest, words, link, occurs, params, sums)
        else:
            occurs = alike * outer[index, COUNT]
            add_time(times, kinds, FURTHER, busiest, words, link, occurs, params, sums)


@inlined
def add_time(times, kinds, which, busiest, words, link, occurs, params, sums):
    """Adds outer steps whose last transition moves these words over the NoC and the DRAM link."""
    time = times[kinds, which] + max(busiest * params[NOC], words)
    cycles = cycles_of(time, params[NOC]) + params[LATENCY]
    wait = 0
    if link > cycles * params[OFFCHIP]:
        wait = cycles_of(link, params[OFFCHIP]) - cycles
    sums[STEADY] += occurs * (cycles + wait)
    sums[WAITING] += occurs * wait
    sums[COMPUTING] += occurs * (times[kinds, COMPUTE] + busiest)


@subroutine
def spread_outer(tables, dim, reduced, outer, count):
    """Splits the groups by the kinds of the dim's outer steps; returns how many there are then."""
    steps, uniform = tables[dim, OUTER_STEPS], tables[dim, UNIFORM] == 1
    for at in range(GROUPS, GROUPS + count):
        if not uniform:
            copy(outer, at, at + count)
            place(tables, dim, reduced, LAST, 1, outer, at + count)
            if dim == C:
                outer[at + count, FIRST] = 0
        place(tables, dim, reduced, LAST if uniform else INTERIOR, steps if uniform else steps - 1, outer, at)
    return count if uniform else 2 * count


@inlined
def place(tables, dim, reduced, kind, length, outer, row):
    """Multiplies a group by `length` outer steps of a kind, of which one is the dim's first."""
    times_stay(outer, row, tables, dim, reduced, kind)
    outer[row, COUNT] *= length
    outer[row, FIRST] *= length if dim != C else 1
    outer[row, KINDS] |= kind << dim
