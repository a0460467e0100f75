"""One dim of a box of mappings: what no pair of tiles in it is below.

A box has outer tiles from `low` to `high` and inner tiles from `least` to `most`. All figures are of the
tiles of the box that have the fewest steps, the fewest pieces or the smallest footprint, each on its own.
"""

from __future__ import annotations

from dse.models.loopnest.traffic import Y
from dse.support.compiling import subroutine


@subroutine
def ceil_quotient(amount, by):
    """The quotient, rounded up."""
    return -int(-amount // by)


@subroutine
def busiest_indices(extent, least, most, places):
    """Indices that the first PE of a cluster with so many goes through, at least."""
    if places == 1:
        return extent
    # Whole rounds, and what the first PE, which takes its piece first, has of the one that is cut.
    if least == most:
        whole = extent // (least * places)
        return whole * least + min(least, extent - whole * least * places)
    # No less than an even share, than one inner tile, or than all rounds but the last, which has an index.
    found = max(ceil_quotient(extent, places), min(least, extent))
    return max(found, (ceil_quotient(extent, most * places) - 1) * least + 1)


@subroutine
def measure_dim(tiles, dim, clusters, places, layer, found):
    """Fills `found` for a dim's tiles; `clusters` and `places` are 1 where it is not parallel."""
    size, pitch, overlap = layer.sizes[dim], 1, 0
    if dim >= Y:
        pitch, overlap = layer.pitches[dim - Y], layer.overlaps[dim - Y]
    steps = ceil_quotient(size, tiles.high * clusters), ceil_quotient(size, tiles.low * clusters)
    found.outer_steps = steps[0]
    last = set_steps(tiles, size, clusters, places, steps, found)
    set_pieces(tiles, size, clusters, places, found)
    found.first_window = found.first * pitch + found.begin_pieces * overlap
    set_rows(tiles, size, places, pitch, overlap, found)
    set_shares(tiles, size, clusters, places, (*steps, last), found)


@subroutine
def set_steps(tiles, size, clusters, places, steps, found):
    """Fills what a dim's steps cover; returns the first cluster's extent in the last outer one.

    Outer steps are fewest with the largest tiles, `steps` the fewest and the most. What is not the same for
    all tiles counts as the least that it can be, an index.
    """
    low, high, least, most = tiles.low, tiles.high, tiles.least, tiles.most
    fewest, decided = steps[0], steps[0] == steps[1]
    # What the first clusters go through in all outer steps.
    extents = size
    if clusters > 1:
        extents = max(ceil_quotient(size, clusters), low)
        if decided:
            # Concave in the tile, with as many steps for all: least at one of the ends.
            of_low = (fewest - 1) * low + min(low, size - (fewest - 1) * low * clusters)
            of_high = (fewest - 1) * high + min(high, size - (fewest - 1) * high * clusters)
            extents = max(extents, min(of_low, of_high))
    last = 1
    if fewest == 1 and decided:
        last = low
    elif decided:
        last = max(1, min(low, size - (fewest - 1) * high * clusters))
    found.span, found.last_span = min(low * clusters, size), 1
    if decided:
        found.last_span = size if fewest == 1 else max(1, size - (fewest - 1) * high * clusters)
    together = most * places
    inner, inner_last = ceil_quotient(low, together), ceil_quotient(last, together)
    # With more outer steps than the fewest, one more has `inner` steps, and the last has one at least.
    found.steps = max(max(fewest, ceil_quotient(extents, together)), (fewest - 1) * inner + inner_last)
    in_last = busiest_indices(last, least, most, places)
    found.last_serial = in_last
    if low == high:
        in_others = (fewest - 1) * busiest_indices(low, least, most, places)
        found.serial = extents if places == 1 else in_others + in_last
    else:
        serial = max(extents if places == 1 else ceil_quotient(extents, places), 1)
        found.serial = max(serial, (fewest - 1) * busiest_indices(low, least, most, places) + 1)
    return last


@subroutine
def set_pieces(tiles, size, clusters, places, found):
    """Fills at how many PEs a dim is at work: over all steps, as outer ones begin, and at the very start."""
    low, high, least, most = tiles.low, tiles.high, tiles.least, tiles.most
    fewest, most_tiles, in_tile = (
        ceil_quotient(size, high),
        ceil_quotient(size, low),
        ceil_quotient(low, most),
    )
    found.pieces = max(ceil_quotient(size, most), (fewest - 1) * in_tile + 1)
    at_start, begin = min(places, in_tile), min(clusters, fewest)
    found.first_pieces = (fewest - 1) * at_start + 1
    # Whole tiles alone are in the first step where there are more than clusters, or the only one is all.
    if fewest > clusters or (fewest == 1 and most_tiles == 1):
        found.begin_pieces = begin * at_start
        found.first = begin * min(least * places, low)
    else:
        found.begin_pieces = (begin - 1) * at_start + 1
        # The last of the clusters has what the others leave.
        rest = min(size - (fewest - 1) * high, low) if fewest == most_tiles else 1
        found.first = (begin - 1) * min(least * places, low) + max(1, min(least * places, rest))


@subroutine
def set_rows(tiles, size, places, pitch, overlap, found):
    """Fills the input rows (columns, or indices) that pieces need: each its own, or shared by neighbours.

    A PE keeps what its next inner step needs again, at most `overlap` less what the others go on by.
    """
    found.needs = size * pitch + found.pieces * overlap
    # Pieces of first inner steps may get all of their overlap from the outer step before.
    advance = max(0, overlap - (places - 1) * tiles.least * pitch)
    most_first = ceil_quotient(size, tiles.low) * min(places, ceil_quotient(tiles.high, tiles.least))
    found.rows = size * pitch + max(0, found.pieces - most_first) * (overlap - advance)


@subroutine
def set_shares(tiles, size, clusters, places, steps, found):
    """Fills how the inner loop moves; `steps` are the fewest and the most, and the last one's extent."""
    low, high, together = tiles.low, tiles.high, tiles.most * places
    fewest, most_steps, last = steps
    inner, most_inner = ceil_quotient(low, together), ceil_quotient(high, tiles.least * places)
    found.can_move = int(most_inner > 1)
    share = 1.0
    if most_steps > 1:
        # Only the last outer step may be too short for it; of n steps it is at most one n-th of the indices.
        some = max(fewest, 2)
        share = max((size - high * clusters) / size, (some - 1) / some)
        # The first cluster has a whole tile in the last outer step too.
        if clusters > 1 and fewest == most_steps and size - (fewest - 1) * high * clusters >= high:
            share = 1.0
    found.if_moves = share if most_inner > 1 else 0.0
    always = ceil_quotient(last, together) > 1
    found.moves = 0.0
    if inner > 1:
        found.moves = 1.0 if always else share
    found.uniform = 1.0 if always or most_inner == 1 or most_steps == 1 else 0.0
    found.beyond = max(0.0, 1.0 - together / low)
    inside = 1.0
    if places > 1 and most_inner > 1:
        inside = loaded_again_inside(low, tiles.most, places)
        # The last outer step of a single cluster may be shorter, and leave more of its PEs idle at its end.
        if always and clusters == 1:
            inside = share * inside + (1.0 - share) * loaded_again_inside(last, tiles.most, places)
    found.again = loaded_again(size, tiles, (clusters, places), (fewest, most_steps), inside)


@subroutine
def loaded_again_inside(extent, most, places):
    """The share of a cluster's indices, `extent` or more, that its PEs load again as an inner loop that moves
    goes back: all, unless it has two steps.

    A PE that is idle in the second step still has what it had in the first. Of P + n pieces all but the last
    are whole, and P - n PEs keep one each: at least 2 n - 1 of P + n - 1 are loaded again.
    """
    pieces = ceil_quotient(extent, most)
    if pieces > 2 * places:
        return 1.0
    again = max(1, pieces - places)
    return (2 * again - 1) / (places + again - 1)


@subroutine
def loaded_again(size, tiles, spread, steps, inside):
    """The share that has to be loaded again as a loop goes back: less than 1 where PEs stand idle at its end.

    `spread` are clusters and PEs, `steps` the fewest and the most outer steps; of a whole tile, `inside` is
    loaded again as the inner loop goes back.
    """
    low, high = tiles.low, tiles.high
    (clusters, places), (fewest_steps, most_steps) = spread, steps
    share = 1.0
    if clusters > 1 and size > low:
        # The last cluster may have one inner step where others have more.
        fewest, rest = ceil_quotient(size, high), high - 1
        if fewest == ceil_quotient(size, low):
            rest = min(rest, size - (fewest - 1) * low)
        share = max(0.0, 1.0 - max(rest, 0) / size) if fewest > 1 else 0.0
    share *= inside
    # Of two outer steps, PEs that are idle in the second may have all of the first.
    if (clusters > 1 or places > 1) and most_steps > 1 and fewest_steps <= 2:
        span = min(high * clusters, size - 1)
        share = min(share, (size - span) / size)
    return share
