"""Tiles of a box that cannot fit in a buffer, whatever the other tiles of the box: they are cut off."""

from __future__ import annotations

from numba import njit

from dse.domains.clustered.models.loopnest.facts import (
    DEPTHWISE,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OVERLAPS,
    PES,
    PITCHES,
    SIZES,
)
from dse.support.jit import LEAN

K, C, Y, X = range(4)
# A box: the least and the most of the outer and of the inner tiles of a dim.
LOW, HIGH, LEAST, MOST = range(4)


@njit(**LEAN)
def elements(first, second, third, fourth, facts):
    """What inputs, weights and outputs of so many indices of K, C, Y and X take together."""
    inputs = facts[OF_INPUT] * second * (third * facts[PITCHES] + facts[OVERLAPS])
    inputs *= fourth * facts[PITCHES + 1] + facts[OVERLAPS + 1]
    channels = second if facts[DEPTHWISE] == 1 else first
    outputs = facts[OF_OUTPUT] * channels * third * fourth
    return inputs + facts[OF_WEIGHTS] * first * second + outputs


@njit(**LEAN)
def with_one(dim, indices, others, facts):
    """`elements` of `others` (4), but for one dim."""
    return elements(
        indices if dim == K else others[K],
        indices if dim == C else others[C],
        indices if dim == Y else others[Y],
        indices if dim == X else others[X],
        facts,
    )


@njit(**LEAN)
def largest(dim, others, facts, capacity):
    """The most indices of a dim that fit twice in a buffer beside the least of the others; 0 if none do."""
    # Elements rise by as much with each index.
    none = with_one(dim, 0, others, facts)
    each = with_one(dim, 1, others, facts) - none
    room = capacity // 2 - none
    return 0 if room < each else room // each


@njit(**LEAN)
def cut_off(box, choice, facts, sizes, least):
    """Cuts tiles off that fit in no mapping of the box; False if none are left. `least` (4) is to work in."""
    for dim in range(4):
        least[dim] = box[dim, LEAST]
    for dim in range(4):
        box[dim, MOST] = min(box[dim, MOST], largest(dim, least, facts, sizes[0]))
        if box[dim, MOST] < box[dim, LEAST]:
            return False
    clusters = facts[PES] // choice[0]
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        least[dim] = min(box[dim, LOW] * across, facts[SIZES + dim])
    for dim in range(4):
        across = clusters if dim == choice[1] else 1
        span = largest(dim, least, facts, sizes[1])
        if span < facts[SIZES + dim]:
            box[dim, HIGH] = min(box[dim, HIGH], span // across)
            if box[dim, HIGH] < box[dim, LOW]:
                return False
        box[dim, MOST] = min(box[dim, MOST], box[dim, HIGH])
    return True
