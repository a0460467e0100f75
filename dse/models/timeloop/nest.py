"""The kernel's first half: a row's loops from the inside out, with the tiles and fan-outs that they make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dse.models.timeloop.tables import LOOP, STORAGE, TILE, USE
from dse.support.compiling import inlined, subroutine, subroutine_with_arrays

# The codes of `Fault`, as plain integers.
FACTORS, ORDER, KEEP, NOT_SPREAD, TOO_WIDE, TOO_LARGE = 1, 2, 3, 4, 5, 6
NOT_AN_ORDER, NOT_FACTORS = -1, -2


class Work(NamedTuple):
    """What a row is read into. Temporal `loops` are the innermost first, `passes` how often each begins.

    `spread` are the spatial loops of one level, `box` and `current` the tile that loops make so far, by dims
    and along axes, and `extents` (levels, axes) those of the levels. `uses` has a row for each level and one
    for the MACs, `storages` one for each level (of parts the first one's matter), `tiles` one for each level
    and tensor. `flow` and `below` are of tensors: different data
    asked for since the last level that keeps it, and words that the levels inside ask for.
    """

    loops: Any
    passes: Any
    spread: Any
    box: Any
    current: Any
    extents: Any
    back: Any
    uses: Any
    storages: Any
    tiles: Any
    flow: Any
    below: Any
    seen: Any
    accesses: Any
    level_pj: Any


@subroutine_with_arrays
def make_work(known):
    """Arrays to work in."""
    places, tensors, dims = len(known.levels), len(known.bits), len(known.sizes)
    # One axis more, of what moves nothing.
    axes = known.first_axis[tensors] + 1
    return Work(
        np.empty(places * dims, LOOP),
        np.empty(places * dims + 1, np.int64),
        np.empty(dims, LOOP),
        np.empty(dims, np.int64),
        np.empty(axes, np.int64),
        np.empty((places, axes), np.int64),
        np.zeros(axes, np.int64),
        np.empty(places + 1, USE),
        np.empty(places, STORAGE),
        np.empty((places, tensors), TILE),
        np.empty(tensors, np.int64),
        np.empty(tensors, np.int64),
        np.empty(known.slots, np.int64),
        np.empty((places, tensors, 3), np.int64),
        np.empty(places, np.float64),
    )


@inlined
def see_level(known, work, place, words, scattered, wide):
    """Adds what a level keeps to what its storage does. Returns its fault, and what that needs; and how much
    the storage has to hold, where that is too much.

    Of several faults the outermost is told, and what does not fit only if there is no other. What parts of a
    level keep and hold together is known at the first of them.
    """
    level, kept = known.levels[place], work.uses[place].kept
    storage = work.storages[level.storage]
    twice = storage.kept & kept
    storage.kept |= kept
    storage.needed += words
    over = storage.needed if storage.needed > level.capacity else 0
    lacking = level.storage == place and storage.kept & level.required != level.required
    if lacking or twice or kept & ~level.allowed:
        return KEEP, 0, over
    if scattered:
        return NOT_SPREAD, 0, over
    if wide > level.fan_out:
        return TOO_WIDE, wide, over
    return 0, 0, over


@inlined
def read_nest(row, known, work):
    """Fills `work` for one row; returns its fault, where it is, and what is needed."""
    dims, places = len(known.sizes), len(known.levels)
    work.box[:] = 1
    work.current[:] = 1
    work.flow[:] = 1
    for place in range(places):
        work.storages[place].kept = work.storages[place].needed = 0
    count = 0
    fault, where, need = 0, 0, 0
    full, full_at, full_need = False, 0, 0
    # From the inside out, as a loop's step is the length of the box inside of it.
    for place in range(places - 1, -1, -1):
        wide, scattered = spread_out(row, known, work, place)
        if wide == 0:
            return FACTORS, wrong_dim(row, known), 0
        count = add_loops(row, known, work, place, count)
        if count == NOT_AN_ORDER:
            return ORDER, place, 0
        if count == NOT_FACTORS:
            return FACTORS, wrong_dim(row, known), 0
        words = keep_tiles(row, known, work, place)
        here, asked, over = see_level(known, work, place, words, scattered, wide)
        if here:
            fault, where, need = here, place, asked
        if over:
            full, full_at, full_need = True, place, over
    for dim in range(dims):
        # No box grows beyond its dim, so factors multiply to the size only where it ends as the whole dim.
        if work.box[dim] != known.sizes[dim]:
            return FACTORS, dim, 0
    if fault:
        return fault, where, need
    if full:
        return TOO_LARGE, full_at, full_need
    outermost = work.uses[0]
    outermost.instances = outermost.parts = 1
    for place in range(1, places + 1):
        # What one parent has, times how many parents there are: the outermost level is there once.
        work.uses[place].instances *= work.uses[place - 1].instances
        work.uses[place].parts *= work.uses[place - 1].parts
    return 0, 0, 0


@inlined
def base_of(known, place):
    """Where a level's entries begin in a row: temporal and spatial factors, order, tensors kept."""
    return place * (3 * len(known.sizes) + len(known.bits))


@inlined
def spread_out(row, known, work, place):
    """Puts a level's spatial loops around the box, and multiplies what they ask for into `flow` (rule 3).

    Returns over how many children, 0 where factors do not divide, and whether some dim may not be spread.
    """
    dims, level = len(known.sizes), known.levels[place]
    base = base_of(known, place) + dims
    spreading, wide, parts, scattered = 0, 1, 1, False
    for dim in range(dims):
        factor = row[base + dim]
        if factor != 1:
            if not loop_fits(factor, work.box[dim], known.sizes[dim]):
                return 0, False
            put_around(work.spread[spreading], dim, factor, known, work)
            spreading += 1
            wide *= factor
            if known.output_dims >> dim & 1:
                # A loop over another dim leaves children with partial sums of the same words.
                parts *= factor
            scattered = scattered or level.spread >> dim & 1 == 0
    children = work.uses[place + 1]
    children.instances, children.parts = wide, parts
    # A wider spread is a fault, and its children might be too many for the table of `count_children`.
    if spreading and wide <= level.fan_out:
        for tensor in range(len(known.bits)):
            shared = level.reduction if tensor == known.output else level.multicast
            work.flow[tensor] *= different_data(known, work, tensor, spreading) if shared else wide
    return wide, scattered


@inlined
def add_loops(row, known, work, place, count):
    """Puts a level's temporal loops around the box, the last of its order first; returns how many there are.

    NOT_AN_ORDER where the order does not name every dim once, NOT_FACTORS where factors do not divide.
    """
    dims, base = len(known.sizes), base_of(known, place)
    entries, visited, looping = 0, 0, 0
    for dim in range(dims):
        entry = row[base + 2 * dims + dim]
        entries |= entry
        # A shift beyond an int64's bits means nothing; `entries` says below whether one was cut off.
        visited |= 1 << (entry & 63)
        looping |= row[base + dim] ^ 1
    if entries >> 6 or visited != (1 << dims) - 1:
        return NOT_AN_ORDER
    # Most levels of most mappings loop over nothing.
    if looping:
        for slot in range(base + 3 * dims - 1, base + 2 * dims - 1, -1):
            dim = row[slot]
            factor = row[base + dim]
            if factor != 1:
                if not loop_fits(factor, work.box[dim], known.sizes[dim]):
                    return NOT_FACTORS
                put_around(work.loops[count], dim, factor, known, work)
                count += 1
    work.uses[place].first = count
    return count


@inlined
def keep_tiles(row, known, work, place):
    """What a level keeps of the present box (rule 1); returns how much it has to hold."""
    base, kept, words = base_of(known, place) + 3 * len(known.sizes), 0, 0
    for tensor in range(len(known.bits)):
        one = work.tiles[place, tensor]
        one.words = 0
        if row[base + tensor]:
            kept |= 1 << tensor
            one.words = 1
            for axis in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
                one.words *= work.current[axis]
            # What a level holds for the whole run takes none of the capacity.
            if not known.levels[place].held >> tensor & 1:
                words += one.words * known.bits[tensor]
            # What the fan-outs below ask for is this level's to serve; for the next one out it begins anew.
            one.through, work.flow[tensor] = work.flow[tensor], 1
    work.uses[place].kept = kept
    if kept:
        for axis in range(len(work.current)):
            work.extents[place, axis] = work.current[axis]
    return words


@inlined
def loop_fits(factor, length, size):
    """Whether a loop of that factor around a box of that length stays within the dim."""
    return 1 < factor <= size and factor * length <= size


@inlined
def put_around(loop, dim, factor, known, work):
    """Puts a loop around the box: it and what it touches grow."""
    loop.dim, loop.factor, loop.step = dim, factor, work.box[dim]
    # An axis is 1 + sum of coefficient x (length - 1) long, halo included.
    more = (factor - 1) * work.box[dim]
    for tensor in range(known.moves.shape[0]):
        for entry in range(known.moves.shape[2]):
            work.current[known.moves[tensor, dim, entry, 0]] += known.moves[tensor, dim, entry, 1] * more
    work.box[dim] *= factor


@subroutine
def wrong_dim(row, known):
    """The first dim whose factors do not multiply to its size."""
    dims = len(known.sizes)
    for dim in range(dims):
        left = known.sizes[dim]
        for place in range(len(known.levels)):
            temporal = base_of(known, place) + dim
            for column in (temporal, temporal + dims):
                factor = row[column]
                if factor < 1 or left % factor:
                    return dim
                left //= factor
        if left != 1:
            return dim
    return 0


@inlined
def different_data(known, work, tensor, spreading):
    """How many different data of a tensor the children need (rule 3): `reference.different_data`."""
    moves = known.moves[tensor]
    data = 1
    for place in range(spreading):
        loop = work.spread[place]
        words = moves[loop.dim, 0, 1] * loop.step
        if words == 0:
            continue
        # A loop that moves two axes at once ties them: their places cannot be counted apart and multiplied.
        if moves.shape[1] > 1 and moves[loop.dim, 1, 1]:
            return count_children(known, work, tensor, spreading)
        axis = moves[loop.dim, 0, 0]
        others, other_factor, other_words = 0, 1, 1
        for earlier in range(place):
            other = work.spread[earlier]
            if moves[other.dim, 0, 1] and moves[other.dim, 0, 0] == axis:
                others += 1
                other_factor, other_words = other.factor, moves[other.dim, 0, 1] * other.step
        if others > 1:
            return count_children(known, work, tensor, spreading)
        if others == 1:
            # Two loops along one axis meet in the same places where their steps have common multiples.
            common = common_divisor(words, other_words)
            apart = max(0, loop.factor - other_words // common) * max(0, other_factor - words // common)
            data = data // other_factor * (loop.factor * other_factor - apart)
        else:
            data *= loop.factor
    return data


@subroutine
def common_divisor(one, other):
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one


@subroutine
def count_children(known, work, tensor, spreading):
    """`different_data` where loops move several axes or share one: each child's place goes into a table once.

    A place is written as one number, with a digit an axis.
    """
    moves, seen = known.moves[tensor], work.seen
    children = 1
    for loop in range(spreading):
        children *= work.spread[loop].factor
    slots = 1
    while slots < 2 * children:
        slots *= 2
    # At most half full, so that there is always a free slot, and soon.
    seen[:slots] = -1
    found = 0
    for child in range(children):
        rest, number = child, 0
        for place in range(spreading):
            loop = work.spread[place]
            index = rest % loop.factor
            rest //= loop.factor
            radix = 1
            for axis in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
                for entry in range(moves.shape[1]):
                    if moves[loop.dim, entry, 0] == axis:
                        number += index * moves[loop.dim, entry, 1] * loop.step * radix
                # The axis is this long with all these loops around the box: no digit reaches its radix.
                radix *= work.current[axis]
        # A multiplicative hash; taken places are passed by.
        slot = number * 0x9E3779B97F4A7C % slots
        while seen[slot] != -1 and seen[slot] != number:
            slot = (slot + 1) % slots
        if seen[slot] == -1:
            seen[slot] = number
            found += 1
    return found
