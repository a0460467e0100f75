"""One dim of a box of mappings: what no pair of tiles in it is below.

A box has outer tiles from `low` to `high` and inner tiles from `least` to `most`. All figures are of the
tiles of the box that have the fewest steps, the fewest pieces or the smallest footprint, each on its own.
"""

from __future__ import annotations

from dse.models.loopnest.bound.fitting import HIGH, LEAST, LOW, MOST
from dse.models.loopnest.params import OVERLAPS, PITCHES, SIZES
from dse.models.loopnest.traffic import Y
from dse.support.compiling import subroutine

# Outer steps; indices of the first and of the last one; inner steps of all outer ones; PEs at work in all
# steps, in the first inner step of each outer one, and in the very first step.
OUTER_STEPS, SPAN, LAST_SPAN, STEPS, PIECES, FIRST_PIECES, BEGIN_PIECES = range(7)
# Indices that the busiest PE goes through; input rows (or indices) that all pieces need, those that they need
# if neighbours share, those of the first step; indices of the first step; whether the inner loop can move;
# the least inner tile; SERIAL of the last outer step.
SERIAL, NEEDS, ROWS, FIRST_WINDOW, FIRST, CAN_MOVE, PIECE, LAST_SERIAL = range(7, 15)
COLUMNS = 15
# Shares. MOVES: of the indices, those in outer steps whose inner loop has several steps for certain;
# IF_MOVES: the same if it has several in some outer step; AGAIN: of what a tensor needs along the dim, what
# has to be loaded again each time that a loop goes back; BEYOND: what is not in the loop's first step;
# ALIKE: 1 where the inner loop moves in all outer steps or in none.
MOVES, IF_MOVES, AGAIN, BEYOND, ALIKE = range(5)
SHARES = 5


