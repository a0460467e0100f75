"""The inner level of a box: what it takes at least, by its parallel dim and tile of that.

MAESTRO drops work at edges, of both levels, and so may count fewer cycles than the busiest PE has steps. Such
a mapping is infeasible: cycles are never below the mapping's serial floor. Where no loop is at an edge,
an outer tile takes the cycles that MAESTRO counts for its parallel loop, with all of the others.
"""

from __future__ import annotations

from dse.models.maestro.loop_table import edge_units
from dse.models.maestro.proof.records import (
    DIMS,
    MOST_PAIRS,
    ceil_div,
    ceil_quotient,
    in_input,
    in_output,
    in_weights,
)
from dse.support.compiling import inlined, subroutine


@subroutine
def box_cycles(box, least, given):
    """Cycles that the busiest PE computes at least, in any mapping of a box; cycles that none of them is
    below; and cycles that no outer step of whole tiles is below.

    The second are of the busiest PE, or of the work and first data of all steps of whole tiles. Each factor
    is the least over the tiles of its dim, so that their product is no more than that of any mapping.
    """
    layer, machine, cluster = given.layers[0], given.machines[0], box.cluster
    serial, fewest, shortest = 2**62, 2**62, 2**62
    # Any inner parallel dim may be a mapping's, R and S after the four others: the least of all.
    for inner in range(DIMS + 2):
        if not may_be_inner(inner, box, given):
            continue
        floor, work, step, steps = box.taps, box.taps, box.taps, 1
        for dim in range(DIMS):
            size, low, high = layer.sizes[dim], box.low[dim], box.high[dim]
            # Outer steps of whole tiles: the fewest are of the largest, and any tile is whole once.
            whole = max(size // high, 1)
            of_step = low + box.more[dim]
            if dim == inner:
                of_step = ceil_quotient(low, cluster) if given.fit else fewest_counted(low, cluster)
            if dim == box.parallel:
                whole = least.whole_rounds
                floor *= least.busiest_pes if dim == inner else least.busiest
                work *= whole * of_step if dim == inner else least.whole_steps + whole * box.more[dim]
            elif dim == inner:
                if low == high:
                    floor *= size // low * ceil_quotient(low, cluster) + ceil_quotient(size % low, cluster)
                else:
                    # PEs that share all evenly, or one step of each tile.
                    floor *= max(ceil_quotient(size, cluster), ceil_quotient(size, high))
                work *= max(whole * of_step, fewest_counted(in_whole(size, low, high), cluster))
            else:
                floor *= size
                work *= in_whole(size, low, high) + whole * box.more[dim]
            step *= of_step
            steps *= whole
        into = first_data(box, inner, layer, machine)
        one = ceil_quotient(step, machine.lanes) + into
        # All whole steps, each as long as the shortest, or by their work in all.
        every = max(steps * one, ceil_quotient(work, machine.lanes) + steps * into)
        floor = ceil_quotient(floor, machine.lanes)
        serial, fewest = min(serial, floor), min(fewest, max(floor, every))
        shortest = min(shortest, one)
    lanes = all_lanes(box, layer, machine)
    return max(serial, lanes), max(fewest, lanes), shortest


@inlined
def may_be_inner(inner, box, given):
    """Whether a dim may be the parallel one of the inner level; R or S only where that is chosen."""
    return box.inner == inner or (box.inner < 0 and inner < DIMS and given.parallels[inner])


@subroutine
def in_whole(size, low, high):
    """Steps of a loop that are in whole tiles, at least, with one of some tiles: a rest is below the tile."""
    return size // low * low if low == high else max(size // high * low, size - high + 1)


@subroutine
def fewest_counted(extent, pes):
    """Steps that MAESTRO counts at least for the busiest of `pes` over whole outer tiles of `extent` in all.

    What it counts, times the PEs, covers the extent, but where a lone PE at the edge has a tile and a rest:
    that counts as the rest (`counted`). The tile is one of those counted before, so one PE more covers it.
    """
    return extent if pes == 1 else ceil_quotient(extent, pes + 1)


@subroutine
def first_data(box, inner, layer, machine):
    """Cycles until the first data of an outer step are in, of any inner tiles with this parallel dim."""
    inputs, weights = 1, layer.taps
    for dim in range(DIMS):
        own, halo = box.inner_low[dim], box.halos[dim]
        wide = own + halo
        # Together the PEs have a tile each, or all of the outer tile.
        if dim == inner:
            own = min(box.cluster * own, box.low[dim])
            wide = min(box.cluster * wide, box.low[dim] + halo)
        if in_input(dim):
            inputs *= wide
        if in_weights(dim, layer):
            weights *= own
    return machine.latency - 1 + ceil_div(inputs + weights, machine.bandwidth, machine.shift)


@subroutine
def all_lanes(box, layer, machine):
    """Cycles of the layer on all lanes of the clusters, which the busiest PE takes at least."""
    work = layer.taps
    for dim in range(DIMS):
        work *= layer.sizes[dim]
    return ceil_quotient(work, box.clusters * box.cluster * machine.lanes)


@subroutine
def busiest(extent, tile, pes):
    """Steps of the busiest PE over `extent` in tiles."""
    return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))


