"""Products over dims of what L1s and L2 need, keep and give away in a transition between outer steps."""

from __future__ import annotations

from dse.models.loopnest.extents import (
    BACK_KEPT,
    BACK_STAY,
    BACK_WINDOW,
    BUSIEST,
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
    WINDOW,
    WINDOW_KEPT,
    first_kind,
    positive,
)
from dse.models.loopnest.traffic import C, K
from dse.support.compiling import inlined

# Columns of a group, and of what the loops inside contribute: occurrences, bits of the dims at their LAST
# step, how many occurrences have the channels at their start, the busiest PE's work; then what is needed
# after the transition, what of it is there, and for outputs what was needed before, of L1s and then of L2.
COUNT, KINDS, FIRST, BUSY = range(4)
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT = range(4, 11)
L2_IN, L2_IN_KEPT, L2_W, L2_W_KEPT, L2_OUT, L2_STAY, L2_LEFT = range(11, 18)
OUTER_COLUMNS = 18
# Rows: the loops inside each of four levels, those of all loops, one to work in, and the groups.
ALL_LOOPS, WORKING, GROUPS = 4, 5, 6
OUTER_ROWS = GROUPS + 16


@inlined
def times_dim(outer, row, dim, reduced, busiest, window, window_kept, needed, kept, stay, left):
    """Multiplies what one dim contributes to L1s into a row."""
    outer[row, BUSY] *= busiest
    if dim != K:
        outer[row, IN_NEW] *= window
        outer[row, IN_KEPT] *= window_kept
    if dim <= C:
        outer[row, W_NEW] *= needed
        outer[row, W_KEPT] *= kept
    if dim != C or not reduced:
        outer[row, OUT_NEW] *= needed
        outer[row, OUT_STAY] *= stay
        outer[row, OUT_LEFT] *= left


@inlined
def times_span(outer, row, tables, dim, reduced, span, window_kept, kept, left):
    """Multiplies what one dim contributes to L2 into a row."""
    if dim != K:
        outer[row, L2_IN] *= span * tables[dim, PITCH] + tables[dim, OVERLAP]
        outer[row, L2_IN_KEPT] *= window_kept
    if dim <= C:
        outer[row, L2_W] *= span
        outer[row, L2_W_KEPT] *= kept
    if dim != C or not reduced:
        outer[row, L2_OUT] *= span
        outer[row, L2_STAY] *= kept
        outer[row, L2_LEFT] *= left


@inlined
def times_stay(outer, row, tables, dim, reduced, kind):
    """Multiplies a dim that stays in an outer step of `kind` into a row; inside it, it goes back."""
    at = kind * KIND_COLUMNS
    times_dim(
        outer,
        row,
        dim,
        reduced,
        tables[dim, at + BUSIEST],
        tables[dim, at + WINDOW],
        tables[dim, at + WINDOW_KEPT],
        tables[dim, at + NEEDED],
        tables[dim, at + KEPT],
        tables[dim, at + STAY],
        tables[dim, at + LEFT],
    )
    span = tables[dim, LAST_SPAN] if kind == LAST else tables[dim, SPAN]
    times_span(
        outer, row, tables, dim, reduced, span, span * tables[dim, PITCH] + tables[dim, OVERLAP], span, span
    )


@inlined
def times_back(outer, row, tables, dim, reduced):
    """Multiplies a dim that goes back to its first outer step into a row."""
    last, begin = LAST * KIND_COLUMNS, first_kind(tables, dim) * KIND_COLUMNS
    times_dim(
        outer,
        row,
        dim,
        reduced,
        tables[dim, last + BUSIEST],
        tables[dim, begin + WINDOW],
        tables[dim, BACK_WINDOW],
        tables[dim, begin + NEEDED],
        tables[dim, BACK_KEPT],
        tables[dim, BACK_STAY],
        tables[dim, last + LEFT],
    )
    steps, span = tables[dim, OUTER_STEPS], tables[dim, SPAN]
    kept, window_kept = span, span * tables[dim, PITCH] + tables[dim, OVERLAP]
    if steps > 1:
        kept, window_kept = 0, positive(tables[dim, OVERLAP] - (steps - 2) * span * tables[dim, PITCH])
    times_span(outer, row, tables, dim, reduced, span, window_kept, kept, tables[dim, LAST_SPAN])


@inlined
def times_next(outer, row, tables, dim, reduced, before, after):
    """Multiplies a dim that advances between outer steps of these kinds into a row."""
    at, to = before * KIND_COLUMNS, after * KIND_COLUMNS
    overlap = tables[dim, LAST_OVERLAP] if after == LAST else tables[dim, NEXT_OVERLAP]
    times_dim(
        outer,
        row,
        dim,
        reduced,
        tables[dim, at + BUSIEST],
        tables[dim, to + WINDOW],
        overlap,
        tables[dim, to + NEEDED],
        0,
        0,
        tables[dim, at + LEFT],
    )
    span = tables[dim, LAST_SPAN] if after == LAST else tables[dim, SPAN]
    times_span(outer, row, tables, dim, reduced, span, tables[dim, OVERLAP], 0, tables[dim, SPAN])


@inlined
def reset(outer, row):
    """Makes a row the empty product."""
    for column in range(OUTER_COLUMNS):
        outer[row, column] = 1
    outer[row, KINDS] = 0


@inlined
def copy(outer, source, target):
    """Copies a row; faster than a slice."""
    for column in range(OUTER_COLUMNS):
        outer[target, column] = outer[source, column]
