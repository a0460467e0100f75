"""One dim of a mapping in closed form: its loops, its pieces, and what stays in buffers as they advance.

What `reference.Dim` counts piece by piece. A dim of `size` is walked in outer steps of `tile x clusters` and
these in inner steps of `inner x places`; `clusters` and `places` are 1 unless the dim is parallel there.
The last outer step may be short: it has `whole` clusters with a whole tile and one with `rest`, if any. So
there are two kinds of outer steps, INTERIOR and LAST, and in each a few runs of equal inner steps.

Along Y and X, n neighbouring outputs use `n * pitch + overlap` input rows or columns (docs, section 3).
"""

from __future__ import annotations

from dse.support.compiling import inlined, subroutine

INTERIOR, LAST = 0, 1

# Columns of a dim's table. Those of an outer step's kind stand at `kind * KIND_COLUMNS`.
STEPS, RUNS, NEEDED, PIECES, LEFT, BUSIEST, KEPT, WINDOW_KEPT, STAY, EXTENT, WINDOW = range(11)
KIND_COLUMNS = 11
# NEEDED, PIECES: indices and PEs at work in the first inner step; LEFT, BUSIEST: indices of all PEs and of
# the first PE in the last one; KEPT, WINDOW_KEPT, STAY: what stays as the inner loop goes back to its start;
# EXTENT: all that the first PE goes through; WINDOW: input rows or columns of the first inner step.
OUTER_STEPS, UNIFORM, STEP_OVERLAP, NEXT_OVERLAP, LAST_OVERLAP = range(22, 27)
BACK_KEPT, BACK_WINDOW, BACK_STAY = range(27, 30)
# UNIFORM: all outer steps are of the LAST kind. STEP_OVERLAP: rows or columns that a PE keeps as the inner
# loop advances; NEXT_OVERLAP, LAST_OVERLAP: that all keep as the outer loop does, to an INTERIOR or the LAST
# step; BACK_*: as KEPT, WINDOW_KEPT and STAY, as the outer loop goes back to its start.
SPAN, LAST_SPAN, ALL_PIECES, FIRST_PIECES, ALL_STEPS, PITCH, OVERLAP, PIECE = range(30, 38)
# SPAN, LAST_SPAN: indices of an outer step and of the last; ALL_PIECES: of all steps; FIRST_PIECES: of the
# first inner steps of all outer steps; ALL_STEPS: inner steps of all outer steps; PIECE: the inner tile.
TABLE_COLUMNS = 38

# A run of equal inner steps: how many, indices, PEs at work, indices of the first PE.
RUN_LENGTH, RUN_NEEDED, RUN_PIECES, RUN_BUSIEST = range(4)
MAX_RUNS = 4


@inlined
def floor_divide(amount, by):
    """The quotient of two counts below 2^53, rounded down; several times faster than `//`."""
    return int(amount / by)


@inlined
def ceil_divide(amount, by):
    """The quotient of two counts below 2^52, rounded up."""
    return int((amount + by - 1) / by)


@inlined
def positive(amount):
    """The amount, or 0 where it is below."""
    return amount if amount > 0 else 0


@inlined
def add_run(tables, runs, dim, kind, length, needed, pieces, busiest):
    """Appends a run of inner steps to those of an outer step's kind, or to the run before if it is equal."""
    if length <= 0:
        return
    count = tables[dim, kind * KIND_COLUMNS + RUNS]
    if count > 0:
        same = runs[dim, kind, count - 1, RUN_NEEDED] == needed
        same &= runs[dim, kind, count - 1, RUN_PIECES] == pieces
        if same and runs[dim, kind, count - 1, RUN_BUSIEST] == busiest:
            runs[dim, kind, count - 1, RUN_LENGTH] += length
            return
    runs[dim, kind, count, RUN_LENGTH] = length
    runs[dim, kind, count, RUN_NEEDED] = needed
    runs[dim, kind, count, RUN_PIECES] = pieces
    runs[dim, kind, count, RUN_BUSIEST] = busiest
    tables[dim, kind * KIND_COLUMNS + RUNS] = count + 1


@inlined
def inner_loop(extent, inner, places):
    """Steps over a cluster's extent, what is left for the last, PEs at work in it, whole pieces in it."""
    step = inner * places
    if places == 1:
        steps = ceil_divide(extent, inner)
        left = extent - (steps - 1) * inner
        return steps, left, 1, int(left == inner)
    steps = ceil_divide(extent, step)
    left = extent - (steps - 1) * step
    whole = floor_divide(left, inner)
    return steps, left, whole + int(whole * inner < left), whole


