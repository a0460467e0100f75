"""Words moved over a whole run in closed form: a sum of eight products for each tensor and boundary.

A tensor's transfers are what all steps need, less what stays from one step to the next. Both are products of
sums over single dims: along a dim that is outside the loop that advances, nothing changes; inside, the dim
goes back from its last step to its first (docs, section 4).
"""

from __future__ import annotations

from numba import njit

from dse.compiled import OPTIONS
from dse.cost.loopnest.extents import (
    ALL_PIECES,
    ALL_STEPS,
    BACK_KEPT,
    BACK_STAY,
    BACK_WINDOW,
    FIRST_PIECES,
    INTERIOR,
    KEPT,
    KIND_COLUMNS,
    LAST,
    LAST_OVERLAP,
    NEXT_OVERLAP,
    OUTER_STEPS,
    OVERLAP,
    PIECES,
    PITCH,
    SPAN,
    STAY,
    STEP_OVERLAP,
    UNIFORM,
    WINDOW_KEPT,
    floor_divide,
    positive,
)

K, C, Y, X = range(4)
# What is summed along a dim: indices, input rows or columns, one for every step (a tensor that does not
# depend on the dim, as L2 sees it) or one for every PE (as the PEs see it), and outputs.
INDICES, WINDOWS, STEPS_ONLY, PES_ONLY, OUTPUTS = range(5)
SUM_KINDS = 5
# The sums: over all steps, and what stays as the inner loop advances and goes back, and the outer one.
ALL, INNER_NEXT, INNER_BACK, OUTER_NEXT, OUTER_BACK = range(5)
SUM_COLUMNS = 5


@njit(**OPTIONS)
def over_kinds(table, column):
    """The sum of a column over all outer steps."""
    last = table[LAST * KIND_COLUMNS + column]
    if table[UNIFORM] == 1:
        return table[OUTER_STEPS] * last
    return (table[OUTER_STEPS] - 1) * table[INTERIOR * KIND_COLUMNS + column] + last


@njit(**OPTIONS)
def set_sums(sums, everything, inner_next, inner_back, outer_next, outer_back):
    """Writes one dim's sums of one kind."""
    sums[ALL], sums[INNER_NEXT], sums[INNER_BACK] = everything, inner_next, inner_back
    sums[OUTER_NEXT], sums[OUTER_BACK] = outer_next, outer_back


@njit(**OPTIONS)
def add_up(table, sums, size, dim):
    """All sums of one dim into `sums` (SUM_KINDS, SUM_COLUMNS)."""
    outer_steps, steps = table[OUTER_STEPS], table[ALL_STEPS]
    pieces, at_start = table[ALL_PIECES], table[FIRST_PIECES]
    if dim <= C:
        set_sums(sums[INDICES], size, 0, over_kinds(table, KEPT), 0, table[BACK_KEPT])
    if dim >= Y:
        moved_on = 0
        if outer_steps > 1:
            moved_on = (outer_steps - 2) * table[NEXT_OVERLAP] + table[LAST_OVERLAP]
        set_sums(
            sums[WINDOWS],
            size * table[PITCH] + pieces * table[OVERLAP],
            (pieces - at_start) * table[STEP_OVERLAP],
            over_kinds(table, WINDOW_KEPT),
            moved_on,
            table[BACK_WINDOW],
        )
    set_sums(sums[STEPS_ONLY], steps, steps - outer_steps, outer_steps, outer_steps - 1, 1)
    kind = LAST if outer_steps == 1 or table[UNIFORM] == 1 else INTERIOR
    begin = table[kind * KIND_COLUMNS + PIECES]
    set_sums(sums[PES_ONLY], pieces, pieces - at_start, at_start, at_start - begin, begin)
    set_sums(sums[OUTPUTS], size, 0, over_kinds(table, STAY), 0, table[BACK_STAY])


@njit(**OPTIONS)
def new_words(sums, kinds, outer_order, inner_order):
    """Words of one tensor that enter L1s: the product over `kinds`, one a dim, less what stays."""
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        dim = inner_order[level]
        row = sums[dim, kinds[dim]]
        stay = row[INNER_NEXT] * inside + row[ALL] * stay
        inside *= row[INNER_BACK]
        everything *= row[ALL]
    outside, inside = 0, 1
    for level in range(3, -1, -1):
        dim = outer_order[level]
        row = sums[dim, kinds[dim]]
        outside = row[OUTER_NEXT] * inside + row[INNER_BACK] * outside
        inside *= row[OUTER_BACK]
    return everything - stay - outside


@njit(**OPTIONS)
def below(bound, count, pitch, length):
    """How much of `count` intervals of `length`, one every `pitch` from 0 on, lies below `bound`."""
    if bound <= 0 or count <= 0 or length == 0:
        return 0
    whole = min(count, floor_divide(bound - length, pitch) + 1) if bound >= length else 0
    begun = min(count, floor_divide(bound - 1, pitch) + 1)
    cut = begun - whole
    return whole * length + cut * bound - pitch * ((whole + begun - 1) * cut // 2)


@njit(**OPTIONS)
def real_windows(table, size, first, end):
    """Real rows or columns of all outer steps, those that stay as they advance, and as they go back.

    The real ones are those from `first` to `end` of the padded ones, of which all unused are left out.
    """
    outer_steps, pitch, overlap = table[OUTER_STEPS], table[PITCH], table[OVERLAP]
    total = size * pitch + overlap
    if outer_steps == 1:
        return end - first, 0, end - first
    stride = table[SPAN] * pitch
    last = (outer_steps - 1) * stride
    if first == 0 and end == total:
        back = positive(stride + overlap - last)
        return total + (outer_steps - 1) * overlap, (outer_steps - 1) * overlap, back
    everything = below(end, outer_steps - 1, stride, stride + overlap)
    everything -= below(first, outer_steps - 1, stride, stride + overlap)
    everything += positive(end - max(first, last))
    advance = below(end - stride, outer_steps - 1, stride, overlap)
    advance -= below(first - stride, outer_steps - 1, stride, overlap)
    return everything, advance, positive(min(end, stride + overlap) - max(first, last))


@njit(**OPTIONS)
def new_in_l2(fills, order):
    """Words of one tensor that enter L2; `fills` (4, 3): all steps, what stays advancing, and going back."""
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        dim = order[level]
        stay = fills[dim, 1] * inside + fills[dim, 0] * stay
        inside *= fills[dim, 2]
        everything *= fills[dim, 0]
    return everything - stay


@njit(**OPTIONS)
def set_fill(fills, dim, everything, advance, back):
    """Writes one dim's entries of `fills`."""
    fills[dim, 0], fills[dim, 1], fills[dim, 2] = everything, advance, back
