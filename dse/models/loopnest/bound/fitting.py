"""Tiles of a box that cannot fit in a buffer, whatever the other tiles of the box: they are cut off."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import inlined, subroutine

K, C, Y, X = range(4)
# A box as integers: the least and the most of the outer and of the inner tiles of a dim (INTERVALS).
LOW, HIGH, LEAST, MOST = range(4)
# Tables of the tiles of each dim: the next one up to and down from a number, and how many are up to it.
UP, DOWN, RANK = range(3)


@inlined
def elements(sizes, layer, of):
    """What inputs, weights and outputs of so many indices of K, C, Y and X take together (section 2).

    `of` is what one of them takes: in L1 or in L2.
    """
    k, c, y, x = sizes
    inputs = of.input * c * (y * layer.pitches[0] + layer.overlaps[0])
    inputs *= x * layer.pitches[1] + layer.overlaps[1]
    outputs = of.output * (c if layer.depthwise == 1 else k) * y * x
    return inputs + of.weights * k * c + outputs


@inlined
def with_one(dim, indices, others):
    """The indices of K, C, Y and X: `others` (4), but for one dim."""
    return (
        indices if dim == K else others[K],
        indices if dim == C else others[C],
        indices if dim == Y else others[Y],
        indices if dim == X else others[X],
    )


@inlined
def most_that_fit(dim, others, layer, of, capacity):
    """The most indices of a dim that fit twice in a buffer beside the least of the others; 0 if none do."""
    # Elements rise by as much with each index: those of none and of one say how many fit. As int64, not as
    # literals: numba would compile the functions for each of them.
    none = elements(with_one(dim, np.int64(0), others), layer, of)
    more = elements(with_one(dim, np.int64(1), others), layer, of) - none
    room = capacity // 2 - none
    if more == 0:
        return layer.sizes[dim] if room >= 0 else 0
    return 0 if room < more else room // more


@subroutine
def tile_is_cut(tile, inner, known):
    """Whether an inner tile cuts an outer one as is allowed."""
    return not known.perfect or tile % inner == 0


@subroutine
def cut_off(box, choice, known, least):
    """Cuts tiles off that fit in no mapping of the box; False if none are left. `least` (4) is to work in.

    Beside the least tiles of the other dims, which take least, larger ones of a dim do not fit twice: then
    they fit beside no tiles of the box.
    """
    layer, tiles = known.problem.layer, known.tiles
    for dim in range(4):
        least[dim] = box[dim].least
    for dim in range(4):
        most = min(box[dim].most, most_that_fit(dim, least, layer, layer.of, known.room[0]))
        box[dim].most = tiles[DOWN, dim, most]
        if box[dim].most < box[dim].least:
            return False
    clusters = known.problem.machine.pes // choice[0]
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        least[dim] = min(box[dim].low * across, layer.sizes[dim])
    for dim in range(4):
        one, across = box[dim], clusters if dim == choice[1] else 1
        span = most_that_fit(dim, least, layer, layer.link, known.room[1])
        if span < layer.sizes[dim]:
            one.high = tiles[DOWN, dim, min(one.high, span // across)]
            if one.high < one.low:
                return False
        one.most = min(one.most, one.high)
        if one.low == one.high and one.least == one.most and not tile_is_cut(one.high, one.most, known):
            return False
    return True
