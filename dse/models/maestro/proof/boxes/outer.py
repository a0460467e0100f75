"""The outer level of a box: what its steps read and wait for at least, and what that adds up to in an order.

A box is a cluster size, an outer parallel dim, and of each dim an interval of outer tiles. Reads, delays and
the need of L2 rise with the tiles for so many steps and with the steps for such tiles, so the fewest steps
(those of the largest tile) with the smallest tile bound them. With one tile a dim the sums are exact.
"""

from __future__ import annotations

from dse.models.maestro.proof.boxes.spread import (
    FULL_FULL,
    FULL_NEW,
    ITERATIONS,
    LAST_FULL,
    LAST_IS_WHOLE,
    LAST_NEW,
    LAST_ROUNDS,
    ROUNDS,
    START_FULL,
    START_NEW,
    START_OUT,
    WRITTEN,
    pieces,
)
from dse.models.maestro.proof.boxes.totals import link_cycles
from dse.models.maestro.proof.level import (
    BANDWIDTH,
    DEPTHWISE,
    DIMS,
    FILTER,
    FULL,
    INSIDE,
    LAST,
    LATENCY,
    OFFCHIP,
    SHIFT,
    SITES,
    SIZES,
    ceil_div,
    halo_of,
    in_input,
    in_output,
    in_weights,
)
from dse.support.compiling import subroutine

LOW, HIGH = range(2)
# Of a dim: the fewest steps, its smallest tile, of one tile the whole ones, its largest tile.
STEPS, TILE, WHOLE, LARGEST = range(4)
LOOP = 4
# Of a box: the sets of loops that move, all and those of the input; what the first step brings of inputs and
# weights and writes; its delay, and the off-chip limit of all steps; what is written, and that of all steps
# but the first in cycles of the NoC; the need of L2; the loops that move with some of the tiles; the steps,
# and cycles of all of them on the off-chip link; whether each dim has one tile.
(
    MOVES, MOVES_IN, FIRST_I, FIRST_W, FIRST_OUT, INTO, LIMIT, OUT_ALL, OUT_CYCLES, L2_NEED, MAY_MOVE,
    ALL_STEPS, LINK, SINGLE,
) = range(14)  # fmt: skip
LEVEL = 14


@subroutine
def set_loops(box, spatial, params, loops):
    """Sets `loops` (4, 4) of a box (4, 2)."""
    for dim in range(DIMS):
        size, low, high = params[SIZES + dim], box[dim, LOW], box[dim, HIGH]
        loops[dim, STEPS] = 1 if dim == spatial else pieces(size, high)
        loops[dim, TILE] = low
        loops[dim, WHOLE] = size // high if low == high else 0
        loops[dim, LARGEST] = high


