"""The inner problem of a group, solved exactly: the fewest cycles of a cluster over one outer tile."""

from __future__ import annotations

import numpy as np

from dse.models.maestro.proof.level import (
    BANDWIDTH,
    DEPTHWISE,
    DIMS,
    FILTER,
    FIRST_INPUTS,
    FIRST_WEIGHTS,
    L1,
    LANES,
    LAST_OUT,
    LAST_ROUNDS,
    LAST_WORK,
    LATENCY,
    MOST_STEPS,
    MOVES,
    OUT,
    ROUNDS,
    SHIFT,
    STEPS,
    WORK,
    C,
    K,
    X,
    Y,
    ceil_div,
    halo_of,
    in_input,
    in_output,
    in_weights,
    level_scratch,
    set_level,
    sum_order,
)
from dse.support.compiling import inlined, kernel, subroutine_with_arrays

# The inner level that takes the fewest cycles: its cycles, parallel dim, order, tiles.
CYCLES, PARALLEL, ORDER, TILES = range(4)
INNER = TILES + DIMS
NO_CYCLES = 2**62
"""Where no inner level fits."""


@inlined
def l1_need(tiles, params):
    """Elements of L1 that inner `tiles` need; output tiles count with their halo (step 5.2 of
    `reference`)."""
    depthwise = params[DEPTHWISE] == 1
    inputs, weights, outputs = 1, params[FILTER], 1
    for dim in range(DIMS):
        wide = tiles[dim] + halo_of(dim, params)
        if in_input(dim):
            inputs *= wide
        if in_weights(dim, depthwise):
            weights *= tiles[dim]
        if in_output(dim, depthwise):
            outputs *= wide
    return 2 * (inputs + weights + outputs)


@kernel
def solve_inner(sizes, cluster, params, parallels, divisors, fixed, choices, orders, after, result):
    """Writes the inner level with the fewest cycles of all that fit in L1 into `result`; how many were tried.

    The longest-running PE takes at most MOST_STEPS. `sizes` are the outer tiles. `divisors` (4, n): how many
    each dim has, then which. Of equals, the first in the order of tiles, parallel dims and orders counts,
    among those whose longest PE has the least work first.
    """
    trips, reads, delays, summary = level_scratch()
    tiles = np.zeros(DIMS, np.int64)
    cuts = np.zeros(divisors.shape, np.int64)
    for dim in range(DIMS):
        set_cuts(cuts[dim], sizes[dim], fixed[dim], divisors[dim])
    least = np.int64(2**62)
    serial = np.zeros(DIMS, np.int64)
    for spatial in range(DIMS):
        if parallels[spatial]:
            # With smaller tiles the PEs share no worse.
            steps = serial_steps(sizes, cuts[spatial, 1], spatial, cluster, params)
            least = min(least, (steps + params[LANES] - 1) // params[LANES])
    result[CYCLES] = NO_CYCLES
    tried = 0
    for later in range(2):
        for k in range(cuts[K, 0]):
            tiles[K] = cuts[K, 1 + k]
            for c in range(cuts[C, 0]):
                tiles[C] = cuts[C, 1 + c]
                for y in range(cuts[Y, 0]):
                    tiles[Y] = cuts[Y, 1 + y]
                    for x in range(cuts[X, 0]):
                        tiles[X] = cuts[X, 1 + x]
                        if l1_need(tiles, params) > params[L1]:
                            break
                        for spatial in range(DIMS):
                            if not parallels[spatial]:
                                continue
                            steps = serial_steps(sizes, tiles[spatial], spatial, cluster, params)
                            if steps > params[MOST_STEPS]:
                                continue
                            serial[spatial] = (steps + params[LANES] - 1) // params[LANES]
                            if (serial[spatial] > least) != (later == 1):
                                continue
                            if serial[spatial] + params[LATENCY] >= result[CYCLES]:
                                continue
                            tried += 1
                            try_orders(
                                sizes, tiles, spatial, cluster, params, choices, orders, after,
                                trips, reads, delays, summary, result,
                            )  # fmt: skip
    return tried


@inlined
def serial_steps(sizes, tile, spatial, cluster, params):
    """Steps, each on a lane, that the longest-running PE takes."""
    work = params[FILTER]
    for dim in range(DIMS):
        if dim != spatial:
            work *= sizes[dim]
    return work * ((sizes[spatial] // tile + cluster - 1) // cluster * tile)


@inlined
def set_cuts(cuts, size, fixed, divisors):
    """Sets the inner tiles of a loop of `size`: how many, then which, ascending."""
    count = 0
    if fixed > 0:
        cuts[1] = fixed
        count = 1
    else:
        for index in range(divisors[0]):
            if size % divisors[1 + index] == 0:
                count += 1
                cuts[count] = divisors[1 + index]
    cuts[0] = count


@subroutine_with_arrays
def try_orders(
    sizes, tiles, spatial, cluster, params, choices, orders, after, trips, reads, delays, summary, result
):
    """Brings `result` up to date with all orders of one choice of tiles and parallel dim."""
    set_level(sizes, tiles, spatial, cluster, params, False, trips, reads, delays, summary)
    lanes = params[LANES]
    step = (summary[WORK] + lanes - 1) // lanes
    last_step = (summary[LAST_WORK] + lanes - 1) // lanes
    idle, bandwidth, shift = params[LATENCY] - 1, params[BANDWIDTH], params[SHIFT]
    first = step + idle + ceil_div(summary[FIRST_INPUTS] + summary[FIRST_WEIGHTS], bandwidth, shift)
    out = idle + ceil_div(summary[OUT], bandwidth, shift)
    last_out = idle + ceil_div(summary[LAST_OUT], bandwidth, shift)
    full_steps = summary[STEPS] * summary[ROUNDS] - 1
    last_steps = summary[STEPS] * summary[LAST_ROUNDS]
    if first + full_steps * max(step, out) + last_steps * max(last_step, last_out) >= result[CYCLES]:
        return
    distinct = choices[summary[MOVES], spatial]
    for index in range(distinct[0]):
        order = distinct[1 + index]
        cycles, _, _ = sum_order(
            orders[order], after[order], spatial, trips, reads, delays, summary, step, last_step
        )
        if first + cycles < result[CYCLES]:
            result[CYCLES] = first + cycles
            result[PARALLEL] = spatial
            result[ORDER] = order
            for dim in range(DIMS):
                result[TILES + dim] = tiles[dim]
