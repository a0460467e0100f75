"""The model over batches of tiles that need not divide: `ragged` in compiled code, for rows with lengths.

What cycles and leakage follow from the counts is `kernel`'s.
"""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.kernel import (
    ELIDED,
    FILLS,
    LARGEST_CYCLES,
    READS,
    RETURNED,
    TOO_MANY_CYCLES,
    UPDATES,
    price_nest,
    total_pj,
)
from dse.models.timeloop.nest import (
    FACTORS,
    ORDER,
    TOO_LARGE,
    base_of,
    keep_tiles,
    make_work,
    see_level,
)
from dse.models.timeloop.pieces import axis_words, cut_along, make_cuts, pieces_along
from dse.models.timeloop.waits import begin_waits, take_transfer, waits_for, whole_cycles
from dse.support.compiling import kernel, subroutine


@kernel
def price_ragged(rows, share, known, axes, columns):
    """As `kernel.price_rows`, of rows with lengths; `axes` (axes, 2, 2) has the dims of each, -1 for none,
    and how many words a step moves it.
    """
    work, cuts = make_work(known), make_cuts(known)
    start, stop = share
    for place in range(start, stop):
        row = rows[place]
        fault, where, need = read_ragged(row, known, work, cuts)
        columns.cycles[place], columns.energy_pj[place] = 0, 0.0
        if fault == 0:
            count_ragged(known, axes, work, cuts)
            cycles = waiting_ragged(known, axes, work, cuts) if known.waits else price_nest(known, work)
            if cycles < LARGEST_CYCLES:
                columns.cycles[place] = np.int64(cycles)
                mean_energy(known, work, cuts)
                columns.energy_pj[place] = total_pj(known, work, cycles)
                if len(columns.counts):
                    columns.counts[place] = work.accesses
            else:
                fault, where, need = TOO_MANY_CYCLES, 0, 0
        columns.fault[place], columns.where[place], columns.need[place] = fault, where, need