@inlined
def kept_inside(steps, left, pieces, inner, places, pitch, overlap):
    """Indices, and rows or columns, that a cluster's PEs keep from their last inner step to their first."""
    if steps == 1:
        return left, left * pitch + pieces * overlap
    step, fewer = inner * places, places - pieces
    windows = pieces * positive(overlap - ((steps - 1) * step - inner) * pitch)
    if steps == 2:
        return fewer * inner, windows + fewer * (inner * pitch + overlap)
    return 0, windows + fewer * positive(overlap - ((steps - 2) * step - inner) * pitch)


@inlined
def kept_outside(steps, left, pieces, whole, inner, places, stride, working, pitch, overlap):
    """Rows or columns that a cluster's first `working` PEs keep as it moves on by `stride`."""
    if overlap == 0 or working == 0:
        return 0
    gap = stride - (steps - 1) * inner * places
    windows = min(working, whole) * positive(overlap - (gap - inner) * pitch)
    if pieces > whole and working > whole:
        windows += positive(overlap - (gap - (left - whole * inner)) * pitch)
    if working > pieces:
        windows += (working - pieces) * positive(overlap - (gap + inner * places - inner) * pitch)
    return windows


@subroutine
def kept_back(start, stop, extent, base, tile, inner, places, pitch, overlap):
    """Rows or columns that PEs `start` to `stop` keep from the last outer step they work in to the first.

    That one is `base` indices further on, and their cluster has `extent` there.
    """
    windows = 0
    step = inner * places
    whole = floor_divide(tile, inner)
    while start < stop:
        steps = ceil_divide(extent - start * inner, step)
        first = min(inner, tile - start * inner)
        following = min(stop, ceil_divide(extent - (steps - 1) * step, inner))
        if start < whole:
            following = min(following, whole)
        windows += (following - start) * positive(overlap - (base + (steps - 1) * step - first) * pitch)
        start = following
    return windows


@subroutine
def measure(tables, runs, dim, size, tile, inner, clusters, places, pitch, overlap):
    """Fills one dim's table and runs."""
    span = tile * clusters
    outer_steps = ceil_divide(size, span)
    last_span = size - (outer_steps - 1) * span
    if clusters == 1:
        whole, rest = (1, 0) if last_span == tile else (0, last_span)
    else:
        whole = floor_divide(last_span, tile)
        rest = last_span - whole * tile
    uniform = last_span == span
    tables[dim, OUTER_STEPS], tables[dim, UNIFORM] = outer_steps, int(uniform)
    tables[dim, SPAN], tables[dim, LAST_SPAN] = span if outer_steps > 1 else last_span, last_span
    tables[dim, PITCH], tables[dim, OVERLAP], tables[dim, PIECE] = pitch, overlap, inner
    tables[dim, STEP_OVERLAP] = positive(overlap - (places - 1) * inner * pitch)
    tables[dim, RUNS] = tables[dim, KIND_COLUMNS + RUNS] = 0
    of_tile = inner_loop(tile, inner, places)
    of_rest = inner_loop(rest, inner, places) if rest > 0 else (0, 0, 0, 0)
    for kind in range(INTERIOR if outer_steps > 1 and not uniform else LAST, LAST + 1):
        full, short = (clusters, 0) if kind == INTERIOR else (whole, rest)
        fill_kind(tables, runs, dim, kind, full, tile, short, of_tile, of_rest, inner, places)
    fill_outer(tables, dim, tile, whole, rest, clusters, of_tile, of_rest, inner, places)


@subroutine
def fill_kind(tables, runs, dim, kind, whole, tile, rest, of_tile, of_rest, inner, places):
    """The columns and runs of an outer step with `whole` clusters of a tile and one of `rest`, if any."""
    at, step = kind * KIND_COLUMNS, inner * places
    pitch, overlap = tables[dim, PITCH], tables[dim, OVERLAP]
    steps, left, pieces, _ = of_tile if whole > 0 else of_rest
    busiest = min(inner, left)
    if whole > 0 and rest > 0:
        short, short_left, short_pieces, _ = of_rest
        add_run(tables, runs, dim, kind, short - 1, (whole + 1) * step, (whole + 1) * places, inner)
        if short < steps:
            add_run(
                tables, runs, dim, kind, 1, whole * step + short_left, whole * places + short_pieces, inner
            )
            add_run(tables, runs, dim, kind, steps - 1 - short, whole * step, whole * places, inner)
            add_run(tables, runs, dim, kind, 1, whole * left, whole * pieces, busiest)
        else:
            needed, at_work = whole * left + short_left, whole * pieces + short_pieces
            add_run(tables, runs, dim, kind, 1, needed, at_work, busiest)
    else:
        clusters = whole if whole > 0 else 1
        add_run(tables, runs, dim, kind, steps - 1, clusters * step, clusters * places, inner)
        add_run(tables, runs, dim, kind, 1, clusters * left, clusters * pieces, busiest)
    kept = window_kept = 0
    if whole > 0:
        one = kept_inside(of_tile[0], of_tile[1], of_tile[2], inner, places, pitch, overlap)
        kept, window_kept = whole * one[0], whole * one[1]
    if rest > 0:
        one = kept_inside(of_rest[0], of_rest[1], of_rest[2], inner, places, pitch, overlap)
        kept, window_kept = kept + one[0], window_kept + one[1]
    final = tables[dim, at + RUNS] - 1
    needed, at_work = runs[dim, kind, 0, RUN_NEEDED], runs[dim, kind, 0, RUN_PIECES]
    tables[dim, at + STEPS] = steps
    tables[dim, at + NEEDED], tables[dim, at + PIECES] = needed, at_work
    tables[dim, at + LEFT], tables[dim, at + BUSIEST] = runs[dim, kind, final, RUN_NEEDED], busiest
    tables[dim, at + KEPT], tables[dim, at + WINDOW_KEPT] = kept, window_kept
    tables[dim, at + STAY] = needed if steps == 1 else 0
    tables[dim, at + EXTENT] = (steps - 1) * inner + busiest
    tables[dim, at + WINDOW] = needed * pitch + at_work * overlap


