"""The loops of a level as a table of integers, and what each loop brings or holds: for `grouped`.

A column is one of the four loops K, C, Y, X, in loop order; the last one is the filter dim that the level
spreads in pieces, where there is one. What depends on the sizes that are actually left at an edge is set for
each of them anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.models.maestro.levels import R, S
from dse.support.compiling import inlined

# Rows of a level's table.
DIM, SIZE, TILE, HALO, REST, EDGE, ACTUAL, WHOLE_COUNT, HAS_EDGE, HELD, IN_I, IN_W, IN_O, MOVES = range(14)
# An edge in outputs, which is `EDGE` but where the filter has an edge too; what is held, in inputs.
EDGE_OUT, HELD_IN = 14, 15
TABLE_ROWS = 16
# The column of the filter dim, R or S, that is spread in pieces; also the number of its bit in an edge mask.
FILTER = 4
# States of the spatial loop: all units at work, a first iteration that is short, an edge iteration.
FULL, SHORT, LAST = range(3)


@inlined
def fill_level(table, order, tiles, sizes, parallel, depthwise):
    """Sets the entries that do not depend on the actual sizes.

    `sizes` are what the level is given of each dim, in input units. Returns the column of the spatial loop,
    how many of the four loops are outside it, and the elements of a filter but for those along it.
    """
    position = 0
    # Of numpy: to numba a literal 0 has a type of its own, and for each type what uses it is compiled anew.
    spatial: Any = np.int64(FILTER)
    outside: Any = np.int64(0)
    weights = tiles[R] * tiles[S]
    if depthwise and parallel == 0:
        parallel = 1
    for loop in range(6):
        dim = order[loop]
        if dim == parallel:
            outside = position
        if dim > 3:
            continue
        if dim == parallel:
            spatial = position
        tile = 1 if depthwise and dim == 0 else tiles[dim]
        halo = tiles[dim + 2] - 1 if dim > 1 else 0
        size = sizes[dim] - halo
        rest = size % tile
        table[DIM, position] = dim
        table[SIZE, position] = size
        table[TILE, position] = tile
        table[HALO, position] = halo
        table[REST, position] = rest
        table[EDGE, position] = table[EDGE_OUT, position] = rest if rest > 0 else tile
        table[IN_I, position] = dim != 0
        table[IN_W, position] = dim == 1 or (dim == 0 and not depthwise)
        table[IN_O, position] = dim > 1 or (dim == 1) == depthwise
        position += 1
    table[DIM, FILTER] = FILTER
    table[REST, FILTER] = 0
    if spatial == FILTER:
        fill_filter(table, sizes[parallel], tiles[parallel], parallel - 2)
        weights = tiles[R + S - parallel]
    return spatial, outside, weights


@inlined
def fill_filter(table, size, tile, partner):
    """Sets the column of the filter dim that a level spreads, which brings weights alone and never moves.

    It moves along `partner`, Y or X. Where its last piece is shorter, MAESTRO counts so many more outputs at
    the partner's edge.
    """
    rest = size % tile
    edge = rest if rest > 0 else tile
    table[SIZE, FILTER] = size
    table[TILE, FILTER] = tile
    table[REST, FILTER] = rest
    table[EDGE, FILTER] = edge
    table[HALO, FILTER] = table[HAS_EDGE, FILTER] = table[IN_I, FILTER] = table[IN_O, FILTER] = 0
    table[IN_W, FILTER] = 1
    for i in range(4):
        if table[DIM, i] == partner:
            table[EDGE_OUT, i] += tile - edge


@inlined
def edge_units(size, tile, fanout):
    """Sub-clusters at work in the spatial loop's edge iteration (step 2.2 of `reference`)."""
    if size > tile * fanout:
        # Rounded down: a tile and a rest count as one sub-cluster.
        rest = size - size // tile // fanout * tile * fanout
        return 1 if rest < tile else rest // tile
    return (size + tile - 1) // tile


