"""Cycles of the outer steps: each as long as its inner steps or the DRAM link takes, whichever is longer."""

from __future__ import annotations

from numba import njit

from dse.compiled import OPTIONS
from dse.cost.loopnest.extents import (
    BACK_KEPT,
    BACK_STAY,
    BACK_WINDOW,
    BUSIEST,
    INTERIOR,
    KEPT,
    KIND_COLUMNS,
    LAST,
    LAST_OVERLAP,
    LAST_SPAN,
    LEFT,
    NEEDED,
    NEXT_OVERLAP,
    OUTER_STEPS,
    OVERLAP,
    PITCH,
    SPAN,
    STAY,
    UNIFORM,
    WINDOW,
    WINDOW_KEPT,
    positive,
)
from dse.cost.loopnest.timing import (
    AT_START,
    COMPUTE,
    DEPTHWISE,
    FILTER,
    FURTHER,
    KNOWN,
    LANES,
    LATENCY,
    NOC,
    OFFCHIP,
    cycles_of,
    time_inside,
)
from dse.cost.loopnest.traffic import C, K

# Columns of a group, and of what the loops inside contribute: occurrences, bits of the dims at their LAST
# step, whether the channels are at their start; the busiest PE's work; then what is needed after the
# transition, what of it is there, and for outputs what was needed before, first of L1s, then of L2.
COUNT, KINDS, FIRST, BUSY = range(4)
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT = range(4, 11)
L2_IN, L2_IN_KEPT, L2_W, L2_W_KEPT, L2_OUT, L2_STAY, L2_LEFT = range(11, 18)
OUTER_COLUMNS = 18
OUTER_GROUPS = 32
ALL_LAST = 15
# Sums over the outer steps.
STEADY, WAITING, COMPUTING = range(3)


@njit(**OPTIONS)
def kind_after(table, index):
    """The kind of an outer step of one dim."""
    return LAST if table[UNIFORM] == 1 or index == table[OUTER_STEPS] - 1 else INTERIOR


@njit(**OPTIONS)
def times_dim(row, dim, reduced, busiest, window, window_kept, needed, kept, stay, left):
    """Multiplies what one dim contributes to L1s into a row."""
    row[BUSY] *= busiest
    if dim != K:
        row[IN_NEW] *= window
        row[IN_KEPT] *= window_kept
    if dim <= C:
        row[W_NEW] *= needed
        row[W_KEPT] *= kept
    if dim != C or not reduced:
        row[OUT_NEW] *= needed
        row[OUT_STAY] *= stay
        row[OUT_LEFT] *= left


@njit(**OPTIONS)
def times_span(row, dim, reduced, table, span, window_kept, kept, left):
    """Multiplies what one dim contributes to L2 into a row."""
    if dim != K:
        row[L2_IN] *= span * table[PITCH] + table[OVERLAP]
        row[L2_IN_KEPT] *= window_kept
    if dim <= C:
        row[L2_W] *= span
        row[L2_W_KEPT] *= kept
    if dim != C or not reduced:
        row[L2_OUT] *= span
        row[L2_STAY] *= kept
        row[L2_LEFT] *= left


@njit(**OPTIONS)
def times_stay(row, dim, reduced, table, kind):
    """Multiplies a dim that stays in an outer step of `kind` into a row; inside it, it goes back."""
    at = kind * KIND_COLUMNS
    times_dim(
        row,
        dim,
        reduced,
        table[at + BUSIEST],
        table[at + WINDOW],
        table[at + WINDOW_KEPT],
        table[at + NEEDED],
        table[at + KEPT],
        table[at + STAY],
        table[at + LEFT],
    )
    span = table[LAST_SPAN] if kind == LAST else table[SPAN]
    times_span(row, dim, reduced, table, span, span * table[PITCH] + table[OVERLAP], span, span)


