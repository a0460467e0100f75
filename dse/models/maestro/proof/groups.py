"""Outer configurations by group, and the least loss that each group could have.

A group is a choice of outer tiles and cluster size. Its inner problem is one: the fewest cycles in which a
cluster does the outer tile's work with the L1 that there is. The loss of every outer configuration of the
group (parallel dim, loop order) rises with those cycles and with nothing else that the inner level decides,
so a bound on them bounds the group, and their minimum gives the group's exact best.
"""

from __future__ import annotations

import numpy as np

from dse.models.maestro.proof.level import (
    BANDWIDTH,
    DEPTHWISE,
    DIMS,
    FILTER,
    FIRST_INPUTS,
    FIRST_WEIGHTS,
    INPUTS,
    L2,
    LANES,
    LAST_OUT,
    LAST_ROUNDS,
    LATENCY,
    MOST_STEPS,
    MOVES,
    OF_BUFFERS,
    OUT,
    PARAMS,
    PES,
    ROUNDS,
    SHIFT,
    SIZES,
    SMALLEST_L1,
    STEPS,
    TIES_BY_CYCLES,
    WEIGHTS,
    ceil_div,
    halo_of,
    in_input,
    in_weights,
    largest_case,
    level_scratch,
    set_level,
    sum_order,
)
from dse.support.compiling import as_kernel, inlined, kernel, subroutine_with_arrays
from dse.support.numerics.losses import loss_value

# Where the best configuration of a group stands: its parallel dim and its order.
BEST_PARALLEL, BEST_ORDER, BEST = range(3)

# MAESTRO counts the steps of a case in 32 bits: from here on it refuses a mapping or drops work.
COUNTER = 2**31

value_of = inlined(loss_value)


@inlined
def energy_nj(params, read_i, read_w, written):
    """The model's energy, by its own operations in their order (step 6.1 of `reference`)."""
    energy = (
        read_i * 18.61 + params[INPUTS] * 18.61 + read_w * 18.61 + params[WEIGHTS] * 18.61 + written * 18.61
    )
    return 0.00023 * energy


@inlined
def area_of(params, l1, l2):
    """The model's area, by its own operations in their order (step 6.2 of `reference`)."""
    pes, lanes, bandwidth = float(params[PES]), float(params[LANES]), float(params[BANDWIDTH])
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc = 101.7938 * bus * bandwidth + max(395.473 * gates, 395.473)
    return pes * (283 * lanes + 0.104 * l1) + 0.104 * l2 + noc


@inlined
def power_of(params, l1, l2):
    """The model's power, by its own operations in their order (step 6.3 of `reference`)."""
    pes, lanes, bandwidth = float(params[PES]), float(params[LANES]), float(params[BANDWIDTH])
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc = 0.8 * bus / 1000 * bandwidth + max(0.34 * gates / 1000, 0.34)
    return pes * (1.2223 * lanes + 0.00345 * l1) + 0.00345 * l2 + noc


@inlined
def loss_of(params, hertz, terms, cycles, energy, l2):
    """The loss: `terms` are the objective's, for the columns of an Instance."""
    if params[OF_BUFFERS] == 0:
        return value_of(terms, (cycles / hertz, energy))
    l1 = params[SMALLEST_L1]
    return value_of(terms, (power_of(params, l1, l2), area_of(params, l1, l2)))


def least_loss(params, hertz, terms, cycles):
    """A loss that no mapping of at least so many cycles is below: nothing read, no L2 needed."""
    energy = as_kernel(energy_nj)(params, 0, 0, 0)
    return as_kernel(loss_of)(params, hertz, terms, cycles, energy, 0)


@inlined
def spread_loop(size, tile, pes):
    """Steps of the busiest of `pes` PEs over a loop of `size` in the best of tiles; `tile` 0: any."""
    return (size + pes - 1) // pes if tile == 0 else (size // tile + pes - 1) // pes * tile


