"""Tiles of a box that cannot fit in a buffer, whatever the other tiles of the box: they are cut off."""

from __future__ import annotations

from dse.models.loopnest.params import (
    DEPTHWISE,
    LINK_INPUT,
    OF_INPUT,
    OVERLAPS,
    PES,
    PITCHES,
    SIZES,
)
from dse.support.compiling import subroutine

K, C, Y, X = range(4)
# A box: the least and the most of the outer and of the inner tiles of a dim.
LOW, HIGH, LEAST, MOST = range(4)
# Tables of the tiles of each dim: the next one up to and down from a number, and how many are up to it.
UP, DOWN, RANK = range(3)


@subroutine
def elements(first, second, third, fourth, params, each):
    """What inputs, weights and outputs of so many indices of K, C, Y and X take together.

    `each` begins what one of them takes: in L1 (OF_INPUT) or in L2 (LINK_INPUT).
    """
    inputs = params[each] * second * (third * params[PITCHES] + params[OVERLAPS])
    inputs *= fourth * params[PITCHES + 1] + params[OVERLAPS + 1]
    channels = second if params[DEPTHWISE] == 1 else first
    outputs = params[each + 2] * channels * third * fourth
    return inputs + params[each + 1] * first * second + outputs


@subroutine
def with_one(dim, indices, others, params, each):
    """`elements` of `others` (4), but for one dim."""
    return elements(
        indices if dim == K else others[K],
        indices if dim == C else others[C],
        indices if dim == Y else others[Y],
        indices if dim == X else others[X],
        params,
        each,
    )


@subroutine
def largest(dim, others, params, capacity, each):
    """The most indices of a dim that fit twice in a buffer beside the least of the others; 0 if none do."""
    # Elements rise by as much with each index.
    none = with_one(dim, 0, others, params, each)
    more = with_one(dim, 1, others, params, each) - none
    room = capacity // 2 - none
    if more == 0:
        return params[SIZES + dim] if room >= 0 else 0
    return 0 if room < more else room // more


@subroutine
def cuts(tile, inner, known):
    """Whether an inner tile cuts an outer one as is allowed."""
    return not known.perfect or tile % inner == 0


@subroutine
def cut_off(box, choice, known, least):
    """Cuts tiles off that fit in no mapping of the box; False if none are left. `least` (4) is to work in."""
    params, tiles = known.params, known.tiles
    for dim in range(4):
        least[dim] = box[dim, LEAST]
    for dim in range(4):
        most = min(box[dim, MOST], largest(dim, least, params, known.room[0], OF_INPUT))
        box[dim, MOST] = tiles[DOWN, dim, most]
        if box[dim, MOST] < box[dim, LEAST]:
            return False
    clusters = params[PES] // choice[0]
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        least[dim] = min(box[dim, LOW] * across, params[SIZES + dim])
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        span = largest(dim, least, params, known.room[1], LINK_INPUT)
        if span < params[SIZES + dim]:
            box[dim, HIGH] = tiles[DOWN, dim, min(box[dim, HIGH], span // across)]
            if box[dim, HIGH] < box[dim, LOW]:
                return False
        box[dim, MOST] = min(box[dim, MOST], box[dim, HIGH])
        one = box[dim, LOW] == box[dim, HIGH] and box[dim, LEAST] == box[dim, MOST]
        if one and not cuts(box[dim, HIGH], box[dim, MOST], known):
            return False
    return True