@njit(**OPTIONS)
def times_back(row, dim, reduced, table):
    """Multiplies a dim that goes back to its first outer step into a row."""
    last, begin = LAST * KIND_COLUMNS, kind_after(table, 0) * KIND_COLUMNS
    times_dim(
        row,
        dim,
        reduced,
        table[last + BUSIEST],
        table[begin + WINDOW],
        table[BACK_WINDOW],
        table[begin + NEEDED],
        table[BACK_KEPT],
        table[BACK_STAY],
        table[last + LEFT],
    )
    steps, span = table[OUTER_STEPS], table[SPAN]
    kept, window_kept = span, span * table[PITCH] + table[OVERLAP]
    if steps > 1:
        kept, window_kept = 0, positive(table[OVERLAP] - (steps - 2) * span * table[PITCH])
    times_span(row, dim, reduced, table, span, window_kept, kept, table[LAST_SPAN])


@njit(**OPTIONS)
def times_next(row, dim, reduced, table, before, after):
    """Multiplies a dim that advances between outer steps of these kinds into a row."""
    at, to = before * KIND_COLUMNS, after * KIND_COLUMNS
    overlap = table[LAST_OVERLAP] if after == LAST else table[NEXT_OVERLAP]
    times_dim(
        row,
        dim,
        reduced,
        table[at + BUSIEST],
        table[to + WINDOW],
        overlap,
        table[to + NEEDED],
        0,
        0,
        table[at + LEFT],
    )
    span = table[LAST_SPAN] if after == LAST else table[SPAN]
    times_span(row, dim, reduced, table, span, table[OVERLAP], 0, table[SPAN])


@njit(**OPTIONS)
def reset(row):
    """Makes a row the empty product."""
    for column in range(OUTER_COLUMNS):
        row[column] = 1
    row[KINDS] = 0


@njit(**OPTIONS)
def time_outside(tables, runs, outer_order, inner_order, machine, groups, inside, outer, times, sums):
    """Cycles of all outer steps into `sums`. `outer` holds five rows of the loops inside, then the groups."""
    reduced = machine[DEPTHWISE] == 0
    for kinds in range(16):
        times[kinds, KNOWN] = 0
    sums[STEADY] = sums[WAITING] = sums[COMPUTING] = 0
    reset(outer[4])
    for level in range(3, -1, -1):
        outer[level] = outer[4]
        dim = outer_order[level]
        times_back(outer[4], dim, reduced, tables[dim])
        outer[4, KINDS] |= 1 << dim
    found = outer[5:]
    reset(found[0])
    count = 1
    for level in range(4):
        dim = outer_order[level]
        table = tables[dim]
        steps = table[OUTER_STEPS]
        done = 0
        while done < steps - 1:
            # Equal transitions at once; that from the very first channels is one of its own.
            alike = 1
            if done < steps - 2 and not (dim == C and reduced and done == 0):
                alike = steps - 2 - done
            if table[UNIFORM] == 1 and not (dim == C and reduced and done == 0):
                alike = steps - 1 - done
            add_outer_steps(
                tables, runs, inner_order, machine, groups, inside, outer[level], found, count, times, sums,
                dim, done, alike,
            )  # fmt: skip
            done += alike
        if level < 3:
            count = spread_outer(table, dim, reduced, found, count)
    row = times[ALL_LAST]
    know(tables, runs, inner_order, ALL_LAST, machine, groups, inside, row)
    at_start = tables[C, OUTER_STEPS] == 1
    busiest = cycles_of(machine[FILTER] * outer[4, BUSY], machine[LANES])
    sums[COMPUTING] += row[COMPUTE] + busiest
    sums[STEADY] += cycles_of(row[AT_START] if at_start else row[FURTHER], machine[NOC]) + busiest


@njit(**OPTIONS)
def know(tables, runs, order, kinds, machine, groups, inside, times):
    """Times the inside of an outer step, once for each combination of kinds."""
    if times[KNOWN] == 0:
        time_inside(tables, runs, order, kinds, machine, groups, inside, times)
        times[KNOWN] = 1


