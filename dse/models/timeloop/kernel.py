"""The model over batches: the counts and figures of every row, as `reference` has them."""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.nest import read_nest
from dse.models.timeloop.tables import (
    AXES,
    BLOCK,
    FIRST_FILL,
    HELD,
    LEAK_PJ,
    OUTPUT,
    READ_BANDWIDTH,
    READ_PJ,
    ROWS,
    SHARED_BANDWIDTH,
    SHIFT,
    TABLE,
    UPDATE_PJ,
    WRITE_BANDWIDTH,
    WRITE_PJ,
)
from dse.support.compiling import inlined, kernel, subroutine

CYCLES, FAULT, WHERE, NEED = range(4)
ELIDED, RETURNED = 1, 2
TOO_MANY_CYCLES = 7
LARGEST_CYCLES = 2.0**62


@kernel
def price_rows(rows, start, stop, layer, moves, axes, bits, levels, rates, whole, energy, counts):
    """Prices rows `start` to `stop` of mappings, as `Layout` has them, with the arrays of `Tables`.

    Writes `whole` (4, n): cycles, and the fault with where it is and what is needed; `energy` (n) in pJ; and
    `counts` (n, levels, tensors, 3), reads, fills and updates, unless it has no rows.
    """
    tensors, dims = moves.shape[0], moves.shape[1]
    places, axis_count = levels.shape[0], layer[AXES] + 1
    loops = np.empty((3, places * dims), dtype=np.int64)
    passes = np.empty(places * dims + 1, dtype=np.int64)
    spread = np.empty((3, dims), dtype=np.int64)
    box = np.empty(dims, dtype=np.int64)
    extents = np.empty((places + 1, axis_count), dtype=np.int64)
    back = np.zeros(axis_count, dtype=np.int64)
    by_level = np.empty((4, places + 1), dtype=np.int64)
    by_tensor = np.empty((places + 1, 2, tensors), dtype=np.int64)
    seen = np.empty(layer[TABLE], dtype=np.int64)
    accesses = np.empty((places, tensors, 3), dtype=np.int64)
    level_pj = np.empty(places)
    for place in range(start, stop):
        row = rows[place]
        fault, where, need = read_nest(
            row, layer, moves, axes, bits, levels, loops, spread, box, extents, by_level, by_tensor, seen
        )
        whole[CYCLES, place], energy[place] = 0, 0.0
        if fault == 0:
            count_accesses(
                layer, moves, axes, loops, passes, extents, back, by_level, by_tensor, levels, accesses
            )
            cycles = price(levels, rates, bits, passes[0], by_level, by_tensor, accesses, level_pj)
            if cycles < LARGEST_CYCLES:
                whole[CYCLES, place] = np.int64(cycles)
                energy[place] = total_pj(rates, cycles, by_level, level_pj)
                if len(counts):
                    counts[place] = accesses
            else:
                fault, where, need = TOO_MANY_CYCLES, 0, 0
        whole[FAULT, place], whole[WHERE, place], whole[NEED, place] = fault, where, need


@subroutine
def count_accesses(layer, moves, axes, loops, passes, extents, back, by_level, by_tensor, levels, accesses):
    """Reads, fills and updates of every level and tensor, 0 where it is not kept."""
    places, tensors = accesses.shape[0], accesses.shape[1]
    parts, first = by_level[1], by_level[2]
    last = first[0]
    passes[last] = 1
    for loop in range(last - 1, -1, -1):
        passes[loop] = passes[loop + 1] * loops[1, loop]
    output, first_fill = layer[OUTPUT], layer[FIRST_FILL]
    below = by_tensor[places, 0]
    for tensor in range(tensors):
        below[tensor] = passes[0]
    words = 0
    if first_fill != RETURNED:
        words = 1
        for axis in range(axes[output], axes[output + 1]):
            words *= extents[places, axis]
    for place in range(places - 1, -1, -1):
        for tensor in range(tensors):
            tile, through = by_tensor[place, 0, tensor], by_tensor[place, 1, tensor]
            if tile == 0:
                accesses[place, tensor, :] = 0
                continue
            served = below[tensor] * through
            fills = 0
            held = levels[place, HELD] >> tensor & 1
            if place > 0 and not held:
                fills = delivered(
                    tile,
                    extents[place],
                    moves[tensor],
                    axes[tensor],
                    axes[tensor + 1],
                    first[place],
                    last,
                    loops,
                    passes,
                    back,
                )
                below[tensor] = fills
            if tensor == output:
                share = words // parts[place] if parts[place] > 1 else words
                accesses[place, tensor, 0] = served - share
                elided = first_fill == ELIDED and place > 0 and not held
                accesses[place, tensor, 1] = fills - share if elided else fills
                accesses[place, tensor, 2] = served
            else:
                accesses[place, tensor, 0] = served
                accesses[place, tensor, 1] = fills
                accesses[place, tensor, 2] = 0