@subroutine_with_arrays
def inner_bound(tiles, cluster, params, parallels, fixed_inner):
    """Cycles below which no cluster can do the work of outer `tiles`.

    Its longest-running PE makes all steps of its share one after another, and the first step waits for its
    data: for each parallel dim, of the smallest inner tiles.
    """
    depthwise = params[DEPTHWISE] == 1
    least = np.int64(2**62)
    for spatial in range(DIMS):
        if not parallels[spatial]:
            continue
        work = params[FILTER] * spread_loop(tiles[spatial], fixed_inner[spatial], cluster)
        inputs, weights = 1, params[FILTER]
        for dim in range(DIMS):
            halo = halo_of(dim, params)
            tile = max(fixed_inner[dim], 1)
            wide = tile + halo
            if dim == spatial:
                # Either all PEs of the cluster have a tile, or together they have the whole loop.
                wide = min(cluster * wide, tiles[dim] + halo)
                tile = min(cluster * tile, tiles[dim])
            else:
                work *= tiles[dim]
            if in_input(dim):
                inputs *= wide
            if in_weights(dim, depthwise):
                weights *= tile
        first = params[LATENCY] - 1 + ceil_div(inputs + weights, params[BANDWIDTH], params[SHIFT])
        least = min(least, (work + params[LANES] - 1) // params[LANES] + first)
    return least


@kernel
def steps_left(tiles, cluster, params, parallels, inner_parallels, fixed_inner, left):
    """Sets `left` (4) to the steps that limits leave to the busiest PE in an outer step, by the outer
    parallel dim: 0 where it cannot have so few.
    """
    least = np.int64(2**62)
    for spatial in range(DIMS):
        if inner_parallels[spatial]:
            work = params[FILTER] * spread_loop(tiles[spatial], fixed_inner[spatial], cluster)
            for dim in range(DIMS):
                work *= 1 if dim == spatial else tiles[dim]
            least = min(least, work)
    for spatial in range(DIMS):
        steps = 1
        for dim in range(DIMS):
            pieces = params[SIZES + dim] // tiles[dim]
            across = params[PES] // cluster if dim == spatial else 1
            steps *= (pieces + across - 1) // across
        most = params[MOST_STEPS] // steps
        left[spatial] = most if parallels[spatial] and least <= most else 0


@kernel
def group_loss(
    tiles, cluster, inner, params, hertz, terms, parallels, choices, orders, after,
    trips, reads, delays, summary, best,
):  # fmt: skip
    """The least loss of the outer configurations of a group whose inner level takes `inner` cycles.

    Returns it (inf if none fits in L2) and its tie break: its energy, or its cycles where energy is the loss.
    `choices` (16, 4, 25) holds, by moving loops and parallel dim, how many
    orders differ, and which. `best` gets where it stands.
    """
    clusters = params[PES] // cluster
    sizes = params[SIZES:PARAMS]
    least, least_tie = np.inf, np.inf
    for spatial in range(DIMS):
        if not parallels[spatial]:
            continue
        limit = set_level(sizes, tiles, spatial, clusters, params, True, trips, reads, delays, summary)
        first_in = summary[FIRST_INPUTS] + summary[FIRST_WEIGHTS]
        l2 = 2 * (first_in + summary[OUT])
        if l2 > params[L2] or largest_case(trips, spatial, summary) >= COUNTER:
            continue
        into = params[LATENCY] - 1 + ceil_div(first_in, params[BANDWIDTH], params[SHIFT])
        first = max(inner + into, limit)
        written = summary[STEPS] * (summary[OUT] * summary[ROUNDS] + summary[LAST_OUT] * summary[LAST_ROUNDS])
        distinct = choices[summary[MOVES], spatial]
        for index in range(distinct[0]):
            order = distinct[1 + index]
            cycles, read_i, read_w = sum_order(
                orders[order], after[order], spatial, trips, reads, delays, summary, inner, inner
            )
            cycles += first
            energy = energy_nj(
                params, read_i + summary[FIRST_INPUTS], read_w + summary[FIRST_WEIGHTS], written
            )
            loss = loss_of(params, hertz, terms, cycles, energy, l2)
            tie_break = float(cycles) if params[TIES_BY_CYCLES] == 1 else energy
            if loss < least or (loss == least and tie_break < least_tie):
                least, least_tie = loss, tie_break
                best[BEST_PARALLEL], best[BEST_ORDER] = spatial, order
    return least, least_tie


@kernel
def bound_groups(
    start, stop, params, hertz, terms, parallels, inner_parallels, fixed_inner, tiles_of, clusters,
    choices, orders, after, losses, tie_breaks,
):  # fmt: skip
    """Writes the bounds, losses and tie breaks, of the groups from `start` up to `stop`."""
    trips, reads, delays, summary = level_scratch()
    tiles, left = np.empty((2, DIMS), np.int64)
    best = np.empty(BEST, np.int64)
    for group in range(start, stop):
        cluster = read_group(group, tiles_of, clusters, tiles)
        inner = inner_bound(tiles, cluster, params, inner_parallels, fixed_inner)
        steps_left(tiles, cluster, params, parallels, inner_parallels, fixed_inner, left)
        losses[group - start], tie_breaks[group - start] = group_loss(
            tiles, cluster, inner, params, hertz, terms, left > 0, choices, orders, after,
            trips, reads, delays, summary, best,
        )  # fmt: skip


@inlined
def read_group(group, tiles_of, clusters, tiles):
    """Sets the outer tiles of a group and returns its cluster size; `tiles_of` as in an Instance."""
    cluster = clusters[group % len(clusters)]
    rest = group // len(clusters)
    for place in range(DIMS):
        dim = DIMS - 1 - place
        tiles[dim] = tiles_of[dim, 1 + rest % tiles_of[dim, 0]]
        rest //= tiles_of[dim, 0]
    return cluster