@subroutine
def set_box(loops, sums, least, spatial, params, reads, delays, level):
    """Tabulates the steps of a box from its `loops` and `sums` and the `least` shares of its parallel loop.

    `reads` (2, 4, 2, 3) and `delays` (4, 2, 3) are as in `maestro.proof.level.set_level`, without the delay
    of outputs, which at an edge may be short: all of them together are in OUT_CYCLES.
    """
    depthwise = params[DEPTHWISE] == 1
    bandwidth, shift, idle = params[BANDWIDTH], params[SHIFT], params[LATENCY] - 1
    held_i, held_w, held_out, written = 1, params[FILTER], 1, 1
    moves = moves_in = may_move = 0
    steps = least[ITERATIONS]
    # No more than the loop has: that is what the clusters write of it together.
    first_out = params[SIZES + spatial] if in_output(spatial, depthwise) else 1
    for dim in range(DIMS):
        tile, count = loops[dim, TILE], loops[dim, STEPS]
        may_move |= int(tile < params[SIZES + dim]) << dim
        if (count if dim != spatial else steps) > 1:
            moves |= 1 << dim
            if in_input(dim):
                moves_in |= 1 << dim
        if dim == spatial:
            continue
        if in_input(dim):
            held_i *= tile + halo_of(dim, params)
        if in_weights(dim, depthwise):
            held_w *= tile
        if in_output(dim, depthwise):
            held_out *= tile
            first_out *= loops[dim, LARGEST]
            written *= params[SIZES + dim]
        else:
            written *= count
    all_steps = steps
    for dim in range(DIMS):
        if dim != spatial:
            all_steps *= loops[dim, STEPS]
    of_i, of_w = in_input(spatial), in_weights(spatial, depthwise)
    level[MOVES], level[MOVES_IN], level[MAY_MOVE], level[ALL_STEPS] = moves, moves_in, may_move, all_steps
    level[FIRST_I] = held_i * (least[START_FULL] if of_i else 1)
    level[FIRST_W] = held_w * (least[START_FULL] if of_w else 1)
    level[FIRST_OUT] = held_out * least[START_OUT]
    first = level[FIRST_I] + level[FIRST_W]
    level[L2_NEED] = 2 * (first + level[FIRST_OUT])
    level[INTO] = idle + ceil_div(first, bandwidth, shift)
    limit = max(2 * first // params[OFFCHIP], 2 * level[FIRST_OUT] // params[OFFCHIP]) // 2
    level[LIMIT], level[LINK] = limit, link_cycles(sums, first, level[FIRST_OUT], depthwise, params)
    level[OUT_ALL] = written * least[WRITTEN]
    level[OUT_CYCLES] = 0
    # The first step's outputs are free, those of the largest tiles. Without a latency a step's outputs may
    # take no time, and more steps take less.
    if idle >= 0 and level[OUT_ALL] > first_out:
        later = ceil_div(level[OUT_ALL] - first_out, bandwidth, shift)
        level[OUT_CYCLES] = later + idle * (all_steps - 1)
    for dim in range(DIMS):
        if not moves >> dim & 1:
            continue
        weights = held_w if in_weights(dim, depthwise) else 0
        for again in range(2):
            inputs = held_i if in_input(dim) else 0
            halo = halo_of(dim, params)
            if dim != spatial and again == 0 and halo > 0:
                inputs = inputs // (loops[dim, TILE] + halo) * loops[dim, TILE]
            for site in range(SITES):
                reused = site == INSIDE or (dim == spatial and again == 0)
                if site == INSIDE:
                    share = least[START_NEW]
                elif site == FULL:
                    share = least[FULL_NEW] if reused else least[FULL_FULL]
                else:
                    share = least[LAST_NEW] if reused else least[LAST_FULL]
                read_i = inputs * (share if of_i else 1)
                read_w = weights * (share if of_w else 1)
                reads[0, dim, again, site], reads[1, dim, again, site] = read_i, read_w
                into = idle + ceil_div(read_i + read_w, bandwidth, shift)
                delays[dim, again, site] = max(into, limit)


@subroutine
def add_steps(order, after, spatial, loops, least, reads, delays, level, step):
    """Cycles of all steps but the first, and elements read of inputs and weights by all.

    Those steps in which no temporal loop is at an edge, and the parallel one has whole tiles, take at least
    `step` cycles. `order` (4) has the dims outermost first, `after` (4) the set of dims inside each.
    """
    rounds, last_rounds = least[ROUNDS], least[LAST_ROUNDS]
    moves, moves_in = level[MOVES], level[MOVES_IN]
    cycles, read_i, read_w = 0, level[FIRST_I], level[FIRST_W]
    outside, whole_outside = 1, 1
    site, times, last_times = INSIDE, 1, 0
    last_step = step if least[LAST_IS_WHOLE] == 1 else 0
    for place in range(DIMS):
        dim = order[place]
        again = 1 if after[place] & moves_in else 0
        if dim == spatial:
            site, times, last_times = FULL, rounds, last_rounds
            if not moves >> dim & 1:
                continue
            count, last_count = outside * (rounds - 1), outside * last_rounds
            whole, last_whole = whole_outside * (rounds - 1), whole_outside * last_rounds
        else:
            if loops[dim, STEPS] == 1:
                continue
            changes = loops[dim, STEPS] - 1
            count, last_count = outside * changes * times, outside * changes * last_times
            changes = max(loops[dim, WHOLE] - 1, 0)
            whole, last_whole = whole_outside * changes * times, whole_outside * changes * last_times
            outside *= loops[dim, STEPS]
            whole_outside *= loops[dim, WHOLE]
        delay = delays[dim, again, site]
        cycles += count * delay + whole * max(step - delay, 0)
        read_i += count * reads[0, dim, again, site]
        read_w += count * reads[1, dim, again, site]
        if last_count > 0:
            delay = delays[dim, again, LAST]
            cycles += last_count * delay + last_whole * max(last_step - delay, 0)
            read_i += last_count * reads[0, dim, again, LAST]
            read_w += last_count * reads[1, dim, again, LAST]
    return cycles, read_i, read_w