@subroutine
def serial_floor(box, inner, tile, layer, machine):
    """The serial floor of mappings of one outer tile a dim whose parallel dim `inner` has this inner tile:
    see `dse.domains.clustered.feasibility`.
    """
    work, cluster = box.taps, box.cluster
    for dim in range(DIMS):
        size, outer = layer.sizes[dim], box.low[dim]
        if dim != box.parallel and dim != inner:
            work *= size
            continue
        span = outer * (box.clusters if dim == box.parallel else 1)
        left = min(outer, size % span)
        if dim == inner:
            work *= size // span * busiest(outer, tile, cluster) + busiest(left, tile, cluster)
        else:
            work *= size // span * outer + left
    return ceil_quotient(work, machine.lanes)


@subroutine
def counted(extent, tile, pes, halo, in_out):
    """Steps that MAESTRO counts for the busiest of `pes` over a whole outer tile, `extent` (step 4.3 of
    `reference`)."""
    if extent <= tile * pes:
        return tile
    rounds = extent // tile // pes
    left = extent - rounds * tile * pes
    if left == 0:
        return rounds * tile
    if edge_units(extent, tile, pes) > 1:
        return rounds * tile + tile
    rest = extent % tile
    return rounds * tile + (rest if rest > 0 else tile) + (halo if in_out else 0)


@subroutine
def whole_cycles(box, inner, tile, layer, machine):
    """Cycles that an outer step of one whole tile a dim takes at least: its work after its first data.

    Those are of the smallest inner tiles, but along the parallel dim `inner`, of which the tile is known.
    """
    cluster, work, inputs, weights = box.cluster, box.taps, 1, layer.taps
    for dim in range(DIMS):
        outer, halo, own = box.low[dim], box.halos[dim], box.inner_low[dim]
        wide = own + halo
        if dim == inner:
            at_work = min(ceil_quotient(outer, tile), cluster)
            own = min(tile * cluster, outer)
            # With what several have in part, each is loaded in full.
            wide = own + at_work * halo
            work *= counted(outer, tile, cluster, halo, in_output(dim, layer))
        else:
            work *= outer + box.more[dim]
        if in_input(dim):
            inputs *= wide
        if in_weights(dim, layer):
            weights *= own
    into = machine.latency - 1 + ceil_div(inputs + weights, machine.bandwidth, machine.shift)
    return ceil_quotient(work, machine.lanes) + into


@subroutine
def pair_up(row, box, given, least, pairs):
    """Sets pairs of a floor, `least` at least, and of cycles of an outer step; returns how many.

    Each inner level of a box of one outer tile a dim is below none of one pair: its own is among them, or
    another that is below it in both. Beyond one tile for each PE neither falls.
    """
    layer, machine, cluster, count = given.layers[0], given.machines[0], box.cluster, 0
    if box.inner >= DIMS:
        floor = serial_floor(box, box.inner, 1, layer, machine)
        if floor * machine.lanes > machine.most_steps:
            return 0
        return add_pair(max(floor, least), whole_cycles(box, box.inner, 1, layer, machine), pairs, 0)
    for inner in range(DIMS):
        if not may_be_inner(inner, box, given):
            continue
        outer, most = box.low[inner], box.inner_low[inner]
        # With a halo fewer PEs load less, down to one that has all. A lone PE computes as much by any tile.
        if layer.halos[inner] > 0:
            most = outer
        elif cluster > 1:
            most = max(ceil_quotient(outer, cluster), most)
        beyond = False
        for place in range(row[8 + 2 * inner], row[9 + 2 * inner] + 1):
            tile = given.inner_tiles[inner, place]
            if beyond and not given.fit:
                break
            if given.perfect and outer % tile > 0:
                continue
            # The first tile of as much as each PE gets, or more: no factor may be just that.
            beyond = tile >= most
            if given.fit and tile * cluster != outer:
                continue
            floor = serial_floor(box, inner, tile, layer, machine)
            if floor * machine.lanes <= machine.most_steps:
                step = whole_cycles(box, inner, tile, layer, machine)
                count = add_pair(max(floor, least), step, pairs, count)
    return count


@subroutine
def add_pair(floor, step, pairs, count):
    """Adds a pair to so many of which none is below another in both figures; returns how many there are."""
    for pair in range(count):
        if pairs[pair, 0] <= floor and pairs[pair, 1] <= step:
            return count
    kept = 0
    for pair in range(count):
        if not (floor <= pairs[pair, 0] and step <= pairs[pair, 1]):
            pairs[kept, 0], pairs[kept, 1] = pairs[pair, 0], pairs[pair, 1]
            kept += 1
    if kept == MOST_PAIRS:
        # Too many to tell apart: what is below both.
        kept -= 1
        floor, step = min(floor, pairs[kept, 0]), min(step, pairs[kept, 1])
    pairs[kept, 0], pairs[kept, 1] = floor, step
    return kept + 1
