"""The inner level of a point of outer tiles: what it takes at least, by its parallel dim and tile of that.

MAESTRO drops work at edges, of both levels, and so may count fewer cycles than the busiest PE has steps. Such
a mapping is infeasible: cycles are never below the mapping's serial floor. Where no loop is at an edge,
an outer tile takes the cycles that MAESTRO counts for its parallel loop, with all of the others.
"""

from __future__ import annotations

from dse.models.maestro.loop_table import edge_units
from dse.models.maestro.proof.boxes.outer import HIGH, LOW
from dse.models.maestro.proof.boxes.spread import (
    BUSIEST,
    BUSIEST_PES,
    WHOLE_ROUNDS,
    WHOLE_STEPS,
    pieces,
)
from dse.models.maestro.proof.level import (
    BANDWIDTH,
    DEPTHWISE,
    DIMS,
    FILTER,
    LANES,
    LATENCY,
    PES,
    SHIFT,
    SIZES,
    ceil_div,
    halo_of,
    in_input,
    in_output,
    in_weights,
)
from dse.support.compiling import subroutine


@subroutine
def box_cycles(box, cluster, spatial, least, parallels, smallest, params):
    """Cycles that the busiest PE has at least, in any mapping of a box, that none of them is below, and that
    no outer step of whole tiles is below.

    The second are of the busiest PE, or of the work and first data of all steps of whole tiles.
    """
    serial, fewest, shortest = 2**62, 2**62, 2**62
    for inner in range(DIMS):
        if not parallels[inner]:
            continue
        floor, work, step, steps = params[FILTER], params[FILTER], params[FILTER], 1
        for dim in range(DIMS):
            size, low, high = params[SIZES + dim], box[dim, LOW], box[dim, HIGH]
            whole = max(size // high, 1)
            of_step = fewest_counted(low, cluster) if dim == inner else low
            if dim == spatial:
                whole = least[WHOLE_ROUNDS]
                floor *= least[BUSIEST_PES] if dim == inner else least[BUSIEST]
                work *= whole * of_step if dim == inner else least[WHOLE_STEPS]
            elif dim == inner:
                if low == high:
                    floor *= size // low * pieces(low, cluster) + pieces(size % low, cluster)
                else:
                    floor *= max(pieces(size, cluster), pieces(size, high))
                work *= max(whole * of_step, fewest_counted(in_whole(size, low, high), cluster))
            else:
                floor *= size
                work *= in_whole(size, low, high)
            step *= of_step
            steps *= whole
        into = first_data(box, cluster, inner, smallest, params)
        one = pieces(step, params[LANES]) + into
        every = max(steps * one, pieces(work, params[LANES]) + steps * into)
        floor = pieces(floor, params[LANES])
        serial, fewest = min(serial, floor), min(fewest, max(floor, every))
        shortest = min(shortest, one)
    lanes = all_lanes(params)
    return max(serial, lanes), max(fewest, lanes), shortest


@subroutine
def in_whole(size, low, high):
    """Steps that are in whole tiles, with one of some tiles."""
    return size // low * low if low == high else max(size // high * low, size - high + 1)


@subroutine
def fewest_counted(extent, pes):
    """Steps that MAESTRO counts at least for the busiest of `pes` over whole outer tiles of `extent` in all.

    A lone PE at the edge may be counted for less than its tile, which is at most the share of one PE more.
    """
    return extent if pes == 1 else pieces(extent, pes + 1)


@subroutine
def first_data(box, cluster, inner, smallest, params):
    """Cycles until the first data of an outer step are in, of any inner tiles with this parallel dim."""
    depthwise = params[DEPTHWISE] == 1
    inputs, weights = 1, params[FILTER]
    for dim in range(DIMS):
        own, halo = smallest[dim], halo_of(dim, params)
        wide = own + halo
        if dim == inner:
            own = min(cluster * own, box[dim, LOW])
            wide = min(cluster * wide, box[dim, LOW] + halo)
        if in_input(dim):
            inputs *= wide
        if in_weights(dim, depthwise):
            weights *= own
    return params[LATENCY] - 1 + ceil_div(inputs + weights, params[BANDWIDTH], params[SHIFT])


@subroutine
def all_lanes(params):
    """Cycles of the layer on all lanes."""
    work = params[FILTER]
    for dim in range(DIMS):
        work *= params[SIZES + dim]
    return pieces(work, params[PES] * params[LANES])


@subroutine
def busiest(extent, tile, pes):
    """Steps of the busiest PE over `extent` in tiles."""
    return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))


@subroutine
def serial_floor(tiles, cluster, spatial, inner, tile, params):
    """The serial floor of mappings of outer `tiles` whose parallel dim `inner` has this inner tile."""
    work, clusters = params[FILTER], params[PES] // cluster
    for dim in range(DIMS):
        size, outer = params[SIZES + dim], tiles[dim]
        if dim != spatial and dim != inner:
            work *= size
            continue
        span = outer * (clusters if dim == spatial else 1)
        left = min(outer, size % span)
        if dim == inner:
            work *= size // span * busiest(outer, tile, cluster) + busiest(left, tile, cluster)
        else:
            work *= size // span * outer + left
    return pieces(work, params[LANES])


@subroutine
def counted(extent, tile, pes, halo, in_out):
    """Steps that MAESTRO counts for the busiest of `pes` over a whole outer tile, `extent`."""
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
def whole_cycles(tiles, cluster, inner, tile, smallest, params):
    """Cycles that an outer step of whole `tiles` takes at least: its work after its first data.

    Those are of the `smallest` inner tiles, but along the parallel dim `inner`.
    """
    depthwise = params[DEPTHWISE] == 1
    work, inputs, weights = params[FILTER], 1, params[FILTER]
    for dim in range(DIMS):
        halo, own = halo_of(dim, params), smallest[dim]
        wide = own + halo
        if dim == inner:
            at_work = min(pieces(tiles[dim], tile), cluster)
            own = min(tile * cluster, tiles[dim])
            # With what several have in part, each is loaded in full.
            wide = own + at_work * halo
            work *= counted(tiles[dim], tile, cluster, halo, in_output(dim, depthwise))
        else:
            work *= tiles[dim]
        if in_input(dim):
            inputs *= wide
        if in_weights(dim, depthwise):
            weights *= own
    into = params[LATENCY] - 1 + ceil_div(inputs + weights, params[BANDWIDTH], params[SHIFT])
    return pieces(work, params[LANES]) + into
