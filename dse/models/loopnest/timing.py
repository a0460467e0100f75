"""Cycles of a run: every kind of transition once, by walking both levels from the outermost loop inwards.

The loops outside the one that advances are in one of a few states; `groups` holds the products of their
figures and how often they occur. The loops inside go from their last step to their first, in one way only.
"""

from __future__ import annotations

from dse.models.loopnest.extents import (
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
from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
)
from dse.models.loopnest.traffic import C, K
from dse.support.compiling import inlined, subroutine

# Columns of a group: occurrences, the busiest PE's work, the tensors' elements (those of the loops outside),
# and how many of the occurrences have the channels at their start.
COUNT, WORK, INPUTS, WEIGHTS, OUTPUTS, FIRST = range(6)
GROUP_COLUMNS = 6
MAX_GROUPS = 64
# What the loops inside contribute to a transition, one row a level, and the last for all loops.
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT, BUSY = range(8)
INSIDE_COLUMNS = 8
# Times of an outer step: with the channels at their very start, or further on; compute cycles; known.
AT_START, FURTHER, COMPUTE, KNOWN = range(4)
EXACT = 2**52
"""Counts up to which a float divides them exactly."""


@inlined
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    if rate == 1:
        return amount
    if amount < EXACT:
        return int((amount + rate - 1) / rate)
    return (amount - 1) // rate + 1


@subroutine
def set_inside(tables, orders, kinds, depthwise, inside, active):
    """The products over the loops inside each level that loops, as the inner loops go back.

    `active` gets the dims of those levels, outermost first; the row after them is of all loops. Returns how
    many there are.
    """
    levels = 0
    for level in range(4):
        dim = orders[1, level]
        if tables[dim, (kinds >> dim & 1) * KIND_COLUMNS + STEPS] > 1:
            active[levels] = dim
            levels += 1
    in_new = in_kept = w_new = w_kept = out_new = out_stay = out_left = busy = 1
    for place in range(4 + levels, 0, -1):
        # First the dims that do not loop, which every level has inside.
        dim = place - levels - 1 if place > levels else active[place - 1]
        at = (kinds >> dim & 1) * KIND_COLUMNS
        if (tables[dim, at + STEPS] == 1) != (place > levels):
            continue
        if place <= levels:
            row = place - 1
            inside[row, IN_NEW], inside[row, IN_KEPT] = in_new, in_kept
            inside[row, W_NEW], inside[row, W_KEPT] = w_new, w_kept
            inside[row, OUT_NEW], inside[row, OUT_STAY] = out_new, out_stay
            inside[row, OUT_LEFT], inside[row, BUSY] = out_left, busy
        busy *= tables[dim, at + BUSIEST]
        if dim != K:
            in_new *= tables[dim, at + WINDOW]
            in_kept *= tables[dim, at + WINDOW_KEPT]
        if dim <= C:
            w_new *= tables[dim, at + NEEDED]
            w_kept *= tables[dim, at + KEPT]
        if dim != C or depthwise:
            out_new *= tables[dim, at + NEEDED]
            out_stay *= tables[dim, at + STAY]
            out_left *= tables[dim, at + LEFT]
    inside[4, IN_NEW], inside[4, W_NEW], inside[4, OUT_NEW], inside[4, BUSY] = in_new, w_new, out_new, busy
    return levels


@subroutine
def time_inside(tables, runs, orders, kinds, params, groups, inside, active, times):
    """Time of the inner transitions of an outer step, in words that the NoC could carry, and compute cycles.

    `kinds` has a bit for every dim that is at its LAST outer step, and is the row of `times` to fill.
    """
    noc, lanes, window = params[NOC], params[LANES], params[FILTER]
    levels = set_inside(tables, orders, kinds, params[DEPTHWISE] == 1, inside, active)
    extents = steps = 1
    for dim in range(4):
        extents *= tables[dim, (kinds >> dim & 1) * KIND_COLUMNS + EXTENT]
        steps *= tables[dim, (kinds >> dim & 1) * KIND_COLUMNS + STEPS]
    busy = inside[4, BUSY]
    least = cycles_of(window * busy, lanes)
    even = steps * busy == extents
    if lanes == 1 or even:
        compute = (steps - 1) * least if even else window * (extents - busy)
        # Where not even the first step's whole need would take longer than the shortest step.
        first = params[OF_INPUT] * inside[4, IN_NEW] + params[OF_WEIGHTS] * inside[4, W_NEW]
        if first + 2 * params[OF_OUTPUT] * inside[4, OUT_NEW] <= least * noc:
            times[kinds, AT_START] = times[kinds, FURTHER] = compute * noc
            times[kinds, COMPUTE] = compute
            return
    times[kinds, AT_START] = times[kinds, FURTHER] = times[kinds, COMPUTE] = 0
    for column in range(GROUP_COLUMNS):
        groups[0, column] = 1
    # One, but no constant: for that numba would compile what is called with it twice.
    count = groups[0, COUNT]
    for level in range(levels):
        dim = active[level]
        kind = kinds >> dim & 1
        number = tables[dim, kind * KIND_COLUMNS + RUNS]
        for index in range(number):
            for after in range(index, min(index + 2, number)):
                length = runs[dim, kind, index, RUN_LENGTH] - 1 if after == index else 1
                between = index, after, length
                if length > 0:
                    add_transitions(
                        tables, runs, level, dim, between, kinds, params, groups, count, inside, times
                    )
        if level + 1 < levels:
            count = spread(tables, runs, dim, kind, params[DEPTHWISE] == 0, groups, count)


