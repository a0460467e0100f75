"""The kernel's first half: a row's loops from the inside out, with the tiles and fan-outs that they make."""

from __future__ import annotations

from dse.models.timeloop.tables import (
    ALLOWED,
    CAPACITY,
    FAN_OUT,
    HELD,
    MULTICAST,
    OUTPUT,
    OUTPUT_DIMS,
    REDUCTION,
    REQUIRED,
    SIZES,
    SPREAD,
)
from dse.support.compiling import inlined, subroutine

# The codes of `Fault`, as plain integers.
FACTORS, ORDER, KEEP, NOT_SPREAD, TOO_WIDE, TOO_LARGE = 1, 2, 3, 4, 5, 6


@subroutine
def read_nest(row, layer, moves, axes, bits, levels, loops, spread, box, extents, by_level, by_tensor, seen):
    """Fills the scratch arrays for one row; returns its fault, where it is, and what is needed.

    `loops`: dim, factor and step of the temporal loops, the innermost first. `extents[i]`: of the tiles of
    level i, along each axis. `by_level`: instances at work, parts that the output is in, the first loop that
    is outside the level's tiles, tensors kept (a mask). `by_tensor[i]`: words of the tile (0: not kept), and
    how many different data the fan-outs down to the next level that keeps the tensor ask for.
    """
    dims, tensors, places = len(box), moves.shape[0], levels.shape[0]
    width = 3 * dims + tensors
    box[:] = 1
    current, flow = extents[places], by_tensor[places, 1]
    current[:] = 1
    flow[:] = 1
    count = 0
    fault, where, need = 0, 0, 0
    full, full_at, full_need = False, 0, 0
    for place in range(places - 1, -1, -1):
        base = place * width
        spreading = 0
        for dim in range(dims):
            factor = row[base + dims + dim]
            if factor != 1:
                if not grows(factor, box[dim], layer[SIZES + dim]):
                    return FACTORS, wrong_dim(row, layer, dims, places, width), 0
                spread[0, spreading], spread[1, spreading], spread[2, spreading] = dim, factor, box[dim]
                spreading += 1
                grow(dim, factor, box, current, moves)
        wide, parts, scattered = 1, 1, False
        for loop in range(spreading):
            dim, factor = spread[0, loop], spread[1, loop]
            wide *= factor
            if layer[OUTPUT_DIMS] >> dim & 1:
                parts *= factor
            scattered = scattered or not levels[place, SPREAD] >> dim & 1
        by_level[0, place + 1], by_level[1, place + 1] = wide, parts
        fan_out = levels[place, FAN_OUT]
        if spreading and wide <= fan_out:
            for tensor in range(tensors):
                shared = levels[place, REDUCTION if tensor == layer[OUTPUT] else MULTICAST]
                if shared:
                    flow[tensor] *= different(
                        moves[tensor], axes[tensor], axes[tensor + 1], spread, spreading, current, seen
                    )
                else:
                    flow[tensor] *= wide
        entries, visited, looping = 0, 0, 0
        for dim in range(dims):
            entry = row[base + 2 * dims + dim]
            entries |= entry
            visited |= 1 << (entry & 63)
            looping |= row[base + dim] ^ 1
        if entries >> 6 or visited != (1 << dims) - 1:
            return ORDER, place, 0
        if looping:
            for slot in range(base + 3 * dims - 1, base + 2 * dims - 1, -1):
                dim = row[slot]
                factor = row[base + dim]
                if factor != 1:
                    if not grows(factor, box[dim], layer[SIZES + dim]):
                        return FACTORS, wrong_dim(row, layer, dims, places, width), 0
                    loops[0, count], loops[1, count], loops[2, count] = dim, factor, box[dim]
                    count += 1
                    grow(dim, factor, box, current, moves)
        by_level[2, place] = count
        kept, words = 0, 0
        for tensor in range(tensors):
            if row[base + 3 * dims + tensor]:
                kept |= 1 << tensor
                tile = 1
                for axis in range(axes[tensor], axes[tensor + 1]):
                    tile *= current[axis]
                if not levels[place, HELD] >> tensor & 1:
                    words += tile * bits[tensor]
                by_tensor[place, 0, tensor], by_tensor[place, 1, tensor] = tile, flow[tensor]
                flow[tensor] = 1
            else:
                by_tensor[place, 0, tensor] = 0
        by_level[3, place] = kept
        if kept:
            for axis in range(len(current)):
                extents[place, axis] = current[axis]
        must, may = levels[place, REQUIRED], levels[place, ALLOWED]
        if kept & must != must or kept & ~may:
            fault, where, need = KEEP, place, 0
        elif scattered:
            fault, where, need = NOT_SPREAD, place, 0
        elif wide > fan_out:
            fault, where, need = TOO_WIDE, place, wide
        if words > levels[place, CAPACITY]:
            full, full_at, full_need = True, place, words
    for dim in range(dims):
        if box[dim] != layer[SIZES + dim]:
            return FACTORS, dim, 0
    if fault:
        return fault, where, need
    if full:
        return TOO_LARGE, full_at, full_need
    used, parts = 1, 1
    for place in range(places + 1):
        if place:
            used *= by_level[0, place]
            parts *= by_level[1, place]
        by_level[0, place], by_level[1, place] = used, parts
    return 0, 0, 0