@inlined
def set_states(table, spatial, fanout):
    """The loops' states over the actual sizes."""
    for i in range(4):
        actual, tile = table[ACTUAL, i], table[TILE, i]
        if i == spatial:
            covered = tile * fanout
            rounds = actual // tile // fanout
            table[MOVES, i] = actual > covered
            table[WHOLE_COUNT, i] = max(rounds, 1)
            table[HAS_EDGE, i] = actual > covered and actual > rounds * covered
        else:
            table[MOVES, i] = actual > tile
            table[WHOLE_COUNT, i] = max(actual // tile, 1)
            table[HAS_EDGE, i] = actual > tile and actual % tile > 0
            # What the loop holds, in outputs, while it stands at its first iteration.
            table[HELD, i] = table[EDGE_OUT, i] if actual < tile else tile
            table[HELD_IN, i] = table[HALO, i] + (table[EDGE, i] if actual < tile else tile)


@inlined
def spatial_factors(table, spatial, fanout):
    """The spatial loop's share of every volume, by its state FULL, SHORT or LAST.

    Returns the factors of a fetch in full, of one that reuses the halo, of the longest PE's work, of the
    array's work and of its outputs; then the state to start with, the sub-clusters in an edge iteration
    and whether the last of them has less than a tile.
    """
    tile, edge, rest = table[TILE, spatial], table[EDGE, spatial], table[REST, spatial]
    halo, actual = table[HALO, spatial], table[ACTUAL, spatial]
    units = edge_units(table[SIZE, spatial], tile, fanout)
    short = actual < tile * fanout
    last = actual - actual // tile // fanout * tile * fanout
    last_partial = last >= tile and last % tile > 0
    spatial_in_o = table[IN_O, spatial] == 1
    # Without a rest the last sub-cluster has a whole tile, of which MAESTRO counts nothing along K and C.
    produced_edge = edge if 1 < table[DIM, spatial] < FILTER else rest
    tile_in, edge_in = tile + halo, edge + halo
    fetch_full = (fanout * tile_in, 0, 0)
    fetch_new = (tile_in + (fanout - 1) * tile, 0, 0)
    critical = (tile, 0, 0)
    work = (fanout * tile, 0, 0)
    written = (fanout * tile, 0, 0)
    start = FULL
    if short:
        start = SHORT
        if units == 1:
            fetch_full = (fetch_full[0], edge_in, 0)
            fetch_new = (fetch_new[0], edge_in, 0)
            critical = (tile, edge if spatial_in_o else tile, 0)
            work = (work[0], edge, 0)
            written = (written[0], edge, 0)
        else:
            # The first, those between and the last, which where neighbours share has its rest alone.
            more = units - 2
            fetch_full = (fetch_full[0], tile_in + more * tile_in + edge_in, 0)
            fetch_new = (fetch_new[0], tile_in + more * tile + rest, 0)
            critical = (tile, tile, 0)
            work = (work[0], tile + more * tile + edge, 0)
            written = (written[0], tile + more * tile + produced_edge, 0)
    elif table[HAS_EDGE, spatial]:
        if units == 1:
            # MAESTRO's outputs of a lone one are counted in inputs.
            fetched = edge_in if last_partial else tile_in
            produced = edge_in if spatial_in_o else edge
            fetch_full = (fetch_full[0], 0, fetched)
            fetch_new = (fetch_new[0], 0, fetched)
            critical = (tile, 0, produced)
            work = (work[0], 0, produced)
            written = (written[0], 0, produced)
        else:
            partial = int(last_partial)
            more = max(units - partial - 1, 0)
            produced = tile + more * tile + partial * produced_edge
            fetch_full = (fetch_full[0], 0, tile_in + more * tile_in + partial * edge_in)
            fetch_new = (fetch_new[0], 0, tile_in + more * tile + partial * rest)
            critical = (tile, 0, tile)
            work = (work[0], 0, produced)
            written = (written[0], 0, produced)
    factors = fetch_full, fetch_new, critical, work, written, start
    return factors, (units, last_partial)


@inlined
def one_fetch(table, spatial, outside, p, whole_weight):
    """What a fetch brings when loop p is the innermost one that changes, less the spatial loop's factor.

    The spatial loop lies inside the first `outside` loops. Returns the elements of inputs and weights, and
    whether the spatial loop reuses what is there.
    """
    fetch_i, fetch_w = 1, whole_weight
    again_i = again_w = False
    for i in range(4):
        if i > p and table[MOVES, i]:
            again_i |= table[IN_I, i] == 1
            again_w |= table[IN_W, i] == 1
        if i != p and i != spatial:
            if table[IN_I, i]:
                fetch_i *= table[HELD_IN, i]
            if table[IN_W, i]:
                fetch_w *= table[HELD_IN, i]
    if p < 0:
        return fetch_i, fetch_w, False, False
    # What does not depend on the loop stays; of what does, the halo stays where nothing inside begins anew.
    if not table[IN_I, p]:
        fetch_i = 0
    elif p != spatial:
        fetch_i *= table[TILE, p] + (table[HALO, p] if again_i else 0)
    if not table[IN_W, p]:
        fetch_w = 0
    elif p != spatial:
        fetch_w *= table[TILE, p] + (table[HALO, p] if again_w else 0)
    inside = outside > p
    return (
        fetch_i,
        fetch_w,
        inside or (spatial == p and not again_i),
        inside or (spatial == p and not again_w),
    )


@inlined
def held_inside(table, spatial, p):
    """Work and outputs held by the temporal loops inside loop p, at their first iteration."""
    work = outputs = 1
    for i in range(p + 1, 4):
        if i != spatial:
            work *= table[HELD, i]
            if table[IN_O, i]:
                outputs *= table[HELD, i]
    return work, outputs


@inlined
def count_steps(table, spatial, fanout):
    """Iterations of a level over its static sizes, as a float: 2^31 of them wrap in MAESTRO."""
    steps = 1.0
    for i in range(4):
        tile = table[TILE, i] * (fanout if i == spatial else 1)
        steps *= (table[SIZE, i] + tile - 1) // tile
    return steps
