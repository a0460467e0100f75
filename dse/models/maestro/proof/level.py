"""One level of a perfect-factor mapping under MAESTRO, made ready to be summed in any loop order.

With perfect factors every tile is whole: a temporal loop has one kind of step, the spatial loop at most two
(all sub-clusters at work, or in the last round those that are left). So what enters and leaves the array in
a step depends on a few things only: which loop is the innermost that changes, whether a loop inside it
restarts, whether the spatial loop stands inside it, and the state of the spatial loop. `set_level` tabulates
the steps by these; an order then is a sum of a dozen products. It equals
`dse.models.maestro.grouped`, quirks included (section numbers are those of the model's
reference), and a test compares them.

Dims are 0 to 3 for K, C, Y, X; sizes, tiles and halos are in output units.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import inlined, kernel, subroutine_with_arrays

DIMS = 4
K, C, Y, X = range(DIMS)

# The layer and the machine, as the kernels read them: L1 and L2 are what limits leave of the buffers, and
# MOST_STEPS are those that they leave to the busiest PE.
(
    DEPTHWISE, FILTER, HALO_Y, HALO_X, PES, BANDWIDTH, SHIFT, OFFCHIP, LATENCY, LANES, L1, L2, INPUTS,
    WEIGHTS, SMALLEST_L1, OF_BUFFERS, TIES_BY_CYCLES, MOST_STEPS, SIZES,
) = range(19)  # fmt: skip
PARAMS = SIZES + DIMS

# Where the spatial loop stands when a step begins: inside the changing loop (at its start), or outside it
# in a full round or in the last one. For the spatial loop itself the latter two.
INSIDE, FULL, LAST = range(3)
SITES = 3

# What a level says beside its steps.
(
    ROUNDS, LAST_ROUNDS, MOVES, MOVES_IN, FIRST_INPUTS, FIRST_WEIGHTS, WORK, LAST_WORK, OUT, LAST_OUT, STEPS,
    SUMMARY,
) = range(12)  # fmt: skip


@inlined
def ceil_div(value, divisor, shift):
    """The quotient rounded up; `shift` is the divisor's binary logarithm, or -1."""
    if shift >= 0:
        return (value + divisor - 1) >> shift
    return (value + divisor - 1) // divisor


@inlined
def in_input(dim):
    """Whether the input depends on the dim."""
    return dim != K


@inlined
def in_weights(dim, depthwise):
    """Whether the weights depend on the dim."""
    return dim == C or (dim == K and not depthwise)


@inlined
def in_output(dim, depthwise):
    """Whether the output depends on the dim."""
    return dim >= Y or (dim == C) == depthwise


@inlined
def halo_of(dim, params):
    """Input rows or columns that a tile needs beyond its outputs."""
    return params[HALO_Y + dim - Y] if dim >= Y else 0


@inlined
def spatial_shares(dim, tile, halo, units, fanout, depthwise):
    """The spatial loop's factors, by state (start, last round).

    Of a fetch in full, of one that reuses what is there, of the output and of the longest PE's work.
    """
    wide = tile + halo
    at_work = min(units, fanout)
    full, new, out = at_work * wide, wide + (at_work - 1) * tile, at_work * tile
    if 1 < units < fanout:
        # A short first round counts its last unit as partial, with nothing new in it (steps 3.1, 4.2 and 4.3
        # of `reference`).
        new -= tile
        if dim < Y:
            out -= tile
    left = units % fanout if units > fanout else 0
    last_full, last_new, last_out, last_work = left * wide, wide + (left - 1) * tile, left * tile, tile
    if left == 1 and in_output(dim, depthwise):
        # A lone unit in an edge round counts its halo as outputs (step 4.3 of `reference`).
        last_out = last_work = wide
    return full, new, out, last_full, last_new, last_out, last_work


@inlined
def held_tiles(sizes, tiles, spatial, fanout, params, trips):
    """What stays the same over a level's steps, less the spatial loop's share; sets `trips`.

    Elements of inputs, weights and outputs, work, steps of all loops, and the sets of the loops that move,
    all of them and those that the input depends on.
    """
    depthwise = params[DEPTHWISE] == 1
    inputs, weights, outputs, work, steps = 1, params[FILTER], 1, params[FILTER], 1
    moves = moves_in = 0
    for dim in range(DIMS):
        tile = tiles[dim]
        trips[dim] = sizes[dim] // tile
        if trips[dim] > (fanout if dim == spatial else 1):
            moves |= 1 << dim
            if in_input(dim):
                moves_in |= 1 << dim
        if dim == spatial:
            continue
        steps *= trips[dim]
        work *= tile
        if in_input(dim):
            inputs *= tile + halo_of(dim, params)
        if in_weights(dim, depthwise):
            weights *= tile
        if in_output(dim, depthwise):
            outputs *= tile
    return inputs, weights, outputs, work, steps, moves, moves_in