@njit(**OPTIONS)
def add_outer_steps(
    tables, runs, inner_order, machine, groups, inside, within, found, count, times, sums, dim, done, alike
):
    """Adds `alike` outer steps, the first of index `done` in `dim`, for all groups of the loops outside."""
    reduced, window, noc = machine[DEPTHWISE] == 0, machine[FILTER], machine[NOC]
    table = tables[dim]
    before, after = kind_after(table, done), kind_after(table, done + 1)
    step = found[OUTER_GROUPS]
    step[:] = within
    times_next(step, dim, reduced, table, before, after)
    # A tensor that does not depend on the dim is not touched by it: times_next leaves its columns alone.
    for index in range(count):
        group = found[index]
        kinds = group[KINDS] | within[KINDS] | before << dim
        row = times[kinds]
        know(tables, runs, inner_order, kinds, machine, groups, inside, row)
        if dim == C:
            at_start, back = done == 0, reduced
        elif within[KINDS] >> C & 1 == 1:
            at_start, back = tables[C, OUTER_STEPS] == 1, False
        else:
            at_start, back = group[FIRST] == 1, reduced and group[FIRST] == 0
        stay, l2_stay = group[OUT_STAY] * step[OUT_STAY], group[L2_STAY] * step[L2_STAY]
        begun, l2_begun = group[OUT_NEW] * step[OUT_NEW] - stay, group[L2_OUT] * step[L2_OUT] - l2_stay
        words = group[IN_NEW] * step[IN_NEW] - group[IN_KEPT] * step[IN_KEPT]
        words += window * (group[W_NEW] * step[W_NEW] - group[W_KEPT] * step[W_KEPT])
        words += group[OUT_LEFT] * step[OUT_LEFT] - stay
        link = group[L2_IN] * step[L2_IN] - group[L2_IN_KEPT] * step[L2_IN_KEPT]
        link += window * (group[L2_W] * step[L2_W] - group[L2_W_KEPT] * step[L2_W_KEPT])
        link += group[L2_LEFT] * step[L2_LEFT] - l2_stay
        if back:
            words, link = words + begun, link + l2_begun
        busiest = cycles_of(window * group[BUSY] * step[BUSY], machine[LANES])
        time = (row[AT_START] if at_start else row[FURTHER]) + max(busiest * noc, words)
        cycles = cycles_of(time, noc) + machine[LATENCY]
        wait = positive(cycles_of(link, machine[OFFCHIP]) - cycles)
        occurs = alike * group[COUNT]
        sums[STEADY] += occurs * (cycles + wait)
        sums[WAITING] += occurs * wait
        sums[COMPUTING] += occurs * (row[COMPUTE] + busiest)


@njit(**OPTIONS)
def spread_outer(table, dim, reduced, found, count):
    """Splits the groups by the kinds of the dim's outer steps; returns how many there are then."""
    steps, before = table[OUTER_STEPS], count
    interior = 0 if table[UNIFORM] == 1 else steps - 1
    split = dim == C and reduced and steps > 1
    for at in range(before):
        source = found[at]
        first_kind = LAST if interior == 0 else INTERIOR
        rest_of_first = (steps if interior == 0 else interior) - 1
        if split and rest_of_first > 0:
            place_outer(table, dim, reduced, first_kind, rest_of_first, 0, source, found[count])
            count += 1
        if interior > 0:
            first = source[FIRST] if dim != C else 0
            place_outer(table, dim, reduced, LAST, 1, first, source, found[count])
            count += 1
        first = source[FIRST]
        place_outer(table, dim, reduced, first_kind, 1 if split else rest_of_first + 1, first, source, source)
    return count


@njit(**OPTIONS)
def place_outer(table, dim, reduced, kind, length, first, source, target):
    """Writes a group with the dim at one of `length` outer steps of a kind into `target`."""
    target[:] = source
    times_stay(target, dim, reduced, table, kind)
    target[COUNT] = source[COUNT] * length
    target[KINDS] = source[KINDS] | kind << dim
    target[FIRST] = first
