"""Cycles of a run: every kind of transition once, by walking both levels from the outermost loop inwards.

The loops outside the one that advances are in one of a few states; `groups` holds the products of their
figures and how often they occur. The loops inside go from their last step to their first, in one way only.
"""

from __future__ import annotations

from numba import njit

from dse.compiled import OPTIONS
from dse.cost.loopnest.extents import (
    BUSIEST,
    EXTENT,
    KEPT,
    KIND_COLUMNS,
    LEFT,
    NEEDED,
    OVERLAP,
    PITCH,
    RUN_BUSIEST,
    RUN_LENGTH,
    RUN_NEEDED,
    RUN_PIECES,
    RUNS,
    STAY,
    STEP_OVERLAP,
    STEPS,
    WINDOW,
    WINDOW_KEPT,
)
from dse.cost.loopnest.traffic import C, K

# Columns of a group: occurrences, the busiest PE's work, the tensors' elements (those of the loops outside),
# and whether the channels are at their start.
COUNT, WORK, INPUTS, WEIGHTS, OUTPUTS, FIRST = range(6)
GROUP_COLUMNS = 6
MAX_GROUPS = 64
# What the loops inside contribute to a transition, one row a level, and one for all loops.
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT, BUSY = range(8)
INSIDE_COLUMNS = 8
# Times of an outer step: with the channels at their very start, or further on; compute cycles; known.
AT_START, FURTHER, COMPUTE, KNOWN = range(4)
# A machine: words a cycle over the NoC and the DRAM link, latency, lanes; the layer's filter and type.
NOC, OFFCHIP, LATENCY, LANES, FILTER, DEPTHWISE = range(6)


@njit(**OPTIONS)
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    return (amount + rate - 1) // rate if rate > 1 else amount


@njit(**OPTIONS)
def set_inside(tables, order, kinds, depthwise, inside):
    """The products over the loops inside each level, as the inner loops go back; row 4 is of all loops."""
    for column in range(8):
        inside[4, column] = 1
    for level in range(3, -1, -1):
        for column in range(8):
            inside[level, column] = inside[4, column]
        dim = order[level]
        row = tables[dim, (kinds >> dim & 1) * KIND_COLUMNS :]
        total = inside[4]
        if dim != K:
            total[IN_NEW] *= row[WINDOW]
            total[IN_KEPT] *= row[WINDOW_KEPT]
        if dim <= C:
            total[W_NEW] *= row[NEEDED]
            total[W_KEPT] *= row[KEPT]
        if dim != C or depthwise:
            total[OUT_NEW] *= row[NEEDED]
            total[OUT_STAY] *= row[STAY]
            total[OUT_LEFT] *= row[LEFT]
        total[BUSY] *= row[BUSIEST]


@njit(**OPTIONS)
def time_inside(tables, runs, order, kinds, machine, groups, inside, times):
    """Time of the inner transitions of an outer step, in words that the NoC could carry, and compute cycles.

    `kinds` has a bit for every dim that is at its LAST outer step.
    """
    noc, lanes, window = machine[NOC], machine[LANES], machine[FILTER]
    set_inside(tables, order, kinds, machine[DEPTHWISE] == 1, inside)
    total = inside[4]
    extents = steps = 1
    for dim in range(4):
        extents *= tables[dim, (kinds >> dim & 1) * KIND_COLUMNS + EXTENT]
        steps *= tables[dim, (kinds >> dim & 1) * KIND_COLUMNS + STEPS]
    least = cycles_of(window * total[BUSY], lanes)
    even = steps * total[BUSY] == extents
    if lanes == 1 or even:
        compute = (steps - 1) * least if even else window * (extents - total[BUSY])
        # Where not even the first step's whole need would take longer than the shortest step.
        if total[IN_NEW] + window * total[W_NEW] + 2 * total[OUT_NEW] <= least * noc:
            times[AT_START] = times[FURTHER] = compute * noc
            times[COMPUTE] = compute
            return
    walk_inside(tables, runs, order, kinds, machine, groups, inside, times)


