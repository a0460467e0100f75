"""The best mapping of all boxes: that with the lowest bound is split, until none is below the best loss."""

from __future__ import annotations

import numpy as np

from dse.models.maestro.proof.boxes.inner import box_cycles
from dse.models.maestro.proof.boxes.outer import (
    HIGH,
    L2_NEED,
    LEVEL,
    LINK,
    LOOP,
    LOW,
    SINGLE,
    set_box,
    set_loops,
)
from dse.models.maestro.proof.boxes.point import (
    BOUNDED,
    CAME_BY,
    DONE,
    GONE_THROUGH,
    MAX_ORDERS,
    MOST_PAIRS,
    PRICED,
    QUICK,
    bound_orders,
    pair_up,
    solve_point,
)
from dse.models.maestro.proof.boxes.spread import SHARES, pieces, spread
from dse.models.maestro.proof.boxes.totals import SUMS, set_sums
from dse.models.maestro.proof.level import (
    DEPTHWISE,
    DIMS,
    L2,
    LANES,
    MOST_STEPS,
    PES,
    SITES,
    SIZES,
    Y,
    halo_of,
    in_output,
)
from dse.support.compiling import kernel, subroutine

__all__ = ["BOUNDED", "CAME_BY", "COLUMNS", "DONE", "PRICED", "begin", "go_on"]

# A box in the heap: low and high tiles of each dim, cluster size, outer parallel dim, the first inner levels
# that are not yet priced, and when it came.
CLUSTER, SPATIAL, BEGUN, CAME = 8, 9, 10, 11
COLUMNS = 12


@subroutine
def before(bounds, rows, one, other):
    """Whether a box comes before another: the lower bound first, of equals the later one."""
    if bounds[one] != bounds[other]:
        return bounds[one] < bounds[other]
    return rows[one, CAME] > rows[other, CAME]


@subroutine
def swap(bounds, rows, one, other):
    """Swaps two boxes."""
    bounds[one], bounds[other] = bounds[other], bounds[one]
    for column in range(COLUMNS):
        rows[one, column], rows[other, column] = rows[other, column], rows[one, column]


