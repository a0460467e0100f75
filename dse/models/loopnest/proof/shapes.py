"""Shapes: outer tiles, cluster size and outer parallel dim, and the least loss that each could have.

DRAM traffic depends on the shape and the outer order alone. So a shape's bound takes all its orders, each
with the exact words over the DRAM link, and what no inner level is below: the steps of the busiest PE, and
every word once over the NoC.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LANES,
    LAYER_MACS,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OFFCHIP,
    PES,
    SIZES,
)
from dse.models.loopnest.proof.dims import (
    CLUSTERS,
    COLUMNS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    L2,
    LAST_CLUSTERS,
    LINK_OUTPUTS,
    MOST_WORK,
    OUTER_STEPS,
    OUTPUTS,
    SPAN,
    TIES_BY_CYCLES,
    TILE,
    set_outer,
)
from dse.models.loopnest.proof.links import link_scratch, set_links, time_link
from dse.models.loopnest.timing import cycles_of
from dse.models.loopnest.totals import accesses_pj
from dse.models.loopnest.traffic import (
    C,
    K,
    Y,
)
from dse.support.compiling import inlined, kernel, subroutine
from dse.support.numerics.losses import loss_value

# Constants: behind the price kernel's energies of an access, the clock, and what a MAC takes of its L1.
HERTZ, L1_A_MAC = 5, 6
# Columns of the bound of an outer order.
LEAST_CYCLES, DRAM_WORDS = 0, 1
MAX_ORDERS = 24

value_of = inlined(loss_value)


@subroutine
def loss_of(params, constants, terms, cycles, to_pes, at_l2, at_dram):
    """The loss and its tie break, by the model's own operations in their order."""
    macs = float(params[LAYER_MACS])
    energy = accesses_pj(constants, macs, constants[L1_A_MAC], to_pes, at_l2, at_dram) * 1e-3
    loss = value_of(terms, (cycles / constants[HERTZ], energy))
    return loss, float(cycles) if params[TIES_BY_CYCLES] == 1 else energy


@subroutine
def below(loss, tie_break, other_loss, other_tie_break):
    """Whether the first is better: less loss, or as much and a lower tie break."""
    return loss < other_loss or (loss == other_loss and tie_break < other_tie_break)


@kernel
def read_shape(shape, outer_tiles, clusters, parallels, choice):
    """Sets `choice` (6) to a shape's places: of the outer tiles, the cluster size, the parallel dim."""
    choice[5] = shape % parallels[0, 0]
    rest = shape // parallels[0, 0]
    choice[4] = rest % len(clusters)
    rest //= len(clusters)
    for place in range(DIMS):
        dim = DIMS - 1 - place
        choice[dim] = rest % outer_tiles[dim, 0]
        rest //= outer_tiles[dim, 0]


@subroutine
def set_shape(choice, params, outer_tiles, clusters, parallels, real, dims, real_of):
    """Fills the outer columns of `dims` and `real_of` (2, 3); False if L2 is too small for it.

    False as well if the shape costs what another one does: with one cluster no dim is spread.
    """
    cluster, parallel = clusters[choice[4]], parallels[0, 1 + choice[5]]
    across = params[PES] // cluster
    if across == 1 and choice[5] > 0:
        return False
    inputs, weights, outputs = params[LINK_INPUT], params[LINK_WEIGHTS], params[LINK_OUTPUT]
    for dim in range(DIMS):
        set_outer(dims, dim, outer_tiles[dim, 1 + choice[dim]], across if dim == parallel else 1, params)
        span = dims[dim, SPAN]
        if dim != K:
            inputs *= span * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim]
        if dim <= C:
            weights *= span
        if dim != C or params[DEPTHWISE] == 1:
            outputs *= span
        if dim >= Y:
            number = choice[4] if dim == parallel else len(clusters)
            for column in range(3):
                real_of[dim - Y, column] = real[dim - Y, choice[dim], number, column]
    return 2 * (inputs + weights + outputs) <= params[L2]


@subroutine
def least_steps(dims, cluster, params, parallels, inner_tiles):
    """Steps of the busiest PE of a cluster in an outer step, at least: with the smallest tiles, which come
    first.
    """
    least = np.int64(2**62)
    for number in range(parallels[1, 0]):
        parallel = parallels[1, 1 + number]
        work = params[FILTER]
        for dim in range(DIMS):
            tile, smallest = dims[dim, TILE], inner_tiles[dim, 1]
            if dim == parallel:
                work *= cycles_of(tile, smallest * cluster) * smallest
            else:
                work *= tile
        least = min(least, work)
    return least


@subroutine
def outer_moving(dims):
    """The dims with more than one outer step, one bit a dim."""
    found = 0
    for dim in range(DIMS):
        found |= int(dims[dim, OUTER_STEPS] > 1) << dim
    return found