@njit(**OPTIONS)
def walk_inside(tables, runs, order, kinds, machine, groups, inside, times):
    """`time_inside`, transition by transition."""
    times[AT_START] = times[FURTHER] = times[COMPUTE] = 0
    reduced = machine[DEPTHWISE] == 0
    count = 1
    for column in range(6):
        groups[0, column] = 1
    for level in range(4):
        dim = order[level]
        kind = kinds >> dim & 1
        table, of_kind = tables[dim], runs[dim, kind]
        number = table[kind * KIND_COLUMNS + RUNS]
        if table[kind * KIND_COLUMNS + STEPS] > 1:
            for index in range(number):
                run = of_kind[index]
                if run[RUN_LENGTH] > 1:
                    add_transition(
                        table,
                        dim,
                        run,
                        run,
                        run[RUN_LENGTH] - 1,
                        machine,
                        groups,
                        count,
                        inside[level],
                        times,
                    )
                if index + 1 < number:
                    add_transition(
                        table, dim, run, of_kind[index + 1], 1, machine, groups, count, inside[level], times
                    )
        if level < 3:
            count = spread(table, dim, of_kind, number, reduced, groups, count)


@njit(**OPTIONS)
def add_transition(table, dim, run, following, length, machine, groups, count, inside, times):
    """Adds the time of `length` transitions from a step of `run` to one of `following`, for all groups."""
    noc, lanes, window = machine[NOC], machine[LANES], machine[FILTER]
    reduced = machine[DEPTHWISE] == 0
    needed, pieces = following[RUN_NEEDED], following[RUN_PIECES]
    inputs, weights = inside[IN_NEW] - inside[IN_KEPT], window * (inside[W_NEW] - inside[W_KEPT])
    up, down = inside[OUT_LEFT] - inside[OUT_STAY], inside[OUT_NEW] - inside[OUT_STAY]
    if dim != K:
        after = needed * table[PITCH] + pieces * table[OVERLAP]
        inputs = after * inside[IN_NEW] - pieces * table[STEP_OVERLAP] * inside[IN_KEPT]
    if dim <= C:
        weights = window * needed * inside[W_NEW]
    if dim != C or not reduced:
        up, down = run[RUN_NEEDED] * inside[OUT_LEFT], needed * inside[OUT_NEW]
    if not reduced:
        down = 0
    work = window * run[RUN_BUSIEST] * inside[BUSY]
    for index in range(count):
        group = groups[index]
        occurs = length * group[COUNT]
        words = group[INPUTS] * inputs + group[WEIGHTS] * weights + group[OUTPUTS] * up
        back = group[OUTPUTS] * down
        compute = cycles_of(group[WORK] * work, lanes)
        times[COMPUTE] += occurs * compute
        times[FURTHER] += occurs * max(compute * noc, words + back)
        if dim != C and group[FIRST] == 1:
            back = 0
        times[AT_START] += occurs * max(compute * noc, words + back)


@njit(**OPTIONS)
def spread(table, dim, of_kind, number, reduced, groups, count):
    """Splits the groups by the runs of the loop; returns how many there are then."""
    split = dim == C and reduced
    before = count
    for index in range(number - 1, -1, -1):
        run = of_kind[index]
        length = run[RUN_LENGTH]
        if index == 0 and split and length > 1:
            # Of the channels, the first step alone begins sums.
            for at in range(before):
                place_group(table, dim, run, length - 1, 0, reduced, groups[at], groups[count])
                count += 1
            length = 1
        for at in range(before):
            first = groups[at, FIRST] if index == 0 or not split else 0
            if index > 0:
                place_group(table, dim, run, length, first, reduced, groups[at], groups[count])
                count += 1
            else:
                place_group(table, dim, run, length, first, reduced, groups[at], groups[at])
    return count


@njit(**OPTIONS)
def place_group(table, dim, run, length, first, reduced, source, target):
    """Writes a group with the loop in one of `length` steps of a run into `target`."""
    needed = run[RUN_NEEDED]
    window = needed * table[PITCH] + run[RUN_PIECES] * table[OVERLAP]
    target[COUNT] = source[COUNT] * length
    target[WORK] = source[WORK] * run[RUN_BUSIEST]
    target[INPUTS] = source[INPUTS] * (window if dim != K else 1)
    target[WEIGHTS] = source[WEIGHTS] * (needed if dim <= C else 1)
    target[OUTPUTS] = source[OUTPUTS] * (needed if dim != C or not reduced else 1)
    target[FIRST] = first
