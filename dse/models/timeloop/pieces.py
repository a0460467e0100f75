"""The pieces of dims and axes where tiles need not divide, compiled: what `ragged` has as counters.

Along a dim there are as many lengths of pieces at most as loops, and one: the whole tile, and what is left of
each longer piece. Along an axis of two dims the numbers of pieces are in a matrix, as children of a fan-out
over both may need the same data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dse.models.timeloop.nest import common_divisor
from dse.support.compiling import subroutine, subroutine_with_arrays


class Cuts(NamedTuple):
    """What a row with lengths is read into, and the pieces of a dim or an axis.

    `lengths` (dims, slots + 1) begin with the whole dim. Temporal loops are the innermost first: their dim
    and level. `free` (dims) says of how many outer levels the temporal loops step; those further in are at
    their first step. Of the pieces of two dims there are the `length`, `many` of one, and `pairs` of both.
    `everywhere` are the accesses of all instances.
    """

    lengths: Any
    loop_dim: Any
    loop_level: Any
    free: Any
    length: Any
    many: Any
    rest: Any
    pairs: Any
    parts: Any
    everywhere: Any


@subroutine_with_arrays
def make_cuts(known):
    """Arrays to work in."""
    dims, places = len(known.sizes), len(known.levels)
    most = 2 * places + 2
    return Cuts(
        np.empty((dims, 2 * places + 1), np.int64),
        np.empty(places * dims, np.int64),
        np.empty(places * dims, np.int64),
        np.empty(dims, np.int64),
        np.empty((2, most), np.int64),
        np.empty(most, np.int64),
        np.empty((2, most), np.int64),
        np.empty((most, most), np.int64),
        np.empty((most, most), np.int64),
        np.empty((places, len(known.bits), 3), np.int64),
    )


@subroutine
def pieces_along(known, cuts, dim, tensor, place, child, every):
    """How many pieces of a dim there are: see `cut_along`."""
    found, total = cut_along(known, cuts, dim, tensor, place, child, every), 0
    for piece in range(found):
        total += cuts.many[piece]
    return total


@subroutine
def cut_along(known, cuts, dim, tensor, place, child, every):
    """Cuts a dim into the pieces that the instances of `child` get, and returns how many lengths there are.

    Of the fan-outs outside of `place` it is the first instance, or `every` one; of those inside, where they
    share the data of a `tensor` that the dim does not move, the first.
    """
    length, many, free = cuts.length[0], cuts.many, cuts.free[dim]
    length[0], many[0] = cuts.lengths[dim, 0], 1
    found = 1
    for slot in range(2 * child):
        tile, level = cuts.lengths[dim, slot + 1], slot // 2
        if tile == cuts.lengths[dim, slot]:
            continue
        if slot % 2 == 0:
            all_pieces = level < free
        elif level < place:
            all_pieces = every
        else:
            all_pieces = known.moves[tensor, dim, 0, 1] != 0 or not shares_reads(known, tensor, level)
        whole, rests = 0, 0
        for piece in range(found):
            long, number = length[piece], many[piece]
            if all_pieces:
                whole += long // tile * number
                long %= tile
            elif long >= tile:
                whole += number
                long = 0
            if long:
                # A piece leaves one rest at most: none is written over that is still to be read.
                length[rests], many[rests] = long, number
                rests += 1
        if whole:
            length[rests], many[rests] = tile, whole
            rests += 1
        found = rests
    return found


@subroutine
def shares_reads(known, tensor, level):
    """Whether children that need the same words of a tensor get them by one read."""
    if tensor == known.output:
        return known.levels[level].reduction != 0
    return known.levels[level].multicast != 0


@subroutine
def axis_words(known, axis, cuts, tensor, asked, along):
    """Words along an axis of all pieces; `along` a dim of it, only those that a step of it brings. Of the
    MACs, how many pieces there are.
    """
    place, child, every = asked
    one, two = axis[0, 0], axis[1, 0]
    if two < 0:
        found, total = cut_along(known, cuts, one, tensor, place, child, every), 0
        for piece in range(found):
            words = 1
            if child < len(known.levels):
                words = axis[0, 1] * cuts.length[0, piece]
                if along < 0:
                    words += 1 - axis[0, 1]
                else:
                    words = min(words, words + 1 - axis[0, 1])
            total += words * cuts.many[piece]
        return total
    ones, twos = cut_both(known, axis, cuts, tensor, asked)
    total = 0
    for i in range(ones):
        for j in range(twos):
            words = 1
            if child < len(known.levels):
                first, second = axis[0, 1] * cuts.length[0, i], axis[1, 1] * cuts.length[1, j]
                words = 1 + first - axis[0, 1] + second - axis[1, 1]
                if along >= 0:
                    words = min(words, first if along == one else second)
            total += words * cuts.pairs[i, j]
    return total


@subroutine
def cut_both(known, axis, cuts, tensor, asked):
    """As `cut_along`, for both dims of an axis: the numbers of pieces are in `pairs`."""
    place, child, every = asked
    one, two = axis[0, 0], axis[1, 0]
    length, pairs, parts = cuts.length, cuts.pairs, cuts.parts
    length[0, 0], length[1, 0], pairs[0, 0] = cuts.lengths[one, 0], cuts.lengths[two, 0], 1
    ones, twos = 1, 1
    for slot in range(2 * child):
        level = slot // 2
        tile, other = cuts.lengths[one, slot + 1], cuts.lengths[two, slot + 1]
        if tile == cuts.lengths[one, slot] and other == cuts.lengths[two, slot]:
            continue
        spread = slot % 2 == 1
        every_one = (level >= place or every) if spread else level < cuts.free[one]
        every_two = (level >= place or every) if spread else level < cuts.free[two]
        alike = spread and level >= place and shares_reads(known, tensor, level)
        new_ones = rests_of(cuts, 0, ones, tile, every_one)
        new_twos = rests_of(cuts, 1, twos, other, every_two)
        for i in range(new_ones):
            for j in range(new_twos):
                parts[i, j] = 0
        for i in range(ones):
            for j in range(twos):
                number = pairs[i, j]
                wide = length[0, i] // tile if every_one else min(1, length[0, i] // tile)
                high = length[1, j] // other if every_two else min(1, length[1, j] // other)
                here = wide * high
                if alike and here:
                    here = places_of(wide, axis[0, 1] * tile, high, axis[1, 1] * other)
                parts[0, 0] += number * here
                a, b = cuts.rest[0, i], cuts.rest[1, j]
                if a:
                    parts[a, 0] += number * high
                if b:
                    parts[0, b] += number * wide
                if a and b:
                    parts[a, b] += number
        cut_lengths(cuts, 0, ones, tile)
        cut_lengths(cuts, 1, twos, other)
        ones, twos = new_ones, new_twos
        for i in range(ones):
            for j in range(twos):
                pairs[i, j] = parts[i, j]
    return ones, twos


@subroutine
def rests_of(cuts, which, found, tile, all_pieces):
    """Numbers the rests that pieces leave from 1 on, 0 for none; returns how many lengths there will be."""
    length, rest = cuts.length[which], cuts.rest[which]
    rests = 1
    for piece in range(found):
        rest[piece] = 0
        if length[piece] < tile or (all_pieces and length[piece] % tile):
            rest[piece] = rests
            rests += 1
    return rests


@subroutine
def cut_lengths(cuts, which, found, tile):
    """The lengths of whole tiles and of the rests that `rests_of` has numbered."""
    length, rest = cuts.length[which], cuts.rest[which]
    # The whole tile goes first, and what stands there moves behind: all are read before any is written.
    for piece in range(found):
        if rest[piece]:
            cuts.many[rest[piece]] = length[piece] if length[piece] < tile else length[piece] % tile
    for piece in range(found):
        if rest[piece]:
            length[rest[piece]] = cuts.many[rest[piece]]
    length[0] = tile


@subroutine
def places_of(wide, step, high, other):
    """At how many different places so many steps of two lengths, added up, end."""
    common = common_divisor(step, other)
    return wide * high - max(0, wide - other // common) * max(0, high - step // common)