@inlined
def grows(factor, length, size):
    """Whether a loop of that factor around a box of that length stays within the dim."""
    return 1 < factor <= size and factor * length <= size


@inlined
def grow(dim, factor, box, extents, moves):
    """Puts a loop around the box: it and what it touches grow."""
    more = (factor - 1) * box[dim]
    for tensor in range(moves.shape[0]):
        for entry in range(moves.shape[2]):
            extents[moves[tensor, dim, entry, 0]] += moves[tensor, dim, entry, 1] * more
    box[dim] *= factor


@subroutine
def wrong_dim(row, layer, dims, places, width):
    """The first dim whose factors do not multiply to its size."""
    for dim in range(dims):
        left = layer[SIZES + dim]
        for place in range(places):
            for column in (place * width + dim, place * width + dims + dim):
                factor = row[column]
                if factor < 1 or left % factor:
                    return dim
                left //= factor
        if left != 1:
            return dim
    return 0


@subroutine
def different(moves, axis_start, axis_end, spread, spreading, extents, seen):
    """How many different data of a tensor the children need: `reference.different_data`."""
    reach = moves.shape[1]
    data = 1
    for loop in range(spreading):
        dim, factor = spread[0, loop], spread[1, loop]
        words = moves[dim, 0, 1] * spread[2, loop]
        if words == 0:
            continue
        if reach > 1 and moves[dim, 1, 1]:
            return counted(moves, axis_start, axis_end, spread, spreading, extents, seen)
        axis = moves[dim, 0, 0]
        others = 0
        for earlier in range(loop):
            other = spread[0, earlier]
            if moves[other, 0, 1] and moves[other, 0, 0] == axis:
                others += 1
                other_factor, other_words = spread[1, earlier], moves[other, 0, 1] * spread[2, earlier]
        if others > 1:
            return counted(moves, axis_start, axis_end, spread, spreading, extents, seen)
        if others == 1:
            common = divisor(words, other_words)
            apart = max(0, factor - other_words // common) * max(0, other_factor - words // common)
            data = data // other_factor * (factor * other_factor - apart)
        else:
            data *= factor
    return data


@subroutine
def divisor(one, other):
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one


@subroutine
def counted(moves, axis_start, axis_end, spread, spreading, extents, seen):
    """`different` where loops move several axes or share one: every child's place goes into a table once.

    A place is written as one number, with a digit an axis.
    """
    children = 1
    for loop in range(spreading):
        children *= spread[1, loop]
    slots = 1
    while slots < 2 * children:
        slots *= 2
    seen[:slots] = -1
    found = 0
    for child in range(children):
        rest, number = child, 0
        for loop in range(spreading):
            index = rest % spread[1, loop]
            rest //= spread[1, loop]
            radix = 1
            for axis in range(axis_start, axis_end):
                for entry in range(moves.shape[1]):
                    if moves[spread[0, loop], entry, 0] == axis:
                        number += index * moves[spread[0, loop], entry, 1] * spread[2, loop] * radix
                radix *= extents[axis]
        slot = number * 0x9E3779B97F4A7C % slots
        while seen[slot] != -1 and seen[slot] != number:
            slot = (slot + 1) % slots
        if seen[slot] == -1:
            seen[slot] = number
            found += 1
    return found
