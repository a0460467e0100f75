"""Pairs of an outer and an inner tile of a dim that need not be looked at, where words alone count.

A pair is dominated by one of smaller tiles with as many outer steps that moves no more, whatever the tiles of
the other dims: some best mapping has undominated pairs only. With the parts of `parts` (x, n, b, p, q), what
inner steps need anew of a tensor rises with x, n and b, and of what outer ones add, V' = b V - p O and
O' = q O, V rises with b and falls with p and q as long as no V is negative. It may be for inputs where
neighbouring windows overlap: there b, p and q have to be equal. Words of DRAM are W' = A W - E I, I' = F I
with neither negative: they rise with A and fall with E and F. Smaller tiles take no more of L1 and L2.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.records import DIM
from dse.models.loopnest.traffic import (
    INDICES,
    OUTPUTS,
    PES_ONLY,
    STEPS_ONLY,
    WINDOWS,
    C,
    K,
    Y,
    add_up,
    real_windows,
)
from dse.support.compiling import kernel, subroutine

# Eight figures of each of the four kinds of sums of a dim, and three of DRAM: a pair with less is no worse.
OF_A_KIND, AT_DRAM = 8, 32
FIGURES = AT_DRAM + 3
KEPT = 6
"""Undominated pairs that a pair is set beside: of the same inner and of the same outer tile."""


@subroutine
def set_figures(figures, one, layer, dim):
    """Writes what is compared of a pair that has been measured."""
    overlaps = layer.overlaps[0] + layer.overlaps[1] > 0
    for place in range(4):
        kind = INDICES if dim <= C else WINDOWS
        of_inputs = dim != K
        if place > 0:
            kind = STEPS_ONLY if place == 1 else PES_ONLY if place == 2 else OUTPUTS
            # Of K, which is none of their dims, inputs have the sums of steps and of PEs.
            of_inputs = dim == K and place < 3
        sums = one.sums[kind]
        onward, back, moved, returned = sums.inner_next, sums.inner_back, sums.outer_next, sums.outer_back
        at = place * OF_A_KIND
        figures[at], figures[at + 1] = sums.everything - onward - back, onward
        figures[at + 2], figures[at + 3], figures[at + 4] = back, -moved, -returned
        figures[at + 5] = figures[at + 6] = figures[at + 7] = 0
        if overlaps and of_inputs:
            figures[at + 5], figures[at + 6], figures[at + 7] = -back, moved, returned
    figures[AT_DRAM] = figures[AT_DRAM + 1] = figures[AT_DRAM + 2] = 0
    if dim >= Y:
        first, end = layer.first_real[dim - Y], layer.end_real[dim - Y]
        rows, stay, back = real_windows(one, first, end)
        figures[AT_DRAM], figures[AT_DRAM + 1], figures[AT_DRAM + 2] = rows, -stay, -back


@subroutine
def dominated(figures, kept, count):
    """Whether one of some pairs has no figure that is greater."""
    for index in range(count):
        less = True
        for column in range(FIGURES):
            if kept[index, column] > figures[column]:
                less = False
                break
        if less:
            return True
    return False


@kernel
def count_undominated(problems, dim, across, places, counts):
    """Fills `counts` (size + 1, size + 1): of outer tiles up to the row and inner ones up to the column, how
    many pairs are not dominated.
    """
    layer, ones, figures = problems[0].layer, np.zeros(1, DIM), np.zeros(FIGURES, np.int64)
    one = ones[0]
    size = layer.sizes[dim]
    one.extent, one.clusters, one.places = size, across, places
    one.pitch = layer.pitches[dim - Y] if dim >= Y else 1
    one.overlap = layer.overlaps[dim - Y] if dim >= Y else 0
    by_inner, beside = np.zeros((size + 1, KEPT, FIGURES), np.int64), np.zeros((KEPT, FIGURES), np.int64)
    found, steps_of = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    counts[:] = 0
    for tile in range(1, size + 1):
        of_tile = 0
        for inner in range(1, tile + 1):
            # A record does not keep its array: named in here, the array lives as long as the loop.
            one = ones[0]
            one.tile, one.piece = tile, inner
            measure_dim(one)
            add_up(one, dim)
            set_figures(figures, one, layer, dim)
            # A pair gives way to one with as many outer steps only.
            if steps_of[inner] != one.steps:
                steps_of[inner], found[inner] = one.steps, 0
            beaten = dominated(figures, by_inner[inner], min(found[inner], KEPT))
            if not beaten and not dominated(figures, beside, min(of_tile, KEPT)):
                counts[tile, inner] = 1
                # The latest replace the oldest: a pair that is set beside no better one stays, which is safe.
                for column in range(FIGURES):
                    by_inner[inner, found[inner] % KEPT, column] = figures[column]
                    beside[of_tile % KEPT, column] = figures[column]
                found[inner] += 1
                of_tile += 1
    for tile in range(1, size + 1):
        in_row = 0
        for inner in range(1, size + 1):
            in_row += counts[tile, inner]
            counts[tile, inner] = counts[tile - 1, inner] + in_row


@subroutine
def count_pairs(counts, start, width, outer, inner):
    """How many pairs are not dominated, of outer tiles and of inner ones from a first to a last."""
    above, below = start + outer[1] * width, start + (outer[0] - 1) * width
    first, last = inner[0] - 1, inner[1]
    return counts[above + last] - counts[above + first] - counts[below + last] + counts[below + first]


@subroutine
def drop_dominated(box, dim, start, known):
    """Takes tiles off an interval's ends that are in dominated pairs only; False if none are left."""
    counts, width, one = known.counts, known.problem.layer.sizes[dim] + 1, box[dim]
    low, high, least, most = one.low, one.high, one.least, one.most
    if count_pairs(counts, start, width, (low, high), (least, most)) == 0:
        return False
    while count_pairs(counts, start, width, (low, low), (least, most)) == 0:
        low += 1
    while count_pairs(counts, start, width, (high, high), (least, most)) == 0:
        high -= 1
    while count_pairs(counts, start, width, (low, high), (least, least)) == 0:
        least += 1
    while count_pairs(counts, start, width, (low, high), (most, most)) == 0:
        most -= 1
    one.low, one.high, one.least, one.most = low, high, least, most
    return True
