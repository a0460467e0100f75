"""What no mapping of a box moves less of between DRAM and L2, by outer order."""

from __future__ import annotations

from dse.models.loopnest.bound.interval import OUTER_STEPS, SPAN
from dse.models.loopnest.params import (
    DEPTHWISE,
    END_REAL,
    FIRST_REAL,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    OVERLAPS,
    PITCHES,
    SIZES,
)
from dse.support.compiling import subroutine

K, C, Y, X = range(4)
REAL, PADDED = range(2)


@subroutine
def lost_to_padding(size, pitch, overlap, first, end):
    """The most rows of padding among those that neighbouring outer steps share, added up."""
    lost = 0
    for step in range(1, size):
        above = first - step * pitch
        if above <= 0:
            break
        lost += above
    for step in range(size - 1, 0, -1):
        below = step * pitch + overlap - end
        if below <= 0:
            break
        lost += below
    return lost


@subroutine
def set_fills(dims, params, fills):
    """Fills `fills` (2, 4, 3): by dim, of the inputs that are real and of all, what all outer steps need,
    what stays as the loop advances, and as it goes back.
    """
    for kind in range(2):
        steps = dims[K, OUTER_STEPS]
        fills[kind, K, 0], fills[kind, K, 1], fills[kind, K, 2] = steps, steps - 1, 1
        size = params[SIZES + C]
        fills[kind, C, 0], fills[kind, C, 1] = size, 0
        fills[kind, C, 2] = size if dims[C, OUTER_STEPS] == 1 else 0
        for dim in range(Y, 4):
            axis = dim - Y
            size, pitch, overlap = params[SIZES + dim], params[PITCHES + axis], params[OVERLAPS + axis]
            first, end = params[FIRST_REAL + axis], params[END_REAL + axis]
            steps, span = dims[dim, OUTER_STEPS], dims[dim, SPAN]
            if kind == REAL:
                rows, lost = end - first, 0
                if steps > 1:
                    lost = lost_to_padding(size, pitch, overlap, first, end)
            else:
                rows, lost = size * pitch + overlap, 0
            stay = max(0, (steps - 1) * overlap - lost)
            back = rows
            if steps > 1:
                back = min(rows, max(0, overlap - (steps - 2) * span * pitch))
            fills[kind, dim, 0], fills[kind, dim, 1], fills[kind, dim, 2] = rows + stay, stay, back


@subroutine
def new_inputs(fills, kind, order):
    """Inputs that enter L2 in an outer order."""
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        dim = order[level]
        stay = fills[kind, dim, 1] * inside + fills[kind, dim, 0] * stay
        inside *= fills[kind, dim, 2]
        everything *= fills[kind, dim, 0]
    return everything - stay


@subroutine
def bound_outer(known, scratch):
    """The fewest words of DRAM and the fewest of its link, over the outer orders that differ."""
    params, dims, fills = known.params, scratch.dims, scratch.fills
    moving = 0
    for dim in range(4):
        moving |= int(dims[dim, OUTER_STEPS] > 1) << dim
    choices = known.orders[0, moving]
    depthwise = params[DEPTHWISE] == 1
    channels = params[SIZES + C]
    filters = params[LINK_WEIGHTS] * channels * params[SIZES + K]
    outputs = params[LINK_OUTPUT] * params[SIZES + Y] * params[SIZES + X]
    outputs *= channels if depthwise else params[SIZES + K]
    set_fills(dims, params, fills)
    least_dram = least_link = 2**62
    for number in range(choices[0]):
        order = known.order_table[choices[1 + number]]
        weights, up = filters, outputs
        for_weights = for_outputs = False
        for level in range(3, -1, -1):
            dim = order[level]
            steps = dims[dim, OUTER_STEPS]
            if steps == 1:
                continue
            if dim >= Y and for_weights:
                weights *= steps
            if dim == C and not depthwise and for_outputs:
                up *= steps
            for_weights |= dim <= C
            for_outputs |= dim != C or depthwise
        both = weights + 2 * up - outputs
        least_dram = min(least_dram, both + params[LINK_INPUT] * new_inputs(fills, REAL, order))
        least_link = min(least_link, both + params[LINK_INPUT] * new_inputs(fills, PADDED, order))
    return least_dram, least_link
