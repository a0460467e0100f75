"""Words moved over a whole run in closed form: a sum of eight products for each tensor and boundary.

A tensor's transfers are what all steps need, less what stays from one step to the next. Both are products of
sums over single dims: along a dim that is outside the loop that advances, nothing changes; inside, the dim
goes back from its last step to its first (docs, section 4).
"""

from __future__ import annotations

from dse.models.loopnest.extents import (
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
    first_kind,
    floor_divide,
    positive,
)
from dse.support.compiling import inlined, subroutine

K, C, Y, X = range(4)
# What is summed along a dim: indices, input rows or columns, one for every step (a tensor that does not
# depend on the dim, as L2 sees it) or one for every PE (as the PEs see it), and outputs.
INDICES, WINDOWS, STEPS_ONLY, PES_ONLY, OUTPUTS = range(5)
SUM_KINDS = 5
# The sums: over all steps, and what stays as the inner loop advances and goes back, and the outer one.
ALL, INNER_NEXT, INNER_BACK, OUTER_NEXT, OUTER_BACK = range(5)
SUM_COLUMNS = 5


@inlined
def over_kinds(tables, dim, column):
    """The sum of a column over all outer steps."""
    last = tables[dim, LAST * KIND_COLUMNS + column]
    if tables[dim, UNIFORM] == 1:
        return tables[dim, OUTER_STEPS] * last
    return (tables[dim, OUTER_STEPS] - 1) * tables[dim, INTERIOR * KIND_COLUMNS + column] + last


@inlined
def set_sums(sums, dim, kind, everything, inner_next, inner_back, outer_next, outer_back):
    """Writes one dim's sums of one kind."""
    sums[dim, kind, ALL] = everything
    sums[dim, kind, INNER_NEXT], sums[dim, kind, INNER_BACK] = inner_next, inner_back
    sums[dim, kind, OUTER_NEXT], sums[dim, kind, OUTER_BACK] = outer_next, outer_back


@subroutine
def add_up(tables, sums, size, dim):
    """All sums of one dim into `sums` (4, SUM_KINDS, SUM_COLUMNS)."""
    outer_steps, steps = tables[dim, OUTER_STEPS], tables[dim, ALL_STEPS]
    pieces, at_start = tables[dim, ALL_PIECES], tables[dim, FIRST_PIECES]
    if dim <= C:
        set_sums(sums, dim, INDICES, size, 0, over_kinds(tables, dim, KEPT), 0, tables[dim, BACK_KEPT])
    if dim >= Y:
        moved_on = 0
        if outer_steps > 1:
            moved_on = (outer_steps - 2) * tables[dim, NEXT_OVERLAP] + tables[dim, LAST_OVERLAP]
        set_sums(
            sums,
            dim,
            WINDOWS,
            size * tables[dim, PITCH] + pieces * tables[dim, OVERLAP],
            (pieces - at_start) * tables[dim, STEP_OVERLAP],
            over_kinds(tables, dim, WINDOW_KEPT),
            moved_on,
            tables[dim, BACK_WINDOW],
        )
    set_sums(sums, dim, STEPS_ONLY, steps, steps - outer_steps, outer_steps, outer_steps - 1, 1)
    begin = tables[dim, first_kind(tables, dim) * KIND_COLUMNS + PIECES]
    set_sums(sums, dim, PES_ONLY, pieces, pieces - at_start, at_start, at_start - begin, begin)
    set_sums(sums, dim, OUTPUTS, size, 0, over_kinds(tables, dim, STAY), 0, tables[dim, BACK_STAY])


@inlined
def new_words(sums, kinds, orders):
    """Words of one tensor that enter L1s: the product over `kinds`, one a dim, less what stays."""
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        dim = orders[1, level]
        kind = kinds[dim]
        stay = sums[dim, kind, INNER_NEXT] * inside + sums[dim, kind, ALL] * stay
        inside *= sums[dim, kind, INNER_BACK]
        everything *= sums[dim, kind, ALL]
    outside, inside = 0, 1
    for level in range(3, -1, -1):
        dim = orders[0, level]
        kind = kinds[dim]
        outside = sums[dim, kind, OUTER_NEXT] * inside + sums[dim, kind, INNER_BACK] * outside
        inside *= sums[dim, kind, OUTER_BACK]
    return everything - stay - outside


@inlined
def below(bound, count, pitch, length):
    """How much of `count` intervals of `length`, one every `pitch` from 0 on, lies below `bound`."""
    if bound <= 0 or count <= 0 or length == 0:
        return 0
    whole = min(count, floor_divide(bound - length, pitch) + 1) if bound >= length else 0
    begun = min(count, floor_divide(bound - 1, pitch) + 1)
    cut = begun - whole
    return whole * length + cut * bound - pitch * ((whole + begun - 1) * cut // 2)


@subroutine
def real_windows(tables, dim, size, first, end):
    """Real rows or columns of all outer steps, those that stay as they advance, and as they go back.

    The real ones are those from `first` to `end` of the padded ones, of which all unused are left out.
    """
    outer_steps, pitch, overlap = tables[dim, OUTER_STEPS], tables[dim, PITCH], tables[dim, OVERLAP]
    total = size * pitch + overlap
    if outer_steps == 1:
        return end - first, 0, end - first
    stride = tables[dim, SPAN] * pitch
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


@inlined
def new_in_l2(fills, tensor, orders):
    """Words of one tensor that enter L2; `fills` (3, 4, 3) holds
    all steps, what stays as loops advance, and as they go back, by tensor and dim.
    """
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        dim = orders[0, level]
        stay = fills[tensor, dim, 1] * inside + fills[tensor, dim, 0] * stay
        inside *= fills[tensor, dim, 2]
        everything *= fills[tensor, dim, 0]
    return everything - stay


@inlined
def set_fill(fills, tensor, dim, everything, advance, back):
    """Writes one dim's entries of `fills`."""
    fills[tensor, dim, 0], fills[tensor, dim, 1], fills[tensor, dim, 2] = everything, advance, back
