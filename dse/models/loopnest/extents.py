"""One dim of a mapping in closed form: its loops, its pieces, and what stays in buffers as they advance.

What `reference.Dim` counts piece by piece. A dim of `size` is walked in outer steps of `tile x clusters` and
these in inner steps of `piece x places`; `clusters` and `places` are 1 unless the dim is parallel there
(docs/loopnest.md, section 2). The last outer step may be short: it has `whole` clusters with a whole tile and
one with `rest`, if any. So there are two kinds of outer steps, INTERIOR and LAST, and in each a few runs of
equal inner steps.

Along Y and X, n neighbouring outputs use `n * pitch + overlap` input rows or columns (section 3).
"""

from __future__ import annotations

from dse.models.loopnest.records import INTERIOR, LAST
from dse.support.compiling import inlined, subroutine


@inlined
def floor_divide(amount, by):
    """The quotient of two counts below 2^53, rounded down; several times faster than `//`."""
    # A quotient that is not whole is 1 / by or more below the next whole number: rounding does not reach it.
    return int(amount / by)


@inlined
def ceil_divide(amount, by):
    """The quotient of two counts below 2^52, rounded up."""
    return int((amount + by - 1) / by)


@inlined
def positive_part(amount):
    """The amount, or 0 where it is below."""
    return amount if amount > 0 else 0


@inlined
def first_kind(one):
    """The kind of a dim's first outer step."""
    return LAST if one.steps == 1 or one.uniform == 1 else INTERIOR


@inlined
def add_run(here, length, needed, pieces, busiest):
    """Appends a run of inner steps to those of an outer step's kind, or to the run before if it is equal."""
    if length <= 0:
        return
    count = here.run_count
    if count > 0:
        before = here.runs[count - 1]
        if before.needed == needed and before.pieces == pieces and before.busiest == busiest:
            before.length += length
            return
    run = here.runs[count]
    run.length, run.needed, run.pieces, run.busiest = length, needed, pieces, busiest
    here.run_count = count + 1


@inlined
def set_loop(loop, extent, one):
    """The inner loop over a cluster's extent, with which it is m = ceil(e / U) steps (section 2)."""
    step = one.piece * one.places
    loop.steps = ceil_divide(extent, step)
    loop.left = extent - (loop.steps - 1) * step
    if one.places == 1:
        loop.pieces, loop.whole = 1, int(loop.left == one.piece)
        return
    loop.whole = floor_divide(loop.left, one.piece)
    loop.pieces = loop.whole + int(loop.whole * one.piece < loop.left)


@inlined
def kept_inside(loop, one):
    """Indices, and rows or columns, that a cluster's PEs keep from their last inner step to their first."""
    steps, left, pieces = loop.steps, loop.left, loop.pieces
    inner, places, pitch, overlap = one.piece, one.places, one.pitch, one.overlap
    if steps == 1:
        return left, left * pitch + pieces * overlap
    # A PE's last piece begins steps - 1 rounds after its first one, which is whole, as another follows.
    step, fewer = inner * places, places - pieces
    windows = pieces * positive_part(overlap - ((steps - 1) * step - inner) * pitch)
    if steps == 2:
        # PEs that are idle in the last step still have what they began with.
        return fewer * inner, windows + fewer * (inner * pitch + overlap)
    # They have the piece of the step before, which begins a round earlier.
    return 0, windows + fewer * positive_part(overlap - ((steps - 2) * step - inner) * pitch)


@inlined
def kept_outside(one, working):
    """Rows or columns that a whole cluster's first `working` PEs keep from an outer step to the next."""
    if one.overlap == 0 or working == 0:
        return 0
    loop, inner, places, pitch, overlap = one.of_tile, one.piece, one.places, one.pitch, one.overlap
    # Two pieces share max(0, overlap - g pitch) rows, g outputs between their ends (section 4): here from
    # where a PE's last piece begins to where its next one does, less the length of the last one.
    gap = one.tile * one.clusters - (loop.steps - 1) * inner * places
    windows = min(working, loop.whole) * positive_part(overlap - (gap - inner) * pitch)
    if loop.pieces > loop.whole and working > loop.whole:
        windows += positive_part(overlap - (gap - (loop.left - loop.whole * inner)) * pitch)
    if working > loop.pieces:
        # Idle at the end, these had their last piece a round earlier.
        windows += (working - loop.pieces) * positive_part(overlap - (gap + inner * places - inner) * pitch)
    return windows


@subroutine
def kept_back(one, start, stop, extent, base):
    """Rows or columns that PEs `start` to `stop` keep from the last outer step they work in to the first.

    That one is `base` indices further on, and their cluster has `extent` there.
    """
    windows = 0
    tile, inner, pitch, overlap = one.tile, one.piece, one.pitch, one.overlap
    step = inner * one.places
    whole = floor_divide(tile, inner)
    while start < stop:
        steps = ceil_divide(extent - start * inner, step)
        first = min(inner, tile - start * inner)
        # As many PEs at once as have equally many steps and equally large first pieces.
        following = min(stop, ceil_divide(extent - (steps - 1) * step, inner))
        if start < whole:
            following = min(following, whole)
        windows += (following - start) * positive_part(overlap - (base + (steps - 1) * step - first) * pitch)
        start = following
    return windows


