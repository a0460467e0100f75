"""A point: one outer tile for each dim. Its bound, and its inner levels priced by the model's own kernel."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.feasibility_kernel import COMPUTE_FLOOR, MACS, serial_floor
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.models.maestro.grouped import price_regular
from dse.models.maestro.proof.boxes.inner import all_lanes, whole_cycles
from dse.models.maestro.proof.boxes.inner import serial_floor as floor_of
from dse.models.maestro.proof.boxes.outer import (
    ALL_STEPS,
    INTO,
    LIMIT,
    MAY_MOVE,
    MOVES,
    MOVES_IN,
    OUT_ALL,
    OUT_CYCLES,
    SINGLE,
    add_steps,
)
from dse.models.maestro.proof.boxes.spread import pieces
from dse.models.maestro.proof.boxes.totals import words_of_order
from dse.models.maestro.proof.groups import energy_nj, value_of
from dse.models.maestro.proof.inner import l1_need
from dse.models.maestro.proof.level import (
    BANDWIDTH,
    DEPTHWISE,
    DIMS,
    L1,
    L2,
    LANES,
    LATENCY,
    MOST_STEPS,
    OFFCHIP,
    PES,
    SHIFT,
    ceil_div,
    halo_of,
)
from dse.support.compiling import subroutine

MOST_PAIRS, MAX_ORDERS = 64, 24
# What was done: boxes bounded, mappings priced, boxes that came to the heap, and tiles gone through for all
# of these; as many of the last take as long as one mapping.
BOUNDED, PRICED, CAME_BY, GONE_THROUGH = range(4)
DONE = 4
QUICK = 20


@subroutine
def cycles_below(order, after, spatial, loops, sums, least, reads, delays, level, params, floor, step):
    """Cycles that no mapping is below, with what is read: of so many by its floor, and by an outer step."""
    cycles, read_i, read_w = add_steps(order, after, spatial, loops, least, reads, delays, level, step)
    cycles = max(floor, max(step + level[INTO], level[LIMIT]) + max(cycles, level[OUT_CYCLES]))
    if level[SINGLE] == 0:
        depthwise, moves_in = params[DEPTHWISE] == 1, level[MOVES_IN]
        read_i = max(read_i, words_of_order(order, after, moves_in, False, depthwise, sums, params))
        read_w = max(read_w, words_of_order(order, after, moves_in, True, depthwise, sums, params))
        idle = params[LATENCY] - 1
        if idle >= 0:
            over_noc = idle * level[ALL_STEPS] + ceil_div(read_i + read_w, params[BANDWIDTH], params[SHIFT])
            cycles = max(cycles, step + over_noc)
    return cycles, read_i, read_w


@subroutine
def bound_orders(
    floors, steps, pairs, spatial, loops, sums, least, reads, delays, level, params, hertz, terms, orders,
    tables,
):  # fmt: skip
    """A loss that no mapping of a box is below: the least of its outer orders.

    `floors` and `steps` hold `pairs` of a floor and of cycles of an outer step, one of which each mapping is
    not below. `orders` (16, 4, 25) are those that differ, by the loops that may move and the parallel dim.
    """
    found = np.inf
    distinct = orders[level[MAY_MOVE], spatial]
    for index in range(distinct[0]):
        order = distinct[1 + index]
        for pair in range(pairs):
            cycles, read_i, read_w = cycles_below(
                tables[0, order], tables[1, order], spatial, loops, sums, least, reads, delays, level, params,
                floors[pair], steps[pair],
            )  # fmt: skip
            energy = energy_nj(params, read_i, read_w, level[OUT_ALL])
            found = min(found, value_of(terms, (cycles / hertz, energy)))
    return found


@subroutine
def most_inner(tiles, cluster, inner, fixed, smallest, params):
    """The largest inner tile of a parallel dim beyond which neither floor nor step falls: one for each PE."""
    if fixed[inner] > 0:
        return fixed[inner]
    if halo_of(inner, params) > 0:
        return tiles[inner]
    if cluster == 1:
        return smallest[inner]
    return max(pieces(tiles[inner], cluster), smallest[inner])


@subroutine
def pair_up(tiles, cluster, spatial, parallels, fixed, smallest, params, floors, steps, done):
    """Sets the pairs of a point of which none is below another in both figures; returns how many."""
    count = 0
    lanes = all_lanes(params)
    for inner in range(DIMS):
        if not parallels[inner]:
            continue
        most = most_inner(tiles, cluster, inner, fixed, smallest, params)
        done[GONE_THROUGH] += most
        for tile in range(smallest[inner], most + 1):
            floor = max(floor_of(tiles, cluster, spatial, inner, tile, params), lanes)
            if floor * params[LANES] > params[MOST_STEPS]:
                continue
            step = whole_cycles(tiles, cluster, inner, tile, smallest, params)
            below = False
            for pair in range(count):
                below |= floors[pair] <= floor and steps[pair] <= step
            if below:
                continue
            kept = 0
            for pair in range(count):
                if not (floor <= floors[pair] and step <= steps[pair]):
                    floors[kept], steps[kept] = floors[pair], steps[pair]
                    kept += 1
            if kept == MOST_PAIRS:
                # Too many to tell apart: what is below both.
                kept -= 1
                floor, step = min(floor, floors[kept]), min(step, steps[kept])
            floors[kept], steps[kept] = floor, step
            count = kept + 1
    return count


@subroutine
def solve_point(
    tiles, cluster, spatial, begin, budget, loops, sums, least, reads, delays, level, params, hertz, terms,
    rules, layer, parallels, fixed, smallest, orders, tables, row, work, result, spare, best,
    row_of_best, done,
):  # fmt: skip
    """Prices the inner levels of a point that could be below `best[0]`, from number `begin` on.

    A number is a parallel dim and a tile of it. Returns the first one left when so many mappings are priced,
    or -1 after the last one; stops early where the bound of the point is met.
    """
    limits = params[PES], params[BANDWIDTH], params[OFFCHIP], params[LATENCY], params[LANES]
    lanes = all_lanes(params)
    distinct = orders[0, level[MOVES], spatial]
    most = 0
    for dim in range(DIMS):
        most = max(most, tiles[dim])
        row[OUTER_TILE + dim] = tiles[dim]
    row[CLUSTER], row[OUTER_PARALLEL] = cluster, spatial
    inner_tiles, last, wanted = spare
    for number in range(begin, DIMS * most):
        inner, tile = number // most, number % most + 1
        if not parallels[inner] or tile > tiles[inner] or (fixed[inner] > 0 and tile != fixed[inner]):
            continue
        if number > begin and done[GONE_THROUGH] >= QUICK * budget:
            return number
        floor = max(floor_of(tiles, cluster, spatial, inner, tile, params), lanes)
        if floor * params[LANES] > params[MOST_STEPS]:
            continue
        step = whole_cycles(tiles, cluster, inner, tile, smallest, params)
        done[GONE_THROUGH] += QUICK // 4 * distinct[0]
        count = 0
        for index in range(distinct[0]):
            order = distinct[1 + index]
            cycles, read_i, read_w = cycles_below(
                tables[0, order], tables[1, order], spatial, loops, sums, least, reads, delays, level, params,
                floor, step,
            )  # fmt: skip
            energy = energy_nj(params, read_i, read_w, level[OUT_ALL])
            if value_of(terms, (cycles / hertz, energy)) < best[0]:
                wanted[count] = order
                count += 1
        if count == 0:
            continue
        if done[PRICED] >= budget:
            return number
        for dim in range(DIMS):
            inner_tiles[dim] = tile if dim == inner else smallest[dim]
            last[dim] = tile if dim == inner else (fixed[dim] if fixed[dim] > 0 else tiles[dim])
        row[INNER_PARALLEL] = inner
        while True:
            if l1_need(inner_tiles, params) <= params[L1]:
                price_inner(
                    tiles, inner_tiles, cluster, inner, wanted, count, limits, params, hertz, terms, rules,
                    layer, orders, tables, row, work, result, best, row_of_best, done,
                )  # fmt: skip
                place = DIMS - 1
            else:
                # Larger tiles of the last dim that is not the smallest do not fit either.
                place = DIMS - 1
                while place >= 0 and (place == inner or inner_tiles[place] == smallest[place]):
                    place -= 1
                if place < 0:
                    break
                inner_tiles[place] = smallest[place]
                place -= 1
            while place >= 0 and (place == inner or inner_tiles[place] >= last[place]):
                if place != inner:
                    inner_tiles[place] = smallest[place]
                place -= 1
            if place < 0:
                break
            inner_tiles[place] += 1
    return -1


@subroutine
def price_inner(
    tiles, inner_tiles, cluster, inner, wanted, count, limits, params, hertz, terms, rules, layer, orders,
    tables, row, work, result, best, row_of_best, done,
):  # fmt: skip
    """Prices all inner orders that differ with the `wanted` outer ones, by the model's kernel."""
    moves = 0
    for dim in range(DIMS):
        moves |= int(tiles[dim] > inner_tiles[dim] * (cluster if dim == inner else 1)) << dim
        row[INNER_TILE + dim] = inner_tiles[dim]
    distinct = orders[1, moves, inner]
    for index in range(distinct[0]):
        for place in range(DIMS):
            row[INNER_ORDER + place] = tables[0, distinct[1 + index], place]
        for outer in range(count):
            for place in range(DIMS):
                row[OUTER_ORDER + place] = tables[0, wanted[outer], place]
            done[PRICED] += 1
            if not price_regular(layer, limits, row, work, result):
                continue
            cycles = result[0]
            if result[1] < rules[MACS] or result[2] > params[L1] or result[3] > params[L2]:
                continue
            energy = energy_nj(params, result[4], result[5], result[6])
            loss = value_of(terms, (cycles / hertz, energy))
            if not loss < best[0]:
                continue
            if cycles < rules[COMPUTE_FLOOR] or cycles < serial_floor(row, rules):
                continue
            best[0] = loss
            for column in range(len(row)):
                row_of_best[column] = row[column]