@subroutine_with_arrays
def set_level(sizes, tiles, spatial, fanout, params, outer, trips, reads, delays, summary):
    """Tabulates the steps of one level: its loops over `sizes` in `tiles`, `spatial` over `fanout` units.

    Fills `trips` (4), `reads` (2, 4, 2, 3) and `delays` (4, 2, 3): elements of inputs and weights that a
    step brings, and the cycles that moving data takes, by changing loop, whether an input loop restarts
    inside it, and site. With `outer`, delays are at least the off-chip limit, which is returned. `summary`
    gets what all orders share.
    """
    depthwise = params[DEPTHWISE] == 1
    bandwidth, shift, idle = params[BANDWIDTH], params[SHIFT], params[LATENCY] - 1
    held_in, held_weights, held_out, work, steps, moves, moves_in = held_tiles(
        sizes, tiles, spatial, fanout, params, trips
    )
    tile, halo, units = tiles[spatial], halo_of(spatial, params), trips[spatial]
    full, new, out, last_full, last_new, last_out, last_work = spatial_shares(
        spatial, tile, halo, units, fanout, depthwise
    )
    shares_in = shares_weights = (1, 1, 1, 1)
    if in_input(spatial):
        shares_in = (full, new, last_full, last_new)
    if in_weights(spatial, depthwise):
        shares_weights = (full, new, last_full, last_new)
    if not in_output(spatial, depthwise):
        out = last_out = 1
    summary[ROUNDS] = max(units // fanout, 1)
    summary[LAST_ROUNDS] = int(units > fanout and units % fanout > 0)
    summary[MOVES], summary[MOVES_IN], summary[STEPS] = moves, moves_in, steps
    summary[FIRST_INPUTS], summary[FIRST_WEIGHTS] = held_in * shares_in[0], held_weights * shares_weights[0]
    summary[WORK], summary[LAST_WORK] = work * tile, work * last_work
    summary[OUT], summary[LAST_OUT] = held_out * out, held_out * last_out
    limit = -1
    if outer:
        offchip = params[OFFCHIP]
        first_in = summary[FIRST_INPUTS] + summary[FIRST_WEIGHTS]
        limit = max(2 * first_in // offchip, 2 * summary[OUT] // offchip) // 2
    out_delay = max(idle + ceil_div(summary[OUT], bandwidth, shift), limit)
    last_out_delay = max(idle + ceil_div(summary[LAST_OUT], bandwidth, shift), limit)
    for dim in range(DIMS):
        if not moves >> dim & 1:
            continue
        weights = held_weights if in_weights(dim, depthwise) else 0
        for again in range(2):
            inputs = held_in if in_input(dim) else 0
            own_halo = halo_of(dim, params)
            if dim != spatial and again == 0 and own_halo > 0:
                inputs = inputs // (tiles[dim] + own_halo) * tiles[dim]
            for site in range(SITES):
                # Data is reused along the spatial loop where it stands inside, and where it moves alone.
                reused = int(site == INSIDE or (dim == spatial and again == 0))
                share = reused + (2 if site == LAST else 0)
                read_in, read_weights = inputs * shares_in[share], weights * shares_weights[share]
                reads[0, dim, again, site], reads[1, dim, again, site] = read_in, read_weights
                into = idle + ceil_div(read_in + read_weights, bandwidth, shift)
                delays[dim, again, site] = max(into, last_out_delay if site == LAST else out_delay)
    return limit


@inlined
def sum_order(order, after, spatial, trips, reads, delays, summary, step, last_step):
    """The sums of one loop order: cycles without the first step, elements read of inputs and weights.

    `order` (4) holds dims outermost first, `after` (4) the set of dims inside each. A step takes at least
    `step` cycles, in a last round `last_step`.
    """
    rounds, last_rounds = summary[ROUNDS], summary[LAST_ROUNDS]
    moves, moves_in = summary[MOVES], summary[MOVES_IN]
    cycles = read_i = read_w = 0
    outside = 1
    site, times, last_times = INSIDE, 1, 0
    for place in range(DIMS):
        dim = order[place]
        again = 1 if after[place] & moves_in else 0
        if dim == spatial:
            site, times, last_times = FULL, rounds, last_rounds
            if not moves >> dim & 1:
                continue
            count, last_count = outside * (rounds - 1), outside * last_rounds
        else:
            if trips[dim] == 1:
                continue
            count = outside * (trips[dim] - 1)
            count, last_count = count * times, count * last_times
            outside *= trips[dim]
        cycles += count * max(step, delays[dim, again, site])
        read_i += count * reads[0, dim, again, site]
        read_w += count * reads[1, dim, again, site]
        if last_count > 0:
            cycles += last_count * max(last_step, delays[dim, again, LAST])
            read_i += last_count * reads[0, dim, again, LAST]
            read_w += last_count * reads[1, dim, again, LAST]
    return cycles, read_i, read_w


@inlined
def largest_case(trips, spatial, summary):
    """The most steps that MAESTRO counts at once, as one case of a level (step 3.2 of `reference`)."""
    count = max(summary[ROUNDS] - 1, 1)
    for dim in range(DIMS):
        if dim != spatial:
            count *= max(trips[dim] - 1, 1)
    return count


@kernel
def level_scratch():
    """Arrays for the trips, reads, delays and summary of one level."""
    return (
        np.zeros(DIMS, np.int64),
        np.zeros((2, DIMS, 2, SITES), np.int64),
        np.zeros((DIMS, 2, SITES), np.int64),
        np.zeros(SUMMARY, np.int64),
    )
