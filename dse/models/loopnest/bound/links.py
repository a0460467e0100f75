"""Cycles of outer steps that are decided, whatever the inner tiles: each waits for the DRAM link.

What crosses the link between two outer steps follows from their spans and order alone. A step is as
long as that takes, as its busiest PE computes, or as the NoC takes for what its inner steps and the first one
of the next need, whichever is longest: `outer(i) = max(time(i) + noc_latency, link(i) / offchip_bandwidth)`
(docs, section 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.models.loopnest.bound.figures import NEED
from dse.models.loopnest.bound.fitting import C, K, Y
from dse.models.loopnest.bound.interval import busiest_indices, ceil_quotient
from dse.models.loopnest.outer import time_outside
from dse.models.loopnest.records import WORK
from dse.models.loopnest.timing import cycles_of
from dse.support.arrays import IntArray, RecordArray
from dse.support.compiling import subroutine

NOTHING_FOLLOWS = -1
"""In place of the outer dims that move."""


class Links(NamedTuple):
    """What `steady_cycles` works in: that of the price kernel, and of each dim extents and needs."""

    work: RecordArray
    extents: IntArray
    needs: RecordArray


def link_arrays() -> Links:
    """Zeros: what L1s need and keep stays so, and nothing crosses the NoC."""
    return Links(np.zeros(1, WORK), np.zeros((4, 2), np.int64), np.zeros((4, 2), NEED))


@subroutine
def span_decided(box, dim, choice, problem):
    """Whether the outer steps of a dim are the same for all tiles of a box: of one tile, or one step."""
    across = problem.machine.pes // choice[0] if dim == choice[1] else 1
    return box[dim].low == box[dim].high or box[dim].low * across >= problem.layer.sizes[dim]


@subroutine
def link_decided(box, choice, problem):
    """Whether all tiles of a box have the same outer steps."""
    decided = True
    for dim in range(4):
        decided &= span_decided(box, dim, choice, problem)
    return decided


@subroutine
def steady_cycles(box, choice, known, scratch):
    """Cycles between the first and the last words of a box whose outer steps are decided, at least.

    Of them, those of the last outer step are returned apart.
    """
    problem, machine, dims = known.problem, known.problem.machine, scratch.dims
    layer = problem.layer
    work, extents, needs = scratch.links.work[0], scratch.links.extents, scratch.links.needs
    clusters = machine.pes // choice[0]
    moving = 0
    for dim in range(4):
        moving |= int(dims[dim].outer_steps > 1) << dim
        # Where a dim has one step for all tiles, the smallest leaves its PEs the least to do.
        one, size, tile, steps = work.dims[dim], layer.sizes[dim], box[dim].low, dims[dim].outer_steps
        span = tile * (clusters if dim == choice[1] else 1)
        last = size - (steps - 1) * span
        one.steps, one.uniform = steps, int(last == span)
        one.span, one.last_span = span if steps > 1 else last, last
        one.pitch = layer.pitches[dim - Y] if dim >= Y else 1
        one.overlap = layer.overlaps[dim - Y] if dim >= Y else 0
        places = choice[0] if dim == choice[2] else 1
        extents[dim, 0] = busiest_indices(tile, box[dim].least, box[dim].most, places)
        extents[dim, 1] = busiest_indices(min(tile, last), box[dim].least, box[dim].most, places)
        set_needs(one, needs[dim], span // tile, places, box[dim])
    for kinds in range(16):
        macs = layer.taps
        for dim in range(4):
            macs *= extents[dim, kinds >> dim & 1]
        compute = cycles_of(macs, machine.lanes)
        held, sums_again = words_inside(needs, kinds, moving, layer)
        time = work.times[kinds]
        time.at_start = max(compute * machine.noc, held)
        time.further = max(compute * machine.noc, held + sums_again)
        time.compute, time.known = compute, 1
    # Nothing follows on the very last step: its time is put in the place of that with more words.
    time = work.times[15]
    held, sums_again = words_inside(needs, np.int64(15), np.int64(NOTHING_FOLLOWS), layer)
    if dims[C].outer_steps > 1:
        held += sums_again
    at_last = cycles_of(max(time.compute * machine.noc, held), machine.noc)
    with_more = time.at_start if dims[C].outer_steps == 1 else time.further
    least = 2**62
    choices = known.orders[0, moving]
    for number in range(choices[0]):
        # The price kernel's own sum over outer steps, whose insides are known to it: L1s' figures are 0.
        for dim in range(4):
            work.orders[0, dim] = known.order_table[choices[1 + number], dim]
        time_outside(work, problem)
        least = min(least, work.totals.steady)
    return least + at_last - cycles_of(with_more, machine.noc), at_last


@subroutine
def set_needs(one, needs, across, places, tiles):
    """Fills what a dim's outer steps of both kinds need, and the most of it that is there at first.

    `tiles` are the dim's of the box: in each cluster that has something to do, an inner step has no more than
    `places` of the largest inner tiles.
    """
    most = places * tiles.most
    for kind in range(2):
        length = one.last_span if kind == 1 else one.span
        working = min(across, ceil_quotient(length, tiles.low))
        first = (working - 1) * min(most, tiles.high) + min(most, length - (working - 1) * tiles.low)
        first = min(first, length)
        needs[kind].whole = length * one.pitch + one.overlap
        needs[kind].at_first = first * one.pitch + one.overlap * across * places
        needs[kind].indices, needs[kind].indices_at_first = length, first


@subroutine
def words_inside(needs, kinds, moving, layer):
    """Words over the NoC in the inner steps of an outer step after the first, and as the outer loop advances.

    At least: what the step needs in all, each word once, less the most that its first inner step may have;
    and outputs less those that its last one may have. Where all `moving` outer dims are a tensor's, and none
    has rows that stay, its next step begins with other words: `whole - first + first of the next`, which is
    least where the first is largest, and the next step is the last of all dims. Returned apart are sums that
    come back, in steps that are not at the start of the channels.
    """
    words = 0
    for tensor in range(2):
        whole = at_first = next_first = layer.of.weights if tensor == 0 else layer.of.input
        others = moving
        for dim in range(4):
            # Inputs, 1, have all dims but K, weights, 0, have K and C.
            if (tensor == 0 and dim <= C) or (tensor == 1 and dim != K):
                need = needs[dim, kinds >> dim & 1]
                whole *= need.whole
                at_first *= need.at_first
                next_first *= needs[dim, 1].at_first
                if dim < Y or layer.overlaps[dim - Y] == 0:
                    others &= ~(1 << dim)
        # Otherwise words may be there from a step before.
        if others != 0:
            next_first = 0
        words += max(0, whole - at_first + next_first)
    whole = at_first = layer.of.output
    others = moving
    for dim in range(4):
        if dim != C or layer.depthwise == 1:
            need = needs[dim, kinds >> dim & 1]
            whole *= need.indices
            at_first *= need.indices_at_first
            others &= ~(1 << dim)
    sums = 0 if layer.depthwise == 1 else max(0, whole - at_first)
    # Where every advance is to other outputs, none stays.
    return words + (whole if others == 0 else max(0, whole - at_first)), sums