@subroutine
def delivered(full, extents, moves, axis_start, axis_end, first, last, loops, passes, back):
    """Words of a tensor that an instance receives over the run, as `reference.delivered` has them.

    `back` is zero on entry and on return. It holds what the loops inside go back by, plus the first loop's
    motion: the net motion is the first one again where a loop moves by just that.
    """
    if first == last:
        return full
    reach = moves.shape[1]
    dim, step = loops[0, first], loops[2, first]
    moved_axes, total, new = 0, 0, 0
    for entry in range(reach):
        axis, words = moves[dim, entry, 0], moves[dim, entry, 1] * step
        if words > 0:
            moved_axes += 1
            new = full // extents[axis] * words if words < extents[axis] else full
            back[axis] = 2 * words
            total += 2 * words
    if moved_axes > 1:
        new = full
    result = full + (passes[first] - passes[first + 1]) * new
    for loop in range(first + 1, last):
        if moved_axes > 1 and reach == 1:
            # No loop that moves one axis can make up for two.
            result += (passes[loop] - 1) * full
            break
        dim, step = loops[0, loop], loops[2, loop]
        same, covered = True, 0
        for entry in range(reach):
            axis = moves[dim, entry, 0]
            same = same and moves[dim, entry, 1] * step == back[axis]
            covered += back[axis]
        again = new if same and covered == total else full
        result += (passes[loop] - passes[loop + 1]) * again
        for entry in range(reach):
            axis, words = moves[dim, entry, 0], moves[dim, entry, 1] * step
            if words > 0:
                moved_axes += back[axis] == 0
                back[axis] += words
                total += words
    for axis in range(axis_start, axis_end):
        back[axis] = 0
    return result


@subroutine
def price(levels, rates, bits, compute_cycles, by_level, by_tensor, accesses, level_pj):
    """Cycles as a float; writes the energy of each level's accesses. Doubles, in the reference's order."""
    used = by_level[0]
    cycles = np.float64(compute_cycles)
    slowest = cycles
    for place in range(levels.shape[0]):
        read, write, energy = 0.0, 0.0, 0.0
        rows = min(np.float64(used[place]), rates[place, ROWS])
        block, shift = levels[place, BLOCK], levels[place, SHIFT]
        for tensor in range(accesses.shape[1]):
            if by_tensor[place, 0, tensor] == 0:
                continue
            reads, fills, updates = accesses[place, tensor]
            wide = bits[tensor]
            reads, fills, updates = reads * wide, fills * wide, updates * wide
            read += reads / cycles
            write += (fills + updates) / cycles
            energy += blocks(reads, block, shift) * rates[place, READ_PJ] * rows
            energy += blocks(fills, block, shift) * rates[place, WRITE_PJ] * rows
            energy += blocks(updates, block, shift) * rates[place, UPDATE_PJ] * rows
        level_pj[place] = energy
        slowest = max(slowest, transfer_cycles(cycles, rates[place, READ_BANDWIDTH], read))
        slowest = max(slowest, transfer_cycles(cycles, rates[place, WRITE_BANDWIDTH], write))
        slowest = max(slowest, transfer_cycles(cycles, rates[place, SHARED_BANDWIDTH], write + read))
    return slowest


@inlined
def transfer_cycles(cycles, bandwidth, demand):
    """Cycles that transfers of `demand` words a cycle take; 0 where they slow nothing down."""
    return np.ceil(cycles / (bandwidth / demand)) if bandwidth < demand else 0.0


@inlined
def blocks(words, block, shift):
    """Physical accesses that move so many words."""
    if shift >= 0:
        return np.float64((words + block - 1) >> shift)
    return np.float64((words + block - 1) // block)


@subroutine
def total_pj(rates, cycles, by_level, level_pj):
    """Energy of all levels, leakage included, and of the MACs."""
    used, kept = by_level[0], by_level[3]
    energy = 0.0
    for place in range(len(level_pj)):
        at_work = used[place] if kept[place] else 1
        energy += level_pj[place] + rates[place, LEAK_PJ] * cycles * at_work
    return energy + rates[len(level_pj), 0]
