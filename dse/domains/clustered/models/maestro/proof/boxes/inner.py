"""The inner level of a point of outer tiles: what it takes at least, by its parallel dim and tile of that.

MAESTRO drops work at edges, of both levels, and so may count fewer cycles than the busiest PE has steps. Such
a mapping is infeasible: cycles are never below the mapping's serial floor. Where no loop is at an edge,
an outer tile takes the cycles that MAESTRO counts for its parallel loop, with all of the others.
"""

from __future__ import annotations

from numba import njit

from dse.domains.clustered.models.maestro.loop_table import edge_units
from dse.domains.clustered.models.maestro.proof.boxes.outer import HIGH, LOW
from dse.domains.clustered.models.maestro.proof.boxes.spread import BUSIEST, BUSIEST_PES, pieces
from dse.domains.clustered.models.maestro.proof.level import (
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
from dse.support.jit import LEAN


@njit(**LEAN)
def box_floor(box, cluster, spatial, least, parallels, params):
    """Cycles of the busiest PE that no mapping of a box is below."""
    fewest = 2**62
    for inner in range(DIMS):
        if not parallels[inner]:
            continue
        work = params[FILTER]
        for dim in range(DIMS):
            size = params[SIZES + dim]
            if dim == spatial:
                work *= least[BUSIEST_PES] if dim == inner else least[BUSIEST]
            elif dim == inner:
                low, high = box[dim, LOW], box[dim, HIGH]
                if low == high:
                    work *= size // low * pieces(low, cluster) + pieces(size % low, cluster)
                else:
                    work *= max(pieces(size, cluster), pieces(size, high))
            else:
                work *= size
        fewest = min(fewest, work)
    return max(pieces(fewest, params[LANES]), all_lanes(params))


@njit(**LEAN)
def all_lanes(params):
    """Cycles of the layer on all lanes."""
    work = params[FILTER]
    for dim in range(DIMS):
        work *= params[SIZES + dim]
    return pieces(work, params[PES] * params[LANES])


@njit(**LEAN)
def busiest(extent, tile, pes):
    """Steps of the busiest PE over `extent` in tiles."""
    return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))


@njit(**LEAN)
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


@njit(**LEAN)
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


@njit(**LEAN)
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
