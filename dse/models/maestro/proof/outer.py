"""The outer level of a box: what its steps read and wait for at least, and what that adds up to in an order.

A box is a cluster size, an outer parallel dim, and of each dim an interval of outer tiles. Reads, delays and
the need of L2 rise with the tiles for so many steps and with the steps for such tiles, so the fewest steps
(those of the largest tile) with the smallest tile bound them. With one tile a dim the sums are exact. The
STEPS in `records` are: the sets of loops that move, all and those of the input, and of those that move with
some of the tiles; what the first step brings of inputs and weights and writes; its delay (`into`), and the
off-chip `limit` of all steps; what is written, and that of all steps but the first in cycles of the NoC; the
need of L2; how many steps there are (`count`), and cycles of all of them on the off-chip link.
"""

from __future__ import annotations

from dse.models.maestro.levels import NO, YES
from dse.models.maestro.proof.records import (
    DIMS,
    FULL,
    INSIDE,
    LAST,
    SITES,
    ceil_div,
    in_input,
    in_output,
    in_weights,
)
from dse.models.maestro.proof.totals import link_cycles, words_of_order
from dse.support.compiling import inlined, subroutine
from dse.support.numerics.losses import loss_value

value_of = inlined(loss_value)

INPUT_DIMS = 0b1110
"""The set of C, Y and X."""