@subroutine
def bound_orders(dims, cluster, params, parallels, inner_tiles, orders, real_of, order_table, links, found):
    """Fills `found` (24, 2): by outer order, the fewest cycles and the DRAM words; returns how many orders.

    An outer step's inner level takes the least work in cycles, and its words over the NoC no time.
    """
    work = cycles_of(least_steps(dims, cluster, params, parallels, inner_tiles), params[LANES])
    set_links(dims, params, links[0])
    choices = orders[0, outer_moving(dims)]
    for index in range(choices[0]):
        found[index, LEAST_CYCLES], found[index, DRAM_WORDS] = time_link(
            dims, order_table[choices[1 + index]], params, work, real_of, links
        )
    return choices[0]


@subroutine
def busy_enough(dims, cluster, params, parallels, inner_tiles):
    """Whether the busiest PE of a shape can have as few steps as limits leave to it."""
    work = least_steps(dims, cluster, params, parallels, inner_tiles)
    for dim in range(DIMS):
        work *= dims[dim, OUTER_STEPS]
    return work <= params[MOST_WORK]


@subroutine
def least_ends(dims, params, inner_tiles):
    """Cycles of the NoC before the first step and after the last one, of one PE a cluster and small tiles."""
    inputs, weights, sent = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    for dim in range(DIMS):
        piece, clusters = inner_tiles[dim, 1], dims[dim, CLUSTERS]
        if dim != K:
            inputs *= clusters * (piece * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim])
        if dim <= C:
            weights *= clusters * piece
        if dim != C or params[DEPTHWISE] == 1:
            sent *= dims[dim, LAST_CLUSTERS] * piece
    return cycles_of(inputs + weights, params[NOC]) + cycles_of(sent, params[NOC])


@subroutine
def every_word(params, each):
    """Words that any mapping sends over the NoC: all that its filters cover, the weights and the outputs.

    Those over the link where `each` is LINK_INPUT, and not OF_INPUT.
    """
    inputs, weights = params[each], params[each + 1]
    for dim in range(DIMS):
        if dim != K:
            inputs *= params[SIZES + dim] * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim]
        if dim <= C:
            weights *= params[SIZES + dim]
    return inputs + weights + params[OUTPUTS if each == OF_INPUT else LINK_OUTPUTS]


def floor(params, constants, terms, real):
    """A loss below that of any mapping, known without looking at one: every word is moved once.

    `real` is an Instance's.
    """
    words, link = (int(every_word.py_func(params, each)) for each in (OF_INPUT, LINK_INPUT))
    work = -(-int(params[LAYER_MACS]) // int(params[PES] * params[LANES]))
    cycles = max(work, -(-words // int(params[NOC])), -(-link // int(params[OFFCHIP])))
    # Rows that all outer steps need, less those that one has from the one before.
    rows, columns = (int(real[axis, 0, -1, 0] - real[axis, 0, -1, 1]) for axis in range(2))
    inputs = int(params[LINK_INPUT] * params[SIZES + C]) * rows * columns
    dram = inputs + int(params[LINK_WEIGHTS] * params[SIZES + K] * params[SIZES + C] + params[LINK_OUTPUTS])
    macs, per_mac = float(params[LAYER_MACS]), constants[L1_A_MAC]
    energy = accesses_pj.py_func(constants, macs, per_mac, words, words, dram) * 1e-3
    return float(loss_value(terms, (cycles / constants[HERTZ], energy)))


@kernel
def bound_shapes(
    start, stop, params, constants, terms, outer_tiles, inner_tiles, clusters, parallels, orders, real,
    order_table, losses, tie_breaks,
):  # fmt: skip
    """Writes the bounds of the shapes from `start` up to `stop`; inf where nothing fits in L2, or where too
    many PEs idle.
    """
    dims, real_of = np.zeros((DIMS, COLUMNS), np.int64), np.zeros((2, 3), np.int64)
    choice, found, links = np.zeros(6, np.int64), np.zeros((MAX_ORDERS, 2), np.int64), link_scratch()
    words = every_word(params, OF_INPUT)
    for shape in range(start, stop):
        least, least_tie = np.inf, np.inf
        read_shape(shape, outer_tiles, clusters, parallels, choice)
        fits = set_shape(choice, params, outer_tiles, clusters, parallels, real, dims, real_of)
        if fits and busy_enough(dims, clusters[choice[4]], params, parallels, inner_tiles):
            ends = least_ends(dims, params, inner_tiles)
            number = bound_orders(
                dims, clusters[choice[4]], params, parallels, inner_tiles, orders, real_of, order_table,
                links, found,
            )  # fmt: skip
            for index in range(number):
                cycles, dram = found[index, LEAST_CYCLES] + ends, found[index, DRAM_WORDS]
                loss, tie_break = loss_of(params, constants, terms, cycles, words, words, dram)
                if below(loss, tie_break, least, least_tie):
                    least, least_tie = loss, tie_break
        losses[shape - start], tie_breaks[shape - start] = least, least_tie
