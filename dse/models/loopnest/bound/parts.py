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

from dse.models.loopnest.bound.dominance import within
from dse.models.loopnest.bound.fitting import HIGH, LEAST, LOW, MOST, RANK, UP, cuts
from dse.models.loopnest.extents import measure
from dse.models.loopnest.params import DEPTHWISE, OVERLAPS, PES, PITCHES, SIZES
from dse.models.loopnest.records import DIM, INTERIOR, LAST
from dse.models.loopnest.traffic import (
    INDICES,
    OUTPUTS,
    PES_ONLY,
    STEPS_ONLY,
    WINDOWS,
    add_up,
    over_kinds,
)
from dse.support.arrays import FloatArray, IntArray, RecordArray
from dse.support.compiling import subroutine

K, C, Y = range(3)
# What is summed: a tensor's own indices, or rows; one a step; one a PE; outputs.
OWN, A_STEP, A_PE, OUT = range(4)
KINDS = 4
# The parts x, n and b, at least; then b - p, y, p and q, at least and at most.
NEW, NEXT, BACK, KEEPS, LOST, MOVED, RETURNED = 0, 1, 2, 3, 5, 7, 9
PART_COLUMNS = 11
# A dim's row: the parts of each kind, and what its first PE goes through in all steps.
WALKED = KINDS * PART_COLUMNS
ROW = WALKED + 1
# Larger boxes of a dim, in pairs of tiles, are not looked at; entries of the memory of those that were.
LARGEST_BOX = 256
MEMORY, KEY = 1024, 6
# A tensor and who it is counted for: L2 or the PEs.
L2_IN, PE_IN, L2_W, PE_W, L2_UP, PE_UP = range(6)
FLOWS = 6


class Parts(NamedTuple):
    """Rows of dims of small boxes that were looked at, by `keys`, and at which `places` those of a box are;
    a dim `measured` with a pair of tiles; by flow and dim what is summed, and the words that outer steps add.
    """

    keys: IntArray
    rows: FloatArray
    places: IntArray
    measured: RecordArray
    kinds: IntArray
    added: FloatArray


def part_arrays(params: IntArray) -> Parts:
    """Arrays for a problem with these figures; nothing is remembered yet."""
    kinds = np.empty((FLOWS, 4), np.int64)
    for flow in range(FLOWS):
        shared = A_STEP if flow % 2 == 0 else A_PE
        kinds[flow] = OUT if flow >= L2_UP else OWN
        if flow <= PE_IN:
            kinds[flow, K] = shared
        elif flow <= PE_W:
            kinds[flow, Y:] = shared
        elif params[DEPTHWISE] == 0:
            kinds[flow, C] = shared
    return Parts(
        np.full((4, MEMORY, KEY), -1, np.int64),
        np.empty((4, MEMORY, ROW)),
        np.empty(4, np.int64),
        np.zeros(1, DIM),
        kinds,
        np.empty(FLOWS),
    )


@subroutine
def least_parts(row, box, dim, across, places, start, known, parts):
    """Fills a dim's row with the least of all pairs of tiles of the box that are not dominated."""
    params, tiles, counts = known.params, known.tiles, known.counts
    size, one = params[SIZES + dim], parts.measured[0]
    one.extent, one.clusters, one.places = size, across, places
    one.pitch = params[PITCHES + dim - Y] if dim >= Y else 1
    one.overlap = params[OVERLAPS + dim - Y] if dim >= Y else 0
    for kind in range(KINDS):
        at = kind * PART_COLUMNS
        for column in range(PART_COLUMNS):
            most = column > KEEPS and column % 2 == 0
            row[at + column] = -1e300 if most else 1e300
    row[WALKED] = 1e300
    for tile in range(box[dim, LOW], box[dim, HIGH] + 1):
        if tiles[UP, dim, tile] != tile:
            continue
        for inner in range(box[dim, LEAST], min(box[dim, MOST], tile) + 1):
            if tiles[UP, dim, inner] != inner or not cuts(tile, inner, known):
                continue
            if start >= 0 and within(counts, start, size + 1, tile, tile, inner, inner) == 0:
                continue
            one.tile, one.piece = tile, inner
            measure(one)
            add_up(one, dim)
            walked = over_kinds(one, one.kinds[LAST].extent, one.kinds[INTERIOR].extent)
            row[WALKED] = min(row[WALKED], float(walked))
            for kind in range(KINDS):
                which = INDICES if dim <= C else WINDOWS
                if kind != OWN:
                    which = STEPS_ONLY if kind == A_STEP else PES_ONLY if kind == A_PE else OUTPUTS
                sums = one.sums[which]
                back, onward = float(sums.inner_back), float(sums.inner_next)
                moved, returned = float(sums.outer_next), float(sums.outer_back)
                at = kind * PART_COLUMNS
                row[at + NEW] = min(row[at + NEW], sums.everything - onward - back)
                row[at + NEXT] = min(row[at + NEXT], onward)
                row[at + BACK] = min(row[at + BACK], back)
                widen(row, at + KEEPS, back - moved)
                widen(row, at + LOST, back - moved - returned)
                widen(row, at + MOVED, moved)
                widen(row, at + RETURNED, returned)