@subroutine
def push(bounds, rows, count, bound, row):
    """Adds a box to a heap of so many."""
    place = count
    bounds[place] = bound
    for column in range(COLUMNS):
        rows[place, column] = row[column]
    while place > 0 and before(bounds, rows, place, (place - 1) // 2):
        swap(bounds, rows, place, (place - 1) // 2)
        place = (place - 1) // 2


@subroutine
def pop(bounds, rows, count, row):
    """Takes the first box of a heap of so many into `row`."""
    for column in range(COLUMNS):
        row[column] = rows[0, column]
    last = count - 1
    swap(bounds, rows, 0, last)
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            return
        if child + 1 < last and before(bounds, rows, child + 1, child):
            child += 1
        if not before(bounds, rows, child, place):
            return
        swap(bounds, rows, child, place)
        place = child


@subroutine
def bound_box(row, best, about, scratch, done):
    """A loss that no feasible mapping of a box is below; inf if none fits, or if too many PEs
    idle. One that is not below `best` may be worked out less closely. `about` is what boxes are of.
    """
    params, hertz, terms, parallels, fixed, smallest, orders, tables = about
    box, loops, sums, shares, least, reads, delays, level, floors, steps, tiles = scratch
    single = 1
    for dim in range(DIMS):
        box[dim, LOW], box[dim, HIGH] = row[2 * dim], row[2 * dim + 1]
        single &= int(box[dim, LOW] == box[dim, HIGH])
        tiles[dim] = box[dim, LOW]
    cluster, spatial = row[CLUSTER], row[SPATIAL]
    in_out = in_output(spatial, params[DEPTHWISE] == 1)
    size, low, high = params[SIZES + spatial], box[spatial, LOW], box[spatial, HIGH]
    done[GONE_THROUGH] += high - low
    clusters, halo = params[PES] // cluster, halo_of(spatial, params)
    if not spread(size, low, high, halo, clusters, cluster, in_out, spatial >= Y, shares, least):
        return np.inf
    set_loops(box, spatial, params, loops)
    set_sums(box, spatial, least, params, sums)
    set_box(loops, sums, least, spatial, params, reads, delays, level)
    level[SINGLE] = single
    if level[L2_NEED] > params[L2]:
        return np.inf
    serial, floor, steps[0] = box_cycles(box, cluster, spatial, least, parallels, smallest, params)
    if serial * params[LANES] > params[MOST_STEPS]:
        return np.inf
    floors[0] = max(floor, level[LINK])
    bound = bound_orders(
        floors, steps, 1, spatial, loops, sums, least, reads, delays, level, params, hertz, terms, orders[0],
        tables,
    )  # fmt: skip
    if single == 0 or not bound < best:
        return bound
    pairs = pair_up(tiles, cluster, spatial, parallels, fixed, smallest, params, floors, steps, done)
    closer = bound_orders(
        floors, steps, pairs, spatial, loops, sums, least, reads, delays, level, params, hertz, terms,
        orders[0], tables,
    )  # fmt: skip
    return max(bound, closer)


@kernel
def box_scratch():
    """Arrays that `bound_box` fills."""
    return (
        np.zeros((DIMS, 2), np.int64),
        np.zeros((DIMS, LOOP), np.int64),
        np.zeros((DIMS, SUMS), np.int64),
        np.zeros(SHARES, np.int64),
        np.zeros(SHARES, np.int64),
        np.zeros((2, DIMS, 2, SITES), np.int64),
        np.zeros((DIMS, 2, SITES), np.int64),
        np.zeros(LEVEL, np.int64),
        np.zeros(MOST_PAIRS, np.int64),
        np.zeros(MOST_PAIRS, np.int64),
        np.zeros(DIMS, np.int64),
    )


@subroutine
def widest(row, params):
    """The dim to split a box at; -1 if it is a point. The parallel one comes first, as its costs jump."""
    spatial = row[SPATIAL]
    if row[2 * spatial] < row[2 * spatial + 1]:
        return spatial
    found, most = -1, 0.0
    for dim in range(DIMS):
        low, high = row[2 * dim], row[2 * dim + 1]
        if low < high:
            size = params[SIZES + dim]
            wide = max(pieces(size, low) / pieces(size, high), 1.0 + 0.1 * (high / low - 1.0))
            if wide > most:
                found, most = dim, wide
    return found


@subroutine
def middle(row, dim, params):
    """The last tile of the lower half of a box's interval; where the steps change, if they do."""
    low, high, size = row[2 * dim], row[2 * dim + 1], params[SIZES + dim]
    half = min(max(int(np.sqrt(float(low) * high)), low), high - 1)
    if dim == row[SPATIAL]:
        return half
    if pieces(size, low) == pieces(size, high):
        # The smallest tile with so many steps is mostly the best.
        return low
    steps = pieces(size, half)
    if steps > 1:
        last = (size - 1) // (steps - 1)
        if last < high:
            return last
    return pieces(size, steps) - 1


@kernel
def begin(params, hertz, terms, parallels, fixed, smallest, roots, orders, tables, bounds, rows):
    """Makes the heap of the `roots` (n, COLUMNS); returns how many can have feasible mappings."""
    scratch, count, done = box_scratch(), 0, np.zeros(DONE, np.int64)
    about = params, hertz, terms, parallels, fixed, smallest, orders, tables
    for root in range(len(roots)):
        bound = bound_box(roots[root], np.inf, about, scratch, done)
        if bound < np.inf:
            push(bounds, rows, count, bound, roots[root])
            count += 1
    return count


@kernel
def go_on(
    count, came, budget, params, hertz, terms, parallels, fixed, smallest, orders, tables, rules, layer,
    bounds, rows, work, priced, best, row_of_best, done,
):  # fmt: skip
    """Goes on until no box is below `best[0]`, or so much is done; returns how many are left.

    It stops too where the heap has no room for another two. Some that are left may not be below the best.
    """
    scratch, about = box_scratch(), (params, hertz, terms, parallels, fixed, smallest, orders, tables)
    row, result = np.zeros(COLUMNS, np.int64), np.zeros(7, np.int64)
    spare = np.zeros((3, MAX_ORDERS), np.int64)
    while count > 0 and bounds[0] < best[0]:
        if done[PRICED] >= budget or 4 * done[BOUNDED] >= budget or count + 2 > len(bounds):
            break
        if done[GONE_THROUGH] >= QUICK * budget:
            break
        bound = bounds[0]
        pop(bounds, rows, count, row)
        count -= 1
        dim = widest(row, params)
        if dim < 0:
            # What the point's steps are is known from its bound.
            bound_box(row, best[0], about, scratch, done)
            _, loops, sums, _, least, reads, delays, level, _, _, tiles = scratch
            left = solve_point(
                tiles, row[CLUSTER], row[SPATIAL], row[BEGUN], budget, loops, sums, least, reads, delays,
                level, params, hertz, terms, rules, layer, parallels, fixed, smallest, orders, tables, priced,
                work, result, spare, best, row_of_best, done,
            )  # fmt: skip
            done[BOUNDED] += 1
            if left >= 0:
                row[BEGUN] = left
                push(bounds, rows, count, bound, row)
                count += 1
            continue
        low, high, half = row[2 * dim], row[2 * dim + 1], middle(row, dim, params)
        for side in range(2):
            row[2 * dim] = low if side == 1 else half + 1
            row[2 * dim + 1] = half if side == 1 else high
            of_side = max(bound, bound_box(row, best[0], about, scratch, done))
            done[BOUNDED] += 1
            if of_side < best[0]:
                came += 1
                row[CAME] = came
                push(bounds, rows, count, of_side, row)
                count += 1
    done[CAME_BY] = came
    return count
