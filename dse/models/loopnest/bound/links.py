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
from dse.models.loopnest.contents import OUTER_COLUMNS, OUTER_ROWS
from dse.models.loopnest.extents import (
    LAST_SPAN,
    MAX_RUNS,
    OVERLAP,
    PITCH,
    SPAN,
    TABLE_COLUMNS,
    UNIFORM,
)
from dse.models.loopnest.extents import OUTER_STEPS as TABLE_STEPS
from dse.models.loopnest.outer import STEADY, time_outside
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
    SIZES,
)
from dse.models.loopnest.timing import (
    AT_START,
    COMPUTE,
    FURTHER,
    GROUP_COLUMNS,
    INSIDE_COLUMNS,
    KNOWN,
    MAX_GROUPS,
    cycles_of,
)
from dse.support.arrays import IntArray
from dse.support.compiling import subroutine

K, C, Y = range(3)
# Of a dim in an outer step: rows, columns or indices that it needs, and those that its first inner step needs
# at most; the same of indices alone, as outputs have them.
WHOLE, AT_FIRST, INDICES, INDICES_AT_FIRST = range(4)


class Links(NamedTuple):
    """Arrays that `steady_cycles` works in: those of the price kernel, and of each dim extents and needs."""

    tables: IntArray
    runs: IntArray
    loops: IntArray
    groups: IntArray
    inside: IntArray
    outer: IntArray
    active: IntArray
    times: IntArray
    sums: IntArray
    extents: IntArray
    needs: IntArray


def link_arrays() -> Links:
    """Arrays of zeros."""
    shapes = (
        (4, TABLE_COLUMNS), (4, 2, MAX_RUNS, 4), (2, 4), (MAX_GROUPS, GROUP_COLUMNS), (5, INSIDE_COLUMNS),
        (OUTER_ROWS, OUTER_COLUMNS), (2, 4), (16, 4), (3,), (4, 2), (4, 2, 4),
    )  # fmt: skip
    return Links(*(np.zeros(shape, np.int64) for shape in shapes))


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
    tables, runs, loops, groups, inside, outer, active, times, sums, extents, needs = scratch.links
    clusters = params[PES] // choice[0]
    moving = 0
    for dim in range(4):
        moving |= int(dims[dim, OUTER_STEPS] > 1) << dim
        # What L1s need and keep stays 0 in the table: nothing crosses the NoC.
        size, tile, steps = params[SIZES + dim], box[dim, LOW], dims[dim, OUTER_STEPS]
        span = tile * (clusters if dim == choice[1] else 1)
        last = size - (steps - 1) * span
        tables[dim, TABLE_STEPS], tables[dim, UNIFORM] = steps, int(last == span)
        tables[dim, SPAN], tables[dim, LAST_SPAN] = span if steps > 1 else last, last
        tables[dim, PITCH] = params[PITCHES + dim - Y] if dim >= Y else 1
        tables[dim, OVERLAP] = params[OVERLAPS + dim - Y] if dim >= Y else 0
        places = choice[0] if dim == choice[2] else 1
        extents[dim, 0] = busiest(tile, box[dim, LEAST], box[dim, MOST], places)
        extents[dim, 1] = busiest(min(tile, last), box[dim, LEAST], box[dim, MOST], places)
        set_needs(tables, needs, dim, span // tile, places, box[dim])
    for kinds in range(16):
        work = params[FILTER]
        for dim in range(4):
            work *= extents[dim, kinds >> dim & 1]
        compute = cycles_of(work, params[LANES])
        held, sums_again = words_inside(needs, kinds, moving, params)
        times[kinds, AT_START] = max(compute * params[NOC], held)
        times[kinds, FURTHER] = max(compute * params[NOC], held + sums_again)
        times[kinds, COMPUTE], times[kinds, KNOWN] = compute, 1
    # Nothing follows on the very last step.
    held, sums_again = words_inside(needs, 15, -1, params)
    if dims[C, OUTER_STEPS] > 1:
        held += sums_again
    at_last = cycles_of(max(times[15, COMPUTE] * params[NOC], held), params[NOC])
    with_more = times[15, AT_START if dims[C, OUTER_STEPS] == 1 else FURTHER]
    least = 2**62
    choices = known.orders[0, moving]
    for number in range(choices[0]):
        for dim in range(4):
            loops[0, dim] = known.order_table[choices[1 + number], dim]
        time_outside(tables, runs, loops, params, groups, inside, outer, active, times, sums)
        least = min(least, sums[STEADY])
    return least + at_last - cycles_of(with_more, params[NOC]), at_last


@subroutine
def set_needs(tables, needs, dim, across, places, tiles):
    """Fills what a dim's outer steps of both kinds need, and the most of it that is there at first.

    `tiles` are the dim's of the box: in each cluster that has something to do, an inner step has no more than
    `places` of the largest inner tiles.
    """
    pitch, overlap, most = tables[dim, PITCH], tables[dim, OVERLAP], places * tiles[MOST]
    for kind in range(2):
        length = tables[dim, LAST_SPAN] if kind == 1 else tables[dim, SPAN]
        working = min(across, quotient(length, tiles[LOW]))
        first = (working - 1) * min(most, tiles[HIGH]) + min(most, length - (working - 1) * tiles[LOW])
        first = min(first, length)
        needs[dim, kind, WHOLE] = length * pitch + overlap
        needs[dim, kind, AT_FIRST] = first * pitch + overlap * across * places
        needs[dim, kind, INDICES], needs[dim, kind, INDICES_AT_FIRST] = length, first


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