@subroutine
def add_transitions(tables, runs, level, dim, between, kinds, params, groups, count, inside, times):
    """Adds the time of equal transitions; `between` holds the runs before and after, and their number."""
    before, after, length = between
    kind = kinds >> dim & 1
    noc, lanes, window = params[NOC], params[LANES], params[FILTER]
    reduced = params[DEPTHWISE] == 0
    needed, pieces = runs[dim, kind, after, RUN_NEEDED], runs[dim, kind, after, RUN_PIECES]
    in_new, in_kept = inside[level, IN_NEW], inside[level, IN_KEPT]
    w_new, w_kept = inside[level, W_NEW], inside[level, W_KEPT]
    up, down = inside[level, OUT_LEFT], inside[level, OUT_NEW]
    stay = inside[level, OUT_STAY]
    if dim != K:
        in_new *= needed * tables[dim, PITCH] + pieces * tables[dim, OVERLAP]
        in_kept *= pieces * tables[dim, STEP_OVERLAP]
    if dim <= C:
        w_new, w_kept = needed * w_new, 0
    if dim != C or not reduced:
        up, down, stay = runs[dim, kind, before, RUN_NEEDED] * up, needed * down, 0
    inputs, weights = params[OF_INPUT] * (in_new - in_kept), params[OF_WEIGHTS] * (w_new - w_kept)
    up, down = params[OF_OUTPUT] * (up - stay), params[OF_OUTPUT] * (down - stay) if reduced else 0
    work = window * runs[dim, kind, before, RUN_BUSIEST] * inside[level, BUSY]
    at_start = further = computing = 0
    for index in range(count):
        occurs, first = groups[index, COUNT], groups[index, FIRST] if dim != C else 0
        words = groups[index, INPUTS] * inputs + groups[index, WEIGHTS] * weights
        words += groups[index, OUTPUTS] * up
        back = words + groups[index, OUTPUTS] * down
        compute = cycles_of(groups[index, WORK] * work, lanes)
        computing += occurs * compute
        longer = max(compute * noc, back)
        further += occurs * longer
        # Sums that begin at the first of all channels come from nowhere.
        at_start += (occurs - first) * longer + first * max(compute * noc, words)
    times[kinds, AT_START] += length * at_start
    times[kinds, FURTHER] += length * further
    times[kinds, COMPUTE] += length * computing


@subroutine
def spread(tables, runs, dim, kind, reduced, groups, count):
    """Splits the groups by the runs of the loop; returns how many there are then."""
    before = count
    for index in range(tables[dim, kind * KIND_COLUMNS + RUNS] - 1, -1, -1):
        length = runs[dim, kind, index, RUN_LENGTH]
        needed, busiest = runs[dim, kind, index, RUN_NEEDED], runs[dim, kind, index, RUN_BUSIEST]
        window = needed * tables[dim, PITCH] + runs[dim, kind, index, RUN_PIECES] * tables[dim, OVERLAP]
        first = length if dim != C else int(index == 0)
        for at in range(before):
            target = at if index == 0 else count + at
            groups[target, COUNT] = groups[at, COUNT] * length
            groups[target, FIRST] = groups[at, FIRST] * first
            groups[target, WORK] = groups[at, WORK] * busiest
            groups[target, INPUTS] = groups[at, INPUTS] * (window if dim != K else 1)
            groups[target, WEIGHTS] = groups[at, WEIGHTS] * (needed if dim <= C else 1)
            groups[target, OUTPUTS] = groups[at, OUTPUTS] * (needed if dim != C or not reduced else 1)
        if index > 0:
            count += before
    return count