@subroutine
def quotient(amount, by):
    """The quotient, rounded up."""
    return -int(-amount // by)


@subroutine
def busiest(extent, least, most, places):
    """Indices that the first PE of a cluster with so many goes through, at least."""
    if places == 1:
        return extent
    if least == most:
        whole = extent // (least * places)
        return whole * least + min(least, extent - whole * least * places)
    found = max(quotient(extent, places), min(least, extent))
    return max(found, (quotient(extent, most * places) - 1) * least + 1)


@subroutine
def measure_box(box, dim, clusters, places, params, scratch):
    """Fills the columns and the shares of a dim; `clusters` and `places` are 1 where it is not parallel."""
    dims, shares = scratch.dims, scratch.shares
    size, pitch, overlap = params[SIZES + dim], 1, 0
    if dim >= Y:
        pitch, overlap = params[PITCHES + dim - Y], params[OVERLAPS + dim - Y]
    low, high, least, most = box[dim, LOW], box[dim, HIGH], box[dim, LEAST], box[dim, MOST]
    steps, most_steps = quotient(size, high * clusters), quotient(size, low * clusters)
    span = min(low * clusters, size)
    tiles, most_tiles = quotient(size, high), quotient(size, low)
    one = steps == most_steps
    point = low == high
    # What the first clusters go through in all outer steps.
    extents = size
    if clusters > 1:
        extents = max(quotient(size, clusters), low)
        if one:
            of_low = (steps - 1) * low + min(low, size - (steps - 1) * low * clusters)
            of_high = (steps - 1) * high + min(high, size - (steps - 1) * high * clusters)
            extents = max(extents, min(of_low, of_high))
    # The first cluster's extent in the last outer step.
    last = 1
    if steps == 1 and one:
        last = low
    elif one:
        last = max(1, min(low, size - (steps - 1) * high * clusters))
    together = most * places
    dims[dim, OUTER_STEPS], dims[dim, SPAN] = steps, span
    dims[dim, LAST_SPAN] = 1
    if one:
        dims[dim, LAST_SPAN] = size if steps == 1 else max(1, size - (steps - 1) * high * clusters)
    inner = quotient(low, together)
    inner_last = quotient(last, together)
    found = max(steps, quotient(extents, together))
    found = max(found, (steps - 1) * inner + inner_last)
    dims[dim, STEPS] = found
    in_tile = quotient(low, most)
    pieces = max(quotient(size, most), (tiles - 1) * in_tile + 1)
    dims[dim, PIECES] = pieces
    at_start = min(places, in_tile)
    dims[dim, FIRST_PIECES] = (tiles - 1) * at_start + 1
    begin = min(clusters, tiles)
    full = tiles > clusters or (tiles == 1 and most_tiles == 1)
    if full:
        dims[dim, BEGIN_PIECES] = begin * at_start
        dims[dim, FIRST] = begin * min(least * places, low)
    else:
        dims[dim, BEGIN_PIECES] = (begin - 1) * at_start + 1
        # The last of the clusters has what the others leave.
        rest = min(size - (tiles - 1) * high, low) if tiles == most_tiles else 1
        dims[dim, FIRST] = (begin - 1) * min(least * places, low) + max(1, min(least * places, rest))
    dims[dim, FIRST_WINDOW] = dims[dim, FIRST] * pitch + dims[dim, BEGIN_PIECES] * overlap
    if places == 1 and point:
        dims[dim, SERIAL] = extents
    elif point:
        dims[dim, SERIAL] = (steps - 1) * busiest(low, least, most, places) + busiest(
            last, least, most, places
        )
    else:
        serial = max(extents if places == 1 else quotient(extents, places), 1)
        dims[dim, SERIAL] = max(serial, (steps - 1) * busiest(low, least, most, places) + 1)
    dims[dim, PIECE], dims[dim, LAST_SERIAL] = least, busiest(last, least, most, places)
    # Rows or columns.
    needs = size * pitch + pieces * overlap
    advance = max(0, overlap - (places - 1) * least * pitch)
    most_first = most_tiles * min(places, quotient(high, least))
    rows = size * pitch + max(0, pieces - most_first) * (overlap - advance)
    dims[dim, NEEDS], dims[dim, ROWS] = needs, rows
    # How the inner loop moves.
    most_inner = quotient(high, least * places)
    dims[dim, CAN_MOVE] = int(most_inner > 1)
    share = 1.0
    if most_steps > 1:
        some = max(steps, 2)
        share = max((size - high * clusters) / size, (some - 1) / some)
        # The first cluster has a whole tile in the last outer step too.
        if clusters > 1 and one and size - (steps - 1) * high * clusters >= high:
            share = 1.0
    shares[dim, IF_MOVES] = share if most_inner > 1 else 0.0
    always = inner_last > 1
    shares[dim, MOVES] = 0.0
    if inner > 1:
        shares[dim, MOVES] = 1.0 if always else share
    shares[dim, ALIKE] = 1.0 if always or most_inner == 1 or most_steps == 1 else 0.0
    shares[dim, BEYOND] = max(0.0, 1.0 - together / low)
    counts = (steps, most_steps, inner, most_inner)
    shares[dim, AGAIN] = loaded_again(size, box[dim], clusters, places, counts)


@subroutine
def loaded_again(size, tiles, clusters, places, counts):
    """The share that has to be loaded again as a loop goes back: less than 1 where PEs stand idle at its end.

    A PE that has nothing to do in the second of two steps still has what it had in the first. `tiles` are
    those of the dim, `counts` its fewest and most outer steps, and its fewest and most inner ones.
    """
    low, high, most = tiles[LOW], tiles[HIGH], tiles[MOST]
    steps, most_steps, inner, most_inner = counts
    share = 1.0
    if clusters > 1 and size > low:
        # The last cluster may have one inner step where others have more.
        tiles = quotient(size, high)
        rest = high - 1
        if tiles == quotient(size, low):
            rest = min(rest, size - (tiles - 1) * low)
        share = max(0.0, 1.0 - max(rest, 0) / size) if tiles > 1 else 0.0
    if places > 1 and most_inner > 1 and inner <= 2:
        further = max(1, quotient(low, most) - places)
        share *= (2 * further - 1) / (places + further - 1)
    if (clusters > 1 or places > 1) and most_steps > 1 and steps <= 2:
        span = min(high * clusters, size - 1)
        share = min(share, (size - span) / size)
    return share