@subroutine
def read_ragged(row, known, work, cuts):
    """Reads a row; returns its fault, where it is, and what is needed."""
    dims, places = len(known.sizes), len(known.levels)
    first = base_of(known, places)
    for dim in range(dims):
        cuts.lengths[dim, 0] = known.sizes[dim]
        for slot in range(2 * places):
            count = row[base_of(known, slot // 2) + slot % 2 * dims + dim]
            above, tile = cuts.lengths[dim, slot], row[first + slot * dims + dim]
            if tile < 1 or tile > above or count != (above + tile - 1) // tile:
                return FACTORS, dim, 0
            cuts.lengths[dim, slot + 1] = tile
        if cuts.lengths[dim, 2 * places] != 1:
            return FACTORS, dim, 0
    count, fault, where, need = 0, 0, 0, 0
    full, full_at, full_need = False, 0, 0
    for place in range(places):
        work.storages[place].kept = work.storages[place].needed = 0
    for place in range(places - 1, -1, -1):
        level, base = known.levels[place], base_of(known, place)
        visited = 0
        for slot in range(base + 3 * dims - 1, base + 2 * dims - 1, -1):
            dim = row[slot]
            if dim < 0 or dim >= dims:
                return ORDER, place, 0
            visited |= 1 << dim
            if row[base + dim] > 1:
                cuts.loop_dim[count], cuts.loop_level[count] = dim, place
                count += 1
        if visited != (1 << dims) - 1:
            return ORDER, place, 0
        work.uses[place].first = count
        wide, scattered = 1, False
        for dim in range(dims):
            wide *= row[base + dims + dim]
            scattered = scattered or (row[base + dims + dim] > 1 and level.spread >> dim & 1 == 0)
        measure_longest(known, work, cuts, place)
        words = keep_tiles(row, known, work, place)
        here, asked, over = see_level(known, work, place, words, scattered, wide)
        if here:
            fault, where, need = here, place, asked
        if over:
            full, full_at, full_need = True, place, over
    if fault == 0 and full:
        return TOO_LARGE, full_at, full_need
    return fault, where, need


@subroutine
def measure_longest(known, work, cuts, place):
    """How far a level's longest tiles reach along axes."""
    work.current[:] = 1
    for tensor in range(len(known.bits)):
        for dim in range(len(known.sizes)):
            for entry in range(known.moves.shape[2]):
                more = known.moves[tensor, dim, entry, 1] * (cuts.lengths[dim, 2 * place] - 1)
                work.current[known.moves[tensor, dim, entry, 0]] += more


@subroutine
def count_ragged(known, axes, work, cuts):
    """Steps, instances at work and accesses: of the first instance, and of all."""
    dims, places, output = len(known.sizes), len(known.levels), known.output
    work.passes[0] = 1
    cuts.free[:] = places
    for dim in range(dims):
        work.passes[0] *= pieces_along(known, cuts, dim, -1, places, places, False)
    cuts.free[:] = 0
    for place in range(places):
        work.uses[place].instances = 1
        for dim in range(dims):
            work.uses[place].instances *= pieces_along(known, cuts, dim, -1, place, place, True)
    for tensor in range(len(known.bits)):
        outermost = 0
        while work.tiles[outermost, tensor].words == 0:
            outermost += 1
        child = places
        for place in range(places - 1, -1, -1):
            work.accesses[place, tensor, :] = 0
            cuts.everywhere[place, tensor, :] = 0
            if work.tiles[place, tensor].words == 0:
                continue
            for every in range(2):
                counts = cuts.everywhere[place, tensor] if every else work.accesses[place, tensor]
                served = received(known, axes, work, cuts, tensor, (place, child, every == 1))
                fills = 0
                if place != outermost:
                    fills = received(known, axes, work, cuts, tensor, (place, place, every == 1))
                counts[READS], counts[FILLS], counts[UPDATES] = served, fills, 0
                if tensor == output:
                    first = 0 if known.first_fill == RETURNED else own_words(known, cuts, place, every == 1)
                    counts[READS], counts[UPDATES] = served - first, served
                    if known.first_fill == ELIDED and place != outermost:
                        counts[FILLS] = fills - first
            child = place


@subroutine
def own_words(known, cuts, place, every):
    """Words of the output that the first instance works on, or that all do, each by itself."""
    words = 1
    for dim in range(len(known.sizes)):
        if known.output_dims >> dim & 1:
            if every:
                words *= known.sizes[dim]
            else:
                cuts.free[dim] = place
                found, here = cut_along(known, cuts, dim, -1, place, place, False), 0
                for piece in range(found):
                    here += cuts.length[0, piece] * cuts.many[piece]
                words *= here
        elif every:
            cuts.free[dim] = 0
            words *= pieces_along(known, cuts, dim, -1, place, place, True)
    return words


@subroutine
def received(known, axes, work, cuts, tensor, asked):
    """Words of a tensor that a level at `place` is asked for by a `child`, or by the MACs: those of the first
    instance, or of `every` one.
    """
    child, places = asked[1], len(known.levels)
    cuts.free[:] = child
    single, stepping = -1, -1
    if child < places:
        loop, last = work.uses[child].first, work.uses[0].first
        if loop < last and known.moves[tensor, cuts.loop_dim[loop], 0, 1]:
            # Along the innermost loop only new words come; at its first step all of the tile that is next.
            stepping = cuts.loop_dim[loop]
            single = known.moves[tensor, stepping, 0, 0]
        else:
            while loop < last and not known.moves[tensor, cuts.loop_dim[loop], 0, 1]:
                cuts.free[cuts.loop_dim[loop]] = cuts.loop_level[loop]
                loop += 1
    words = all_words(known, axes, cuts, tensor, asked, single)
    if single >= 0:
        along = axis_words(known, axes[single], cuts, tensor, asked, stepping)
        cuts.free[stepping] = cuts.loop_level[work.uses[child].first]
        along -= axis_words(known, axes[single], cuts, tensor, asked, stepping)
        words *= along + axis_words(known, axes[single], cuts, tensor, asked, -1)
    return words


@subroutine
def all_words(known, axes, cuts, tensor, asked, but):
    """Words of a tensor in the pieces that a level is asked for, of which `cuts.free` says the steps; along
    all its axes `but` one, -1 for none.
    """
    place, child, every = asked
    words = 1
    for dim in range(len(known.sizes)):
        if known.moves[tensor, dim, 0, 1] == 0:
            words *= pieces_along(known, cuts, dim, tensor, place, child, every)
    for axis in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
        if axis != but:
            words *= axis_words(known, axes[axis], cuts, tensor, asked, -1)
    return words


@subroutine
def waiting_ragged(known, axes, work, cuts):
    """As `waits.waiting`: the cycles of the first instance, whose accesses are counted."""
    begin_waits(known, work)
    total = 0.0
    for tensor in range(len(known.bits)):
        for inner in range(len(known.levels)):
            outer = waits_for(known, work, tensor, inner)
            if outer >= 0:
                comes = received(known, axes, work, cuts, tensor, (inner, inner, False))
                sent = received(known, axes, work, cuts, tensor, (outer, inner, False))
                total += waited_cycles(known, axes, work, cuts, (tensor, outer, inner), (comes, sent))
    return whole_cycles(known, work, total)


@subroutine
def waited_cycles(known, axes, work, cuts, link, every):
    """Cycles in which all else waits for a tensor between two places, the words of all its transfers taken
    together, as `RaggedNest.waited` has them; `every` are those that come to the inner one's first instance,
    and those that the outer one's serves.
    """
    tensor, outer, inner = link
    single = known.levels[inner].single
    fresh = tensor == known.output and known.first_fill != RETURNED
    comes, sent = every
    for dim in range(len(known.sizes)):
        cuts.free[dim] = inner if single and known.moves[tensor, dim, 0, 1] else 0
    first = all_words(known, axes, cuts, tensor, (inner, inner, False), -1)
    served = all_words(known, axes, cuts, tensor, (outer, inner, False), -1)
    if not single:
        comes, sent = first, served
    goes = sent if tensor == known.output else 0
    if fresh:
        comes, sent = comes - first, sent - served
    wide = known.bits[tensor]
    return take_transfer(known, work, (outer, inner), comes * wide, sent * wide, goes * wide)


@subroutine
def mean_energy(known, work, cuts):
    """Writes the energy of each level's accesses: whole blocks of the mean of all instances, in all rows."""
    for place in range(len(known.levels)):
        level, energy = known.levels[place], 0.0
        instances = work.uses[place].instances
        rows, share = min(np.float64(instances), level.rows), level.block * instances
        for tensor in range(len(known.bits)):
            if work.tiles[place, tensor].words:
                reads, fills, updates = cuts.everywhere[place, tensor]
                wide = known.bits[tensor]
                energy += np.float64((reads * wide + share - 1) // share) * level.read_pj * rows
                energy += np.float64((fills * wide + share - 1) // share) * level.write_pj * rows
                energy += np.float64((updates * wide + share - 1) // share) * level.update_pj * rows
        work.level_pj[place] = energy