@subroutine
def widen(row, column, value):
    """Widens the interval at a column to a value."""
    row[column], row[column + 1] = min(row[column], value), max(row[column + 1], value)


@subroutine
def small(box, tiles):
    """Whether all dims of a box have few pairs of tiles."""
    for dim in range(4):
        outer = tiles[RANK, dim, box[dim, HIGH]] - tiles[RANK, dim, box[dim, LOW]] + 1
        pairs = outer * (tiles[RANK, dim, box[dim, MOST]] - tiles[RANK, dim, box[dim, LEAST]] + 1)
        if pairs > LARGEST_BOX:
            return False
    return True


@subroutine
def recall(box, choice, starts, known, parts):
    """Sees to it that each dim of a box has its row in `parts.rows`, at `parts.places` (4)."""
    clusters = known.params[PES] // choice[0]
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        places = choice[0] if dim == choice[2] else 1
        mixed = box[dim, LOW]
        for value in (box[dim, HIGH], box[dim, LEAST], box[dim, MOST], across, places):
            mixed = mixed * 31 + value
        place = mixed % MEMORY
        parts.places[dim] = place
        key = parts.keys[dim, place]
        same = key[LOW] == box[dim, LOW] and key[HIGH] == box[dim, HIGH] and key[LEAST] == box[dim, LEAST]
        if same and key[MOST] == box[dim, MOST] and key[4] == across and key[5] == places:
            continue
        for column in range(4):
            key[column] = box[dim, column]
        key[4], key[5] = across, places
        least_parts(parts.rows[dim, place], box, dim, across, places, starts[dim], known, parts)


@subroutine
def inner_words(parts, kinds, order):
    """Words that the inner steps of a small box need anew, at least, in an order of loops."""
    words, differ = 1.0, 0.0
    for level in range(3, -1, -1):
        dim = order[level]
        row, at = parts.rows[dim, parts.places[dim]], kinds[dim] * PART_COLUMNS
        new, onward, back = row[at + NEW], row[at + NEXT], row[at + BACK]
        words, differ = (back + new) * words + onward * differ, new * words + (back + onward) * differ
    return differ


@subroutine
def outer_words(parts, kinds, order):
    """Words that a small box adds as its outer loop advances, at least, in an order of its loops."""
    low = high = 1.0
    apart = apart_high = 0.0
    for level in range(3, -1, -1):
        dim = order[level]
        row, at = parts.rows[dim, parts.places[dim]], kinds[dim] * PART_COLUMNS
        moved, more = row[at + MOVED], row[at + MOVED + 1]
        first = times(row[at + KEEPS], row[at + KEEPS + 1], low, high)
        second = times(moved, more, apart, apart_high)
        third = times(row[at + LOST], row[at + LOST + 1], low, high)
        both, both_high = moved + row[at + RETURNED], more + row[at + RETURNED + 1]
        fourth = times(both, both_high, apart, apart_high)
        low, high = first[0] + second[0], first[1] + second[1]
        apart, apart_high = third[0] + fourth[0], third[1] + fourth[1]
    return low


@subroutine
def times(low, high, other_low, other_high):
    """The product of two intervals."""
    first, second = low * other_low, low * other_high
    third, fourth = high * other_low, high * other_high
    return min(min(first, second), min(third, fourth)), max(max(first, second), max(third, fourth))
