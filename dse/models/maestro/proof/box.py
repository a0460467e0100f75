"""The bound of boxes, and what is left of them: the compiled part of the proof.

A row (22) has the places of the lowest and highest outer tile of each dim among those it is chosen from, the
same of inner tiles, then CLUSTER, PARALLEL and INNER: the cluster size and the parallel dims of both levels,
the inner one -1 where it is not chosen, 4 or 5 where R or S is spread. ORDERS has a bit for each outer order
that is not ruled out. CLUSTERS are how many there are, and PES the PEs of the machine.
"""

from __future__ import annotations

import numpy as np

from dse.models.maestro.kernel import power_and_area
from dse.models.maestro.proof.inner import box_cycles, pair_up
from dse.models.maestro.proof.outer import least_of_order, set_steps, value_of
from dse.models.maestro.proof.records import DIMS, Y, l1_need
from dse.models.maestro.proof.spread import least_shares
from dse.models.maestro.proof.totals import set_loops
from dse.support.compiling import inlined, kernel, subroutine

CLUSTER, PARALLEL, INNER, ORDERS, CLUSTERS, PES = range(16, 22)
ROW = 22


@kernel
def bound_boxes(rows, given, scratch, to_beat, losses):
    """Sets a loss (n,) that no feasible mapping of each box is below; inf where there is none.

    Inner tiles that fit nowhere are left out of the rows (n, 22), and outer orders that are not below
    `to_beat`. Of a box that is not below it the bound may be any number that is not.
    """
    for index in range(len(rows)):
        losses[index] = bound_box(rows[index], given, scratch, to_beat)


@subroutine
def bound_box(row, given, scratch, to_beat):
    """See `bound_boxes`: of the fewest steps and smallest tiles (`outer`), or what all tiles of a loop bring
    together (`totals`), with no fewer cycles than the busiest PE takes (`inner`).
    """
    box, least, steps = scratch.boxes[0], scratch.shares[1], scratch.steps[0]
    layer, machine = given.layers[0], given.machines[0]
    if not set_box(row, box, given):
        return np.inf
    if not least_shares(row, box, layer, given.outer_tiles, scratch):
        return np.inf
    set_loops(box, least, layer, scratch.loops)
    set_steps(box, layer, machine, given.perfect, scratch)
    serial, floor, step = box_cycles(box, least, given)
    # A limit on steps is one on cycles of all lanes, as `serial` is.
    if steps.l2_need > machine.l2 or serial * machine.lanes > machine.most_steps:
        return np.inf
    pairs, count = scratch.pairs, 1
    pairs[0, 0], pairs[0, 1] = max(floor, steps.link), step
    bound = np.inf
    if machine.of_buffers == 1:
        bound = loss_of_buffers(machine, steps.l2_need, given.terms)
    else:
        bound = least_of_orders(row, 1, given, scratch, np.inf)
    if box.single == 0 or not bound < to_beat:
        return bound
    # Of one outer tile a dim the inner tiles of the parallel dim are gone through.
    count = pair_up(row, box, given, max(serial, steps.link), pairs)
    if count == 0:
        return np.inf
    if machine.of_buffers == 1:
        return bound
    return max(bound, least_of_orders(row, count, given, scratch, to_beat))


