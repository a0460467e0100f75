"""Cycles of outer steps that are decided, whatever the inner tiles: each waits for the DRAM link.

What crosses the link between two outer steps follows from their spans and order alone. A step is as
long as that takes, as its busiest PE computes, or as the NoC takes for what its inner steps and the first one
of the next need, whichever is longest: `outer(i) = max(time(i) + noc_latency, link(i) / offchip_bandwidth)`
(docs, section 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.models.loopnest.bound.fitting import HIGH, LEAST, LOW, MOST
from dse.models.loopnest.bound.interval import OUTER_STEPS, busiest, quotient
from dse.models.loopnest.outer import time_outside
from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OVERLAPS,
    PES,
    PITCHES,
    PROBLEM,
    SIZES,
)
from dse.models.loopnest.records import WORK
from dse.models.loopnest.timing import cycles_of
from dse.support.arrays import IntArray, RecordArray
from dse.support.compiling import subroutine

K, C, Y = range(3)
# Of a dim in an outer step: rows, columns or indices that it needs, and those that its first inner step needs
# at most; the same of indices alone, as outputs have them.
WHOLE, AT_FIRST, INDICES, INDICES_AT_FIRST = range(4)


class Links(NamedTuple):
    """What `steady_cycles` works in: that of the price kernel, and of each dim extents and needs."""

    work: RecordArray
    extents: IntArray
    needs: IntArray


def link_arrays() -> Links:
    """Zeros: what L1s need and keep stays so, and nothing crosses the NoC."""
    return Links(np.zeros(1, WORK), np.zeros((4, 2), np.int64), np.zeros((4, 2, 4), np.int64))


@subroutine
def span_decided(box, dim, choice, params):
    """Whether the outer steps of a dim are the same for all tiles of a box: of one tile, or one step."""
    across = params[PES] // choice[0] if dim == choice[1] else 1
    return box[dim, LOW] == box[dim, HIGH] or box[dim, LOW] * across >= params[SIZES + dim]


@subroutine
def link_decided(box, choice, params):
    """Whether all tiles of a box have the same outer steps."""
    decided = True
    for dim in range(4):
        decided &= span_decided(box, dim, choice, params)
    return decided


@subroutine
def steady_cycles(box, choice, known, scratch):
    """Cycles between the first and the last words of a box whose outer steps are decided, at least.

    Of them, those of the last outer step are returned apart.
    """
    params, dims = known.params, scratch.dims
    work, extents, needs = scratch.links.work[0], scratch.links.extents, scratch.links.needs
    clusters = params[PES] // choice[0]
    moving = 0
    for dim in range(4):
        moving |= int(dims[dim, OUTER_STEPS] > 1) << dim
        one, size, tile, steps = work.dims[dim], params[SIZES + dim], box[dim, LOW], dims[dim, OUTER_STEPS]
        span = tile * (clusters if dim == choice[1] else 1)
        last = size - (steps - 1) * span
        one.steps, one.uniform = steps, int(last == span)
        one.span, one.last_span = span if steps > 1 else last, last
        one.pitch = params[PITCHES + dim - Y] if dim >= Y else 1
        one.overlap = params[OVERLAPS + dim - Y] if dim >= Y else 0
        places = choice[0] if dim == choice[2] else 1
        extents[dim, 0] = busiest(tile, box[dim, LEAST], box[dim, MOST], places)
        extents[dim, 1] = busiest(min(tile, last), box[dim, LEAST], box[dim, MOST], places)
        set_needs(one, needs[dim], span // tile, places, box[dim])
    for kinds in range(16):
        macs = params[FILTER]
        for dim in range(4):
            macs *= extents[dim, kinds >> dim & 1]
        compute = cycles_of(macs, params[LANES])
        held, sums_again = words_inside(needs, kinds, moving, params)
        time = work.times[kinds]
        time.at_start = max(compute * params[NOC], held)
        time.further = max(compute * params[NOC], held + sums_again)
        time.compute, time.known = compute, 1
    # Nothing follows on the very last step.
    time = work.times[15]
    held, sums_again = words_inside(needs, 15, -1, params)
    if dims[C, OUTER_STEPS] > 1:
        held += sums_again
    at_last = cycles_of(max(time.compute * params[NOC], held), params[NOC])
    with_more = time.at_start if dims[C, OUTER_STEPS] == 1 else time.further
    least = 2**62
    problem = params.view(PROBLEM)[0]
    choices = known.orders[0, moving]
    for number in range(choices[0]):
        for dim in range(4):
            work.orders[0, dim] = known.order_table[choices[1 + number], dim]
        time_outside(work, problem)
        least = min(least, work.totals.steady)
    return least + at_last - cycles_of(with_more, params[NOC]), at_last


@subroutine
def set_needs(one, needs, across, places, tiles):
    """Fills what a dim's outer steps of both kinds need, and the most of it that is there at first.

    `tiles` are the dim's of the box: in each cluster that has something to do, an inner step has no more than
    `places` of the largest inner tiles.
    """
    most = places * tiles[MOST]
    for kind in range(2):
        length = one.last_span if kind == 1 else one.span
        working = min(across, quotient(length, tiles[LOW]))
        first = (working - 1) * min(most, tiles[HIGH]) + min(most, length - (working - 1) * tiles[LOW])
        first = min(first, length)
        needs[kind, WHOLE] = length * one.pitch + one.overlap
        needs[kind, AT_FIRST] = first * one.pitch + one.overlap * across * places
        needs[kind, INDICES], needs[kind, INDICES_AT_FIRST] = length, first


@subroutine
def words_inside(needs, kinds, moving, params):
    """Words over the NoC in the inner steps of an outer step after the first, and as the outer loop advances.

    At least: what the step needs in all, each word once, less the most that its first inner step may have;
    and outputs less those that its last one may have. Where all `moving` outer dims are a tensor's, and none
    has rows that stay, its next step begins with other words: `whole - first + first of the next`, which is
    least where the first is largest, and the next step is the last of all dims. Returned apart are sums that
    come back, in steps that are not at the start of the channels.
    """
    words = 0
    for tensor in range(2):
        whole = at_first = next_first = params[OF_WEIGHTS] if tensor == 0 else params[OF_INPUT]
        others = moving
        for dim in range(4):
            # Inputs, 1, have all dims but K, weights, 0, have K and C.
            if (tensor == 0 and dim <= C) or (tensor == 1 and dim != K):
                need = needs[dim, kinds >> dim & 1]
                whole *= need[WHOLE]
                at_first *= need[AT_FIRST]
                next_first *= needs[dim, 1, AT_FIRST]
                if dim < Y or params[OVERLAPS + dim - Y] == 0:
                    others &= ~(1 << dim)
        if others != 0:
            next_first = 0
        words += max(0, whole - at_first + next_first)
    whole = at_first = params[OF_OUTPUT]
    others = moving
    for dim in range(4):
        if dim != C or params[DEPTHWISE] == 1:
            need = needs[dim, kinds >> dim & 1]
            whole *= need[INDICES]
            at_first *= need[INDICES_AT_FIRST]
            others &= ~(1 << dim)
    sums = 0 if params[DEPTHWISE] == 1 else max(0, whole - at_first)
    return words + (whole if others == 0 else max(0, whole - at_first)), sums
