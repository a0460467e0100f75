"""What no mapping of a box moves less of between DRAM and L2, by outer order."""

from __future__ import annotations

from dse.models.loopnest.bound.fitting import C, K, X, Y
from dse.models.loopnest.traffic import new_in_l2
from dse.support.compiling import subroutine

REAL, PADDED = range(2)


@subroutine
def lost_to_padding(size, pitch, overlap, first, end):
    """The most rows of padding among those that neighbouring outer steps share, added up."""
    lost = 0
    # Outer steps of any tiles begin at some of the outputs 1 to size - 1: counted at all of them, it is most.
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
def set_fills(dims, layer, fills):
    """Fills `fills` (2, 4): by dim, of the inputs that are real and of all, what all outer steps need, what
    stays as the loop advances, and as it goes back.
    """
    for kind in range(2):
        one, steps = fills[kind, K], dims[K].outer_steps
        one.everything, one.advance, one.back = steps, steps - 1, 1
        one, size = fills[kind, C], layer.sizes[C]
        one.everything, one.advance = size, 0
        one.back = size if dims[C].outer_steps == 1 else 0
        for dim in range(Y, 4):
            axis = dim - Y
            size, pitch, overlap = layer.sizes[dim], layer.pitches[axis], layer.overlaps[axis]
            first, end = layer.first_real[axis], layer.end_real[axis]
            steps, span = dims[dim].outer_steps, dims[dim].span
            rows, lost = size * pitch + overlap, 0
            if kind == REAL:
                rows = end - first
                if steps > 1:
                    lost = lost_to_padding(size, pitch, overlap, first, end)
            # More steps share more, and need as much more: with the fewest of them, least is new.
            stay = max(0, (steps - 1) * overlap - lost)
            back = rows
            if steps > 1:
                # The first step ends at span, the last begins at (steps - 1) * span: nearest with the least.
                back = min(rows, max(0, overlap - (steps - 2) * span * pitch))
            one = fills[kind, dim]
            one.everything, one.advance, one.back = rows + stay, stay, back


@subroutine
def bound_outer(known, scratch):
    """The fewest words of DRAM and the fewest of its link, over the outer orders that differ.

    With the fewest steps of each dim and all that may stay, none of its orders brings fewer words; weights
    come again for each step of Y and X outside of theirs, and sums go and come for each step of C.
    """
    layer, dims, fills = known.problem.layer, scratch.dims, scratch.fills
    moving = 0
    for dim in range(4):
        moving |= int(dims[dim].outer_steps > 1) << dim
    choices = known.orders[0, moving]
    depthwise = layer.depthwise == 1
    filters = layer.link.weights * layer.sizes[C] * layer.sizes[K]
    outputs = layer.link.output * layer.sizes[Y] * layer.sizes[X]
    outputs *= layer.sizes[C] if depthwise else layer.sizes[K]
    set_fills(dims, layer, fills)
    least_dram = least_link = 2**62
    for number in range(choices[0]):
        order = known.order_table[choices[1 + number]]
        weights, up = filters, outputs
        for_weights = for_outputs = False
        for level in range(3, -1, -1):
            dim = order[level]
            steps = dims[dim].outer_steps
            if steps == 1:
                continue
            if dim >= Y and for_weights:
                weights *= steps
            if dim == C and not depthwise and for_outputs:
                up *= steps
            for_weights |= dim <= C
            for_outputs |= dim != C or depthwise
        both = weights + 2 * up - outputs
        least_dram = min(least_dram, both + layer.link.input * new_in_l2(fills[REAL], order))
        least_link = min(least_link, both + layer.link.input * new_in_l2(fills[PADDED], order))
    return least_dram, least_link
