"""One dim of a small box: the least of each part of what its pairs of tiles move, over all the pairs.

A tensor's words are a product of sums over dims less what stays (`traffic`). Let a dim's sum over all steps
be n + b + x: n stays as the inner loop advances, b as it goes back, and x is new. Of b, p stays as the outer
loop advances, q as that goes back, and y is lost. With W = I = 1, from the innermost loop out,

    W' = (b + x) W + n (W - I),   W' - I' = x W + (b + n) (W - I)

for the words that inner steps need anew (I is the product of all b). Each term is a product of parts that are
not negative, so the least of each part gives the least of all. What outer steps keep is taken off I in the
same way, V' = (b - p) V + p (V - O) and V' - O' = y V + (p + q) (V - O); b - p and y may be negative along
rows, where intervals are multiplied. A box of one pair has its words exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.models.loopnest.bound.dominance import count_pairs
from dse.models.loopnest.bound.figures import DIM_PARTS, KINDS
from dse.models.loopnest.bound.fitting import RANK, UP, C, K, Y, tile_is_cut
from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.records import DIM, INTERIOR, LAST
from dse.models.loopnest.traffic import INDICES, OUTPUTS, PES_ONLY, STEPS_ONLY, WINDOWS, add_up, over_kinds
from dse.support.arrays import FloatArray, IntArray, RecordArray
from dse.support.compiling import subroutine

# What is summed: a tensor's own indices, or rows; one a step; one a PE; outputs.
OWN, A_STEP, A_PE, OUT = range(4)
# Larger boxes of a dim, in pairs of tiles, are not looked at; entries of the memory of those that were.
LARGEST_BOX, MEMORY = 256, 1024
# A tensor and who it is counted for: L2 or the PEs.
L2_IN, PE_IN, L2_W, PE_W, L2_UP, PE_UP = range(6)
FLOWS = 6


class Parts(NamedTuple):
    """The parts (DIM_PARTS) of dims of small boxes that were looked at, and at which `places` those of a box
    are; a dim `measured` with a pair of tiles; by flow and dim what is summed; by flow the words that outer
    steps add, and all `words` of an order.
    """

    remembered: RecordArray
    places: IntArray
    measured: RecordArray
    kinds: IntArray
    added: FloatArray
    words: FloatArray


def part_arrays(depthwise: bool) -> Parts:
    """Arrays for a problem; nothing is remembered yet."""
    kinds = np.empty((FLOWS, 4), np.int64)
    for flow in range(FLOWS):
        # Inputs do not depend on K, weights on Y and X, nor outputs on channels that are summed.
        shared = A_STEP if flow % 2 == 0 else A_PE
        kinds[flow] = OUT if flow >= L2_UP else OWN
        if flow <= PE_IN:
            kinds[flow, K] = shared
        elif flow <= PE_W:
            kinds[flow, Y:] = shared
        elif not depthwise:
            kinds[flow, C] = shared
    return Parts(
        np.zeros((4, MEMORY), DIM_PARTS),
        np.empty(4, np.int64),
        np.zeros(1, DIM),
        kinds,
        np.empty(FLOWS),
        np.empty(FLOWS),
    )


@subroutine
def begin_parts(own):
    """No pair has been looked at: any is less than the least, and more than the most."""
    own.walked = 1e300
    for kind in range(KINDS):
        part = own.kinds[kind]
        part.new = part.onward = part.back = 1e300
        for spread in (part.keeps, part.lost, part.moved, part.returned):
            spread.least, spread.most = 1e300, -1e300


@subroutine
def widen_spread(spread, value):
    """Have the interval hold a value."""
    spread.least, spread.most = min(spread.least, value), max(spread.most, value)


@subroutine
def sums_of_kind(kind, dim):
    """Which sums of a dim the parts of a kind are of."""
    if kind == OWN:
        return INDICES if dim <= C else WINDOWS
    return STEPS_ONLY if kind == A_STEP else PES_ONLY if kind == A_PE else OUTPUTS


@subroutine
def add_pair(own, one, dim):
    """Widen a dim's parts by those of a pair of tiles that has been measured."""
    walked = over_kinds(one, one.kinds[LAST].extent, one.kinds[INTERIOR].extent)
    own.walked = min(own.walked, float(walked))
    for kind in range(KINDS):
        sums, part = one.sums[sums_of_kind(kind, dim)], own.kinds[kind]
        back, onward = float(sums.inner_back), float(sums.inner_next)
        moved, returned = float(sums.outer_next), float(sums.outer_back)
        part.new = min(part.new, sums.everything - onward - back)
        part.onward = min(part.onward, onward)
        part.back = min(part.back, back)
        widen_spread(part.keeps, back - moved)
        widen_spread(part.lost, back - moved - returned)
        widen_spread(part.moved, moved)
        widen_spread(part.returned, returned)