@subroutine
def set_steps(box, layer, machine, perfect, scratch):
    """Tabulates the steps of a box from its loops and the least shares of its parallel one (steps 4 and 5 of
    `reference`).

    Of perfect factors a step waits for its outputs too. At an edge they may be short, so that of other tiles
    only all of them together are known: `out_cycles`.
    """
    loops, least, steps, spatial = scratch.loops, scratch.shares[1], scratch.steps[0], box.parallel
    idle = machine.latency - 1
    held_i, held_w, held_out, written, count = 1, layer.taps, 1, 1, least.iterations
    moves = may_move = 0
    # No more than the loop has: that is what the clusters write of it together.
    first_out = layer.sizes[spatial] if in_output(spatial, layer) else 1
    for dim in range(DIMS):
        loop = loops[dim]
        may_move |= int(loop.tile < layer.sizes[dim]) << dim
        moves |= int(loop.count > 1) << dim
        if dim == spatial:
            continue
        count *= loop.steps
        if in_input(dim):
            held_i *= loop.tile + layer.halos[dim]
        if in_weights(dim, layer):
            held_w *= loop.tile
        if in_output(dim, layer):
            held_out *= loop.tile
            first_out *= loop.largest
            written *= layer.sizes[dim]
        else:
            written *= loop.steps
    steps.moves, steps.moves_in, steps.may_move, steps.count = moves, moves & INPUT_DIMS, may_move, count
    steps.first_i = held_i * (least.start_full if in_input(spatial) else 1)
    steps.first_w = held_w * (least.start_full if in_weights(spatial, layer) else 1)
    steps.first_out = held_out * least.start_out
    first = steps.first_i + steps.first_w
    steps.l2_need = 2 * (first + steps.first_out)
    steps.into = idle + ceil_div(first, machine.bandwidth, machine.shift)
    steps.limit = max(2 * first // machine.offchip, 2 * steps.first_out // machine.offchip) // 2
    steps.link = link_cycles(loops, steps, layer, machine)
    steps.out_all = written * least.written
    steps.out_cycles = 0
    # The first step's outputs are free, those of the largest tiles. Without a latency a step's outputs may
    # take no time, and more steps take less.
    if idle >= 0 and steps.out_all > first_out:
        later = ceil_div(steps.out_all - first_out, machine.bandwidth, machine.shift)
        steps.out_cycles = later + idle * (count - 1)
    out = last_out = steps.limit
    if perfect:
        out = max(out, idle + ceil_div(steps.first_out, machine.bandwidth, machine.shift))
        of_last = held_out * least.last_out
        last_out = max(last_out, idle + ceil_div(of_last, machine.bandwidth, machine.shift))
    for dim in range(DIMS):
        if moves >> dim & 1:
            weights = held_w if in_weights(dim, layer) else 0
            set_changes(dim, held_i, weights, box, layer, scratch)
            for again in range(2):
                for site in range(SITES):
                    words = scratch.reads[0, dim, again, site] + scratch.reads[1, dim, again, site]
                    into = idle + ceil_div(words, machine.bandwidth, machine.shift)
                    scratch.delays[dim, again, site] = max(into, last_out if site == LAST else out)


@subroutine
def set_changes(dim, held_i, held_w, box, layer, scratch):
    """Sets what a step reads where the loop `dim` advances (step 4.2 of `reference`).

    `held_i` and `held_w` are elements of inputs and of weights, less the parallel loop's share. Whether a
    loop inside begins anew matters to what has a halo alone: to inputs, so that theirs decide.
    """
    least, tile, halo, spatial = scratch.shares[1], scratch.loops[dim].tile, layer.halos[dim], box.parallel
    for again in range(2):
        # A tensor that does not depend on the loop stays in place, whatever begins anew inside.
        inputs = held_i if in_input(dim) else 0
        # What the tile shares with the one before it is there.
        if dim != spatial and again == 0 and halo > 0:
            inputs = inputs // (tile + halo) * tile
        for site in range(SITES):
            # Data is reused along the spatial loop where it stands inside, and where it moves alone.
            reused = site == INSIDE or (dim == spatial and again == 0)
            if site == INSIDE:
                share = least.start_new
            elif site == FULL:
                share = least.full_new if reused else least.full_full
            else:
                share = least.last_new if reused else least.last_full
            scratch.reads[0, dim, again, site] = inputs * (share if in_input(spatial) else 1)
            scratch.reads[1, dim, again, site] = held_w * (share if in_weights(spatial, layer) else 1)


@subroutine
def add_steps(order, step, box, given, scratch):
    """Cycles of all steps but the first, and elements read of inputs and weights by all (step 5.3 of
    `reference`).

    Those steps in which no temporal loop is at an edge, and the parallel one has whole tiles, take at least
    `step` cycles. From the outermost loop in: a step is of the innermost loop that has advanced, those inside
    of it begin anew, and those outside stand at any of their `outside` places, in any of the parallel one's
    `times` rounds or in its last one.
    """
    least, steps, reads, delays = scratch.shares[1], scratch.steps[0], scratch.reads, scratch.delays
    rounds, last_rounds, spatial = least.rounds, least.last_rounds, box.parallel
    cycles, read_i, read_w = 0, steps.first_i, steps.first_w
    outside, whole_outside = 1, 1
    site, times, last_times = INSIDE, 1, 0
    last_step = step if least.last_is_whole == 1 else 0
    for place in range(DIMS):
        dim = given.nests[order, place]
        again = 1 if given.inside[order, place] & steps.moves_in else 0
        loop = scratch.loops[dim]
        if dim == spatial:
            site, times, last_times = FULL, rounds, last_rounds
            # One iteration never advances, but changes what the steps of loops inside of it read.
            if not steps.moves >> dim & 1:
                continue
            count, last_count = outside * (rounds - 1), outside * last_rounds
            whole, last_whole = whole_outside * (rounds - 1), whole_outside * last_rounds
        else:
            if loop.steps == 1:
                continue
            changes = loop.steps - 1
            count, last_count = outside * changes * times, outside * changes * last_times
            changes = max(loop.whole - 1, 0)
            whole, last_whole = whole_outside * changes * times, whole_outside * changes * last_times
            outside *= loop.steps
            whole_outside *= loop.whole
        # Data arrive while the step before is computed: the longer of both counts.
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


@inlined
def energy_nj(layer, read_i, read_w, written):
    """The model's energy, by its own operations in their order (step 6.1 of `reference`)."""
    energy = read_i * 18.61 + layer.inputs * 18.61 + read_w * 18.61 + layer.weights * 18.61 + written * 18.61
    return 0.00023 * energy


@subroutine
def least_of_order(order, floor, step, given, scratch):
    """A loss that no mapping of a box with this outer order is below, where none takes fewer cycles than
    `floor` and none a shorter outer step than `step`.

    Cycles are those of all steps, of which each is at least so long, or of all that the NoC carries. Elements
    are those that the fewest and smallest steps read, or, of several tiles, all of the loops.
    """
    layer, machine, box = given.layers[0], given.machines[0], scratch.boxes[0]
    steps, idle = scratch.steps[0], machine.latency - 1
    cycles, read_i, read_w = add_steps(order, step, box, given, scratch)
    # The first step computes after its data are in.
    cycles = max(floor, max(step + steps.into, steps.limit) + max(cycles, steps.out_cycles))
    # Of one tile a dim the sums of steps are exact.
    if box.single == 0:
        read_i = max(read_i, words_of_order(order, NO, layer, given, scratch.loops, steps))
        read_w = max(read_w, words_of_order(order, YES, layer, given, scratch.loops, steps))
        if idle >= 0:
            over_noc = ceil_div(read_i + read_w, machine.bandwidth, machine.shift)
            cycles = max(cycles, step + idle * steps.count + over_noc)
    energy = energy_nj(layer, read_i, read_w, steps.out_all)
    return value_of(given.terms, (cycles / machine.hertz, energy))