@subroutine
def fill_outer(tables, dim, tile, whole, rest, clusters, of_tile, of_rest, inner, places):
    """The columns of the outer loop, and those that count over all steps."""
    outer_steps, pitch, overlap = tables[dim, OUTER_STEPS], tables[dim, PITCH], tables[dim, OVERLAP]
    steps, left, pieces, complete = of_tile
    at_start = places if steps > 1 else pieces
    rest_at_start = places if of_rest[0] > 1 else of_rest[2]
    stride = tile * clusters
    last = KIND_COLUMNS
    interior = outer_steps - 1
    tables[dim, ALL_STEPS] = interior * steps + tables[dim, last + STEPS]
    tables[dim, FIRST_PIECES] = interior * clusters * at_start + tables[dim, last + PIECES]
    of_whole = (steps - 1) * places + pieces
    of_short = (of_rest[0] - 1) * places + of_rest[2] if rest > 0 else 0
    tables[dim, ALL_PIECES] = (interior * clusters + whole) * of_whole + of_short
    tables[dim, NEXT_OVERLAP] = tables[dim, LAST_OVERLAP] = 0
    if outer_steps == 1:
        tables[dim, BACK_KEPT], tables[dim, BACK_WINDOW] = (
            tables[dim, last + KEPT],
            tables[dim, last + WINDOW_KEPT],
        )
        tables[dim, BACK_STAY] = tables[dim, last + STAY]
        return
    tables[dim, BACK_KEPT] = tables[dim, BACK_WINDOW] = tables[dim, BACK_STAY] = 0
    if overlap > 0:
        one = kept_outside(steps, left, pieces, complete, inner, places, stride, at_start, pitch, overlap)
        tables[dim, NEXT_OVERLAP], tables[dim, LAST_OVERLAP] = clusters * one, whole * one
        if rest > 0:
            tables[dim, LAST_OVERLAP] += kept_outside(
                steps, left, pieces, complete, inner, places, stride, rest_at_start, pitch, overlap
            )
    idle = clusters - whole - int(rest > 0)
    if outer_steps == 2:
        # What is idle in the last of two outer steps still has what it began with, if that was all it had.
        kept, _ = kept_inside(steps, left, pieces, inner, places, pitch, overlap)
        tables[dim, BACK_KEPT] = idle * kept
        if rest > 0 and steps == 1:
            tables[dim, BACK_KEPT] += positive(tile - rest_at_start * inner)
        elif rest > 0 and steps == 2:
            tables[dim, BACK_KEPT] += positive(places - max(pieces, rest_at_start)) * inner
    base = (outer_steps - 2) * stride
    if overlap > (base - inner) * pitch:
        ahead = base + stride
        windows = whole * kept_back(0, at_start, tile, ahead, tile, inner, places, pitch, overlap)
        windows += idle * kept_back(0, at_start, tile, base, tile, inner, places, pitch, overlap)
        if rest > 0:
            windows += kept_back(0, rest_at_start, rest, ahead, tile, inner, places, pitch, overlap)
            windows += kept_back(rest_at_start, at_start, tile, base, tile, inner, places, pitch, overlap)
        tables[dim, BACK_WINDOW] = windows


@inlined
def first_kind(tables, dim):
    """The kind of a dim's first outer step."""
    return LAST if tables[dim, OUTER_STEPS] == 1 or tables[dim, UNIFORM] == 1 else INTERIOR