@subroutine
def set_parts(own, dim, start, known, one):
    """Fills a dim's parts with the least of all pairs of its tiles that are not dominated."""
    layer, tiles, counts, box = known.problem.layer, known.tiles, known.counts, own.of
    size = layer.sizes[dim]
    one.extent, one.clusters, one.places = size, own.across, own.places
    one.pitch = layer.pitches[dim - Y] if dim >= Y else 1
    one.overlap = layer.overlaps[dim - Y] if dim >= Y else 0
    begin_parts(own)
    for tile in range(box.low, box.high + 1):
        if tiles[UP, dim, tile] != tile:
            continue
        for inner in range(box.least, min(box.most, tile) + 1):
            if tiles[UP, dim, inner] != inner or not tile_is_cut(tile, inner, known):
                continue
            if start >= 0 and count_pairs(counts, start, size + 1, (tile, tile), (inner, inner)) == 0:
                continue
            one.tile, one.piece = tile, inner
            measure_dim(one)
            add_up(one, dim)
            add_pair(own, one, dim)


@subroutine
def has_few_pairs(box, tiles):
    """Whether all dims of a box have few pairs of tiles."""
    for dim in range(4):
        one = box[dim]
        outer = tiles[RANK, dim, one.high] - tiles[RANK, dim, one.low] + 1
        pairs = outer * (tiles[RANK, dim, one.most] - tiles[RANK, dim, one.least] + 1)
        if pairs > LARGEST_BOX:
            return False
    return True


@subroutine
def find_parts(box, choice, starts, known, parts):
    """Sees to it that each dim of a box has its parts in `remembered`, at `parts.places` (4)."""
    clusters = known.problem.machine.pes // choice[0]
    for dim in range(4):
        one = box[dim]
        across = clusters if dim == choice[1] else 1
        places = choice[0] if dim == choice[2] else 1
        # A box has most of its dims from the one it was divided from: their parts are there.
        mixed = one.low
        for value in (one.high, one.least, one.most, across, places):
            mixed = mixed * 31 + value
        parts.places[dim] = mixed % MEMORY
        own = parts.remembered[dim, parts.places[dim]]
        of = own.of
        same = of.low == one.low and of.high == one.high and of.least == one.least and of.most == one.most
        if same and own.across == across and own.places == places:
            continue
        of.low, of.high, of.least, of.most = one.low, one.high, one.least, one.most
        own.across, own.places = across, places
        set_parts(own, dim, starts[dim], known, parts.measured[0])


@subroutine
def inner_words(parts, kinds, order):
    """Words that the inner steps of a small box need anew, at least, in an order of loops: W - I above."""
    words, differ = 1.0, 0.0
    for level in range(3, -1, -1):
        dim = order[level]
        part = parts.remembered[dim, parts.places[dim]].kinds[kinds[dim]]
        new, onward, back = part.new, part.onward, part.back
        words, differ = (back + new) * words + onward * differ, new * words + (back + onward) * differ
    return differ


@subroutine
def outer_words(parts, kinds, order):
    """Words that a small box adds as its outer loop advances, at least, in an order of its loops: V above."""
    low = high = 1.0
    apart = apart_high = 0.0
    for level in range(3, -1, -1):
        dim = order[level]
        part = parts.remembered[dim, parts.places[dim]].kinds[kinds[dim]]
        moved, more = part.moved.least, part.moved.most
        first = multiply_spreads(part.keeps.least, part.keeps.most, low, high)
        second = multiply_spreads(moved, more, apart, apart_high)
        third = multiply_spreads(part.lost.least, part.lost.most, low, high)
        both, both_high = moved + part.returned.least, more + part.returned.most
        fourth = multiply_spreads(both, both_high, apart, apart_high)
        low, high = first[0] + second[0], first[1] + second[1]
        apart, apart_high = third[0] + fourth[0], third[1] + fourth[1]
    return low


@subroutine
def multiply_spreads(low, high, other_low, other_high):
    """The product of two intervals."""
    first, second = low * other_low, low * other_high
    third, fourth = high * other_low, high * other_high
    return min(min(first, second), min(third, fourth)), max(max(first, second), max(third, fourth))
