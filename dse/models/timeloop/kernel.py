"""The model over batches: the counts and figures of every row, by the rules of docs/timeloop.md."""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.nest import make_work, read_nest
from dse.models.timeloop.waits import waiting_cycles
from dse.support.compiling import inlined, kernel

ELIDED, RETURNED = 1, 2
READS, FILLS, UPDATES = range(3)
TOO_MANY_CYCLES = 7
LARGEST_CYCLES = 2.0**62


@kernel
def price_rows(rows, share, known, columns):
    """Prices mappings, as `Layout` has them, from the first row of `share` to before its second.

    `columns` are those of a `Priced`; of `counts`, reads, fills and updates, unless it has no rows.
    """
    work = make_work(known)
    start, stop = share
    for place in range(start, stop):
        fault, where, need = read_nest(rows[place], known, work)
        columns.cycles[place], columns.energy_pj[place] = 0, 0.0
        if fault == 0:
            count_accesses(known, work)
            cycles = price_nest(known, work)
            # Below this the double is a whole number that an int64 holds.
            if cycles < LARGEST_CYCLES:
                columns.cycles[place] = np.int64(cycles)
                columns.energy_pj[place] = total_pj(known, work, cycles)
                if len(columns.counts):
                    columns.counts[place] = work.accesses
            else:
                fault, where, need = TOO_MANY_CYCLES, 0, 0
        columns.fault[place], columns.where[place], columns.need[place] = fault, where, need


@inlined
def count_accesses(known, work):
    """Reads, fills and updates of every level and tensor, 0 where it is not kept (rules 2 to 4)."""
    output, passes, below = known.output, work.passes, work.below
    # No loop is outside the outermost level's tiles: its `first` is the number of all temporal loops.
    last = work.uses[0].first
    passes[last] = 1
    for loop in range(last - 1, -1, -1):
        passes[loop] = passes[loop + 1] * work.loops[loop].factor
    # A MAC asks for a word of each tensor.
    below[:] = passes[0]
    # Where first partial sums are read like any others, no share is taken off (rule 4).
    words = 0
    if known.first_fill != RETURNED:
        words = 1
        for axis in range(known.first_axis[output], known.first_axis[output + 1]):
            words *= work.current[axis]
    for place in range(len(known.levels) - 1, -1, -1):
        parts = work.uses[place].parts
        share = words // parts if parts > 1 else words
        for tensor in range(len(known.bits)):
            tile, counts = work.tiles[place, tensor], work.accesses[place, tensor]
            if tile.words == 0:
                counts[:] = 0
                continue
            # Rule 3: once for all children that need the same data, as often as such a child receives it.
            served, fills = below[tensor] * tile.through, 0
            # Nothing is above the outermost level, and nothing moves what is there whole.
            filled = place > 0 and not known.levels[place].held >> tensor & 1
            if filled:
                fills = delivered(known, work, place, tensor)
                below[tensor] = fills
            counts[READS], counts[FILLS], counts[UPDATES] = served, fills, 0
            if tensor == output:
                # The first partial sum of each word is not read.
                counts[READS], counts[UPDATES] = served - share, served
                if known.first_fill == ELIDED and filled:
                    counts[FILLS] = fills - share