@subroutine
def set_box(row, box, given):
    """Sets the box of a row, and leaves out inner tiles that are too large; False if none is left.

    L1's need rises with each tile, so that what does not fit with the smallest others fits with none.
    """
    layer, l1, tiles = given.layers[0], given.machines[0].l1, given.inner_tiles
    box.cluster, box.parallel, box.inner, box.single = row[CLUSTER], row[PARALLEL], row[INNER], 1
    box.clusters, box.taps = row[CLUSTERS], layer.taps
    for dim in range(DIMS):
        box.low[dim] = given.outer_tiles[dim, row[2 * dim]]
        box.high[dim] = given.outer_tiles[dim, row[2 * dim + 1]]
        box.halos[dim], box.more[dim] = layer.halos[dim], 0
        if box.low[dim] < box.high[dim]:
            box.single = 0
    if given.fit and not set_fit(row, box, given):
        return False
    for dim in range(DIMS):
        low, high = row[8 + 2 * dim], row[9 + 2 * dim]
        # No mapping has such a tile, though it is between others.
        while low <= high and leaves_rest(box, dim, tiles[dim, low], given.perfect):
            low += 1
        if low > high or tiles[dim, low] > box.high[dim]:
            return False
        row[8 + 2 * dim], box.inner_low[dim] = low, tiles[dim, low]
    if l1_need(box.inner_low, box.halos, box.taps, layer.depthwise) > l1:
        return False
    for dim in range(DIMS):
        low, high = row[8 + 2 * dim], row[9 + 2 * dim]
        least, first = box.inner_low[dim], low
        # The largest that fits, by halving.
        while first < high:
            middle = (first + high + 1) // 2
            box.inner_low[dim] = tiles[dim, middle]
            need = l1_need(box.inner_low, box.halos, box.taps, layer.depthwise)
            if tiles[dim, middle] <= box.high[dim] and need <= l1:
                first = middle
            else:
                high = middle - 1
        while leaves_rest(box, dim, tiles[dim, high], given.perfect):
            high -= 1
        row[9 + 2 * dim], box.inner_low[dim] = high, least
    return True


@subroutine
def set_fit(row, box, given):
    """Leaves the inner tiles of the parallel dim that fit into an outer tile as often as there are PEs, or
    sets the piece of the filter that a PE has; False if none is left."""
    layer, dim, cluster = given.layers[0], box.inner, box.cluster
    if dim >= DIMS:
        window = layer.windows[dim - DIMS]
        piece = window // cluster
        # R moves along Y, S along X.
        image = Y + dim - DIMS
        box.taps = layer.taps // window * piece
        box.halos[image], box.more[image] = piece - 1, window - piece
        return True
    low, high, tiles = row[8 + 2 * dim], row[9 + 2 * dim], given.inner_tiles
    while low <= high and tiles[dim, low] * cluster < box.low[dim]:
        low += 1
    while low <= high and tiles[dim, high] * cluster > box.high[dim]:
        high -= 1
    row[8 + 2 * dim], row[9 + 2 * dim] = low, high
    return low <= high


@inlined
def leaves_rest(box, dim, tile, perfect):
    """Whether no outer tile of a box is cut into such tiles."""
    return perfect and box.single == 1 and box.low[dim] % tile > 0


@subroutine
def least_of_orders(row, pairs, given, scratch, to_beat):
    """A loss that no mapping of a box is below: the least of its outer orders and of the `pairs` of floors
    and steps, each of which may be a mapping's.

    Of one outer tile a dim, orders that are not below `to_beat` are left out of the row.
    """
    box, steps, found = scratch.boxes[0], scratch.steps[0], np.inf
    # One order stands for those that nest alike the loops that move, in any mapping of the box.
    distinct = given.distinct[steps.moves if box.single == 1 else steps.may_move, box.parallel]
    left = 0
    for index in range(distinct[0]):
        order = distinct[1 + index]
        if not row[ORDERS] >> order & 1:
            continue
        least = np.inf
        for pair in range(pairs):
            floor, step = scratch.pairs[pair, 0], scratch.pairs[pair, 1]
            least = min(least, least_of_order(order, floor, step, given, scratch))
        if least < to_beat:
            left |= 1 << order
        found = min(found, least)
    if box.single == 1:
        row[ORDERS] = left
    return found


@inlined
def loss_of_buffers(machine, l2, terms):
    """The loss of the least L1 and this need of L2, for area and power."""
    pes, lanes, bandwidth = float(machine.pes), float(machine.lanes), float(machine.bandwidth)
    return value_of(terms, power_and_area(pes, lanes, bandwidth, machine.smallest_l1, l2))