@subroutine
def measure_dim(one):
    """Fills a dim's record from what is given in it: size, tiles, clusters, places, pitch and overlap."""
    size, tile, clusters = one.extent, one.tile, one.clusters
    span = tile * clusters
    steps = ceil_divide(size, span)
    last_span = size - (steps - 1) * span
    if clusters == 1:
        one.whole, one.rest = (1, 0) if last_span == tile else (0, last_span)
    else:
        one.whole = floor_divide(last_span, tile)
        one.rest = last_span - one.whole * tile
    uniform = last_span == span
    one.steps, one.uniform = steps, int(uniform)
    one.span, one.last_span = span if steps > 1 else last_span, last_span
    one.step_overlap = positive_part(one.overlap - (one.places - 1) * one.piece * one.pitch)
    set_loop(one.of_tile, tile, one)
    one.of_rest.steps = one.of_rest.pieces = 0
    if one.rest > 0:
        set_loop(one.of_rest, one.rest, one)
    for kind in range(INTERIOR if steps > 1 and not uniform else LAST, LAST + 1):
        fill_kind(one, kind)
    fill_outer(one)


@subroutine
def fill_kind(one, kind):
    """The figures and runs of an outer step of a kind, with `whole` clusters of a tile and one of `rest`."""
    here, of_tile, of_rest = one.kinds[kind], one.of_tile, one.of_rest
    whole, rest = (one.clusters, 0) if kind == INTERIOR else (one.whole, one.rest)
    inner, places = one.piece, one.places
    step = inner * places
    longest = of_tile if whole > 0 else of_rest
    steps, left, pieces = longest.steps, longest.left, longest.pieces
    busiest = min(inner, left)
    here.run_count = 0
    if whole > 0 and rest > 0:
        # The cluster with the rest ends its steps before the others do, or with them.
        short, short_left, short_pieces = of_rest.steps, of_rest.left, of_rest.pieces
        add_run(here, short - 1, (whole + 1) * step, (whole + 1) * places, inner)
        if short < steps:
            add_run(here, 1, whole * step + short_left, whole * places + short_pieces, inner)
            add_run(here, steps - 1 - short, whole * step, whole * places, inner)
            add_run(here, 1, whole * left, whole * pieces, busiest)
        else:
            add_run(here, 1, whole * left + short_left, whole * pieces + short_pieces, busiest)
    else:
        clusters = whole if whole > 0 else 1
        add_run(here, steps - 1, clusters * step, clusters * places, inner)
        add_run(here, 1, clusters * left, clusters * pieces, busiest)
    kept = window_kept = 0
    if whole > 0:
        indices, windows = kept_inside(of_tile, one)
        kept, window_kept = whole * indices, whole * windows
    if rest > 0:
        indices, windows = kept_inside(of_rest, one)
        kept, window_kept = kept + indices, window_kept + windows
    begin, end = here.runs[0], here.runs[here.run_count - 1]
    here.steps, here.needed, here.pieces = steps, begin.needed, begin.pieces
    here.left, here.busiest = end.needed, busiest
    here.kept, here.window_kept = kept, window_kept
    # Sums stay only where no other step comes between.
    here.stay = begin.needed if steps == 1 else 0
    here.extent = (steps - 1) * inner + busiest
    here.window = begin.needed * one.pitch + begin.pieces * one.overlap


@subroutine
def fill_outer(one):
    """The figures of the outer loop, and those that count over all steps."""
    of_tile, of_rest, last = one.of_tile, one.of_rest, one.kinds[LAST]
    places, clusters, whole, rest = one.places, one.clusters, one.whole, one.rest
    at_start = places if of_tile.steps > 1 else of_tile.pieces
    interior = one.steps - 1
    one.all_steps = interior * of_tile.steps + last.steps
    one.first_pieces = interior * clusters * at_start + last.pieces
    of_whole = (of_tile.steps - 1) * places + of_tile.pieces
    of_short = (of_rest.steps - 1) * places + of_rest.pieces if rest > 0 else 0
    one.all_pieces = (interior * clusters + whole) * of_whole + of_short
    one.next_overlap = one.last_overlap = 0
    if one.steps == 1:
        one.back_kept, one.back_window, one.back_stay = last.kept, last.window_kept, last.stay
        return
    one.back_kept = one.back_window = one.back_stay = 0
    rest_at_start = places if of_rest.steps > 1 else of_rest.pieces
    if one.overlap > 0:
        windows = kept_outside(one, at_start)
        one.next_overlap, one.last_overlap = clusters * windows, whole * windows
        if rest > 0:
            one.last_overlap += kept_outside(one, rest_at_start)
    idle = clusters - whole - int(rest > 0)
    if one.steps == 2:
        # What is idle in the last of two outer steps still has what it began with, if that was all it had.
        kept, _ = kept_inside(of_tile, one)
        one.back_kept = idle * kept
        if rest > 0 and of_tile.steps == 1:
            one.back_kept += positive_part(one.tile - rest_at_start * one.piece)
        elif rest > 0 and of_tile.steps == 2:
            one.back_kept += positive_part(places - max(of_tile.pieces, rest_at_start)) * one.piece
    stride = one.tile * clusters
    base = (one.steps - 2) * stride
    # A PE's last piece is in the last outer step, or, if it is idle there, in the one before, which begins
    # at `base`: where that is too far from the first pieces, no rows stay.
    if one.overlap > (base - one.piece) * one.pitch:
        ahead = base + stride
        windows = whole * kept_back(one, 0, at_start, one.tile, ahead)
        windows += idle * kept_back(one, 0, at_start, one.tile, base)
        if rest > 0:
            windows += kept_back(one, 0, rest_at_start, rest, ahead)
            windows += kept_back(one, rest_at_start, at_start, one.tile, base)
        one.back_window = windows