@inlined
def delivered(known, work, place, tensor):
    """Words of a tensor that an instance of a level receives over the run (rule 2): `reference.delivered`.

    `back` is zero on entry and on return. It holds what the loops inside go back by, plus the first loop's
    motion: the net motion is the first one again where a loop moves by just that.
    """
    full, extents, moves, back = (
        work.tiles[place, tensor].words,
        work.extents[place],
        known.moves[tensor],
        work.back,
    )
    first, last, passes = work.uses[place].first, work.uses[0].first, work.passes
    if first == last:
        return full
    reach, innermost = moves.shape[1], work.loops[first]
    moved_axes, total, new = 0, 0, 0
    for entry in range(reach):
        axis, words = moves[innermost.dim, entry, 0], moves[innermost.dim, entry, 1] * innermost.step
        if words > 0:
            moved_axes += 1
            # Words that the old and the new tile share stay (rule 2).
            new = full // extents[axis] * words if words < extents[axis] else full
            # A loop moves a tile by its own motion less that of all loops inside: twice the first loop's
            # makes up for its way back and leaves its motion.
            back[axis] = 2 * words
            total += 2 * words
    if moved_axes > 1:
        new = full
    result = full + (passes[first] - passes[first + 1]) * new
    for number in range(first + 1, last):
        if moved_axes > 1 and reach == 1:
            # No loop that moves one axis can make up for two.
            result += (passes[number] - 1) * full
            break
        loop = work.loops[number]
        same, covered = True, 0
        for entry in range(reach):
            axis = moves[loop.dim, entry, 0]
            same = same and moves[loop.dim, entry, 1] * loop.step == back[axis]
            covered += back[axis]
        # Nothing in `back` is negative: the sums are equal only if the loop moves every axis that goes back.
        # Both are 0 as long as nothing moves the tensor, and then nothing comes.
        again = new if same and covered == total else full
        result += (passes[number] - passes[number + 1]) * again
        for entry in range(reach):
            axis, words = moves[loop.dim, entry, 0], moves[loop.dim, entry, 1] * loop.step
            if words > 0:
                moved_axes += back[axis] == 0
                back[axis] += words
                total += words
    for axis in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
        back[axis] = 0
    return result


@inlined
def price_nest(known, work):
    """Cycles as a float (rules 5, 7 and 8); writes the energy of each level's accesses (rule 6). Doubles, in
    the reference's order."""
    # Of the computing alone: one step of all temporal loops a cycle.
    cycles = np.float64(work.passes[0])
    slowest = cycles
    for place in range(len(known.levels)):
        work.storages[place].read = work.storages[place].write = 0.0
    for place in range(len(known.levels)):
        level = known.levels[place]
        storage, energy = work.storages[level.storage], 0.0
        # Of instances that share a physical row, the row is accessed.
        rows = min(np.float64(work.uses[place].instances), level.rows)
        for tensor in range(len(known.bits)):
            if work.tiles[place, tensor].words == 0:
                continue
            reads, fills, updates = work.accesses[place, tensor]
            wide = known.bits[tensor]
            reads, fills, updates = reads * wide, fills * wide, updates * wide
            storage.read += reads / cycles
            storage.write += (fills + updates) / cycles
            energy += blocks(reads, level) * level.read_pj * rows
            energy += blocks(fills, level) * level.write_pj * rows
            energy += blocks(updates, level) * level.update_pj * rows
        work.level_pj[place] = energy
    if known.waits:
        return waiting_cycles(known, work)
    for place in range(len(known.levels)):
        level, storage = known.levels[place], work.storages[place]
        slowest = max(slowest, transfer_cycles(cycles, level.read_bandwidth, storage.read))
        slowest = max(slowest, transfer_cycles(cycles, level.write_bandwidth, storage.write))
        slowest = max(slowest, transfer_cycles(cycles, level.shared_bandwidth, storage.write + storage.read))
    return slowest


@inlined
def transfer_cycles(cycles, bandwidth, demand):
    """Cycles that transfers of `demand` words a cycle take; 0 where they slow nothing down."""
    # A quotient of a quotient, as the published figures have it: another order rounds otherwise.
    return np.ceil(cycles / (bandwidth / demand)) if bandwidth < demand else 0.0


@inlined
def blocks(words, level):
    """Physical accesses that move so many words."""
    if level.shift >= 0:
        return np.float64((words + level.block - 1) >> level.shift)
    return np.float64((words + level.block - 1) // level.block)


@inlined
def total_pj(known, work, cycles):
    """Energy of all levels, leakage included, and of the MACs (rule 6)."""
    energy = 0.0
    for place in range(len(known.levels)):
        at_work = work.uses[place].instances if work.storages[place].kept else 1
        energy += work.level_pj[place] + known.levels[place].leak_pj * cycles * at_work
    return energy + known.macs_pj
