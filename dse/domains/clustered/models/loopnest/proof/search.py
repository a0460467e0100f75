"""The best mapping of a shape: its inner tiles by their bounds, and of those that remain all orders.

The outer and the inner order meet in few figures: the inner order decides the time and the words of the
inner transitions of an outer step, and with them alone the outer order's sums rise. So inner orders that are
worse in every figure than another are left out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.domains.clustered.models.loopnest.params import (
    DEPTHWISE,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    NOC,
    OFFCHIP,
)
from dse.domains.clustered.models.loopnest.proof.dims import (
    CLUSTERS,
    COLUMNS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    LAST_CLUSTERS,
    LAST_SPAN,
    PIECE,
    PLACES,
    SPAN,
    STEPS,
    TILE,
    set_inner,
)
from dse.domains.clustered.models.loopnest.proof.inner_level import LEVEL, inner_scratch, time_inner
from dse.domains.clustered.models.loopnest.proof.outer_level import (
    AT_DRAM,
    AT_L2,
    CYCLES,
    TO_PES,
    TOTALS,
    inner_words,
    outer_scratch,
    time_outer,
)
from dse.domains.clustered.models.loopnest.proof.shapes import (
    DRAM_WORDS,
    LEAST_CYCLES,
    MAX_ORDERS,
    below,
    bound_orders,
    loss_of,
    outer_moving,
    read_shape,
    set_shape,
)
from dse.domains.clustered.models.loopnest.proof.tiles import (
    BUSY,
    CASES,
    END_WORDS,
    ENDS,
    FIGURES,
    STEP,
    WAITS,
    bound_cases,
    set_figures,
)
from dse.domains.clustered.models.loopnest.timing import (
    cycles_of,
)
from dse.domains.clustered.models.loopnest.traffic import (
    C,
    K,
)
from dse.support.jit import ARRAYLESS, OPTIONS

# Where the best mapping stands: its shape, inner tiles (a row), inner parallel dim, outer and inner order.
# After them, the first three of what is at hand.
SHAPE, TILES, PARALLEL, OUTER_ORDER, INNER_ORDER = range(5)
PLACE, AT_HAND = 5, 8
# What was done: inner levels looked at, those whose orders were tried, mappings priced.
LOOKED_AT, TRIED, PRICED = range(3)
DONE = 3

# Figures of an inner level that the outer sums rise with: four times, words to and from PEs and at L2.
RISING = 6


@njit(**ARRAYLESS)
def link_ends(dims, params):
    """Cycles before the first outer step and after the last one, without those of the NoC."""
    inputs, weights, written = params[LINK_INPUT], params[LINK_WEIGHTS], params[LINK_OUTPUT]
    for dim in range(DIMS):
        span = dims[dim, SPAN]
        if dim != K:
            inputs *= span * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim]
        if dim <= C:
            weights *= span
        if dim != C or params[DEPTHWISE] == 1:
            written *= dims[dim, LAST_SPAN]
    link = cycles_of(inputs + weights, params[OFFCHIP]) + cycles_of(written, params[OFFCHIP])
    return 2 * params[LATENCY] + link


@njit(**ARRAYLESS)
def set_clusters(dims, parallel, params, clusters):
    """By how many clusters an outer step's words are multiplied, by tensor, if it is not the last or is."""
    depthwise = params[DEPTHWISE] == 1
    most, last = dims[parallel, CLUSTERS], dims[parallel, LAST_CLUSTERS]
    for tensor in range(3):
        with_inputs = tensor == 0 and parallel != K
        with_weights = tensor == 1 and parallel <= C
        with_outputs = tensor == 2 and (parallel != C or depthwise)
        depends = with_inputs or with_weights or with_outputs
        clusters[0, tensor] = most if depends else 1
        clusters[1, tensor] = last if depends else 1


@njit(**OPTIONS)
def search_shapes(
    shapes, losses, tie_breaks, params, constants, terms, outer_tiles, inner_tiles, clusters, parallels,
    orders, real, order_table, best, place, done,
):  # fmt: skip
    """Searches these shapes, whose bounds rise, while their bounds beat the best.

    `best` (2), the least loss and its tie break, and `place` become those of the best mapping wherever one is
    better. `inner_tiles` (n, 4) are those that fit in L1.
    """
    dims, real_of = np.zeros((DIMS, COLUMNS), np.int64), np.zeros((2, 3), np.int64)
    choice, level, totals = np.zeros(6, np.int64), np.zeros(LEVEL, np.int64), np.zeros(TOTALS, np.int64)
    within, around = outer_scratch()
    found, front = np.zeros((MAX_ORDERS, 2), np.int64), np.zeros((MAX_ORDERS, LEVEL + RISING + 1), np.int64)
    figures, cases = np.zeros(FIGURES, np.int64), np.zeros((CASES, 4), np.int64)
    spread, scratch = np.zeros((2, 3), np.int64), inner_scratch()
    for index in range(len(shapes)):
        if not below(losses[index], tie_breaks[index], best[0], best[1]):
            return
        read_shape(shapes[index], outer_tiles, clusters, parallels, choice)
        set_shape(choice, params, outer_tiles, clusters, parallels, real, dims, real_of)
        cluster = clusters[choice[4]]
        many = bound_orders(
            dims, cluster, params, parallels, inner_tiles, orders, real_of, order_table, level, within,
            around, totals, found,
        )  # fmt: skip
        shape = found[:many, LEAST_CYCLES].min(), found[:many, DRAM_WORDS].min(), link_ends(dims, params)
        set_clusters(dims, parallels[0, 1 + choice[5]], params, spread)
        place[PLACE] = shapes[index]
        # In a cluster of one PE no dim is spread.
        for number in range(parallels[1, 0] if cluster > 1 else 1):
            parallel = parallels[1, 1 + number]
            for row in range(len(inner_tiles)):
                if not set_tiles(dims, inner_tiles[row], parallel, cluster, params):
                    continue
                done[LOOKED_AT] += 1
                loss, tie_break = bound_tiles(dims, params, constants, terms, shape, figures, cases)
                if not below(loss, tie_break, best[0], best[1]):
                    continue
                done[TRIED] += 1
                place[PLACE + 1], place[PLACE + 2] = row, parallel
                solve_tiles(
                    dims, params, constants, terms, figures, cases, shape[2], spread, found, orders, real_of,
                    order_table, level, front, scratch, within, around, totals, best, place, done,
                )  # fmt: skip


@njit(**ARRAYLESS)
def set_tiles(dims, pieces, parallel, cluster, params):
    """Fills the inner columns of `dims`; False if the tiles do not divide the outer ones."""
    for dim in range(DIMS):
        if pieces[dim] > 1 and dims[dim, TILE] % pieces[dim] != 0:
            return False
    for dim in range(DIMS):
        places = cluster if dim == parallel else 1
        if dims[dim, PIECE] != pieces[dim] or dims[dim, PLACES] != places:
            set_inner(dims, dim, pieces[dim], places, params)
    return True


@njit(**ARRAYLESS)
def bound_tiles(dims, params, constants, terms, shape, figures, cases):
    """The bound of inner tiles, and its tie break; `cases` begins with the least of all cases.

    `shape` has the fewest cycles and DRAM words of the outer orders, and the cycles of `link_ends`.
    """
    outer_cycles, dram, ends = shape
    set_figures(dims, params, figures)
    least, least_tie = np.inf, np.inf
    to_pes = at_l2 = np.int64(2**62)
    for case in range(bound_cases(dims, params, cases)):
        to_pes, at_l2 = min(to_pes, cases[case, TO_PES]), min(at_l2, cases[case, AT_L2])
        cycles = least_cycles(figures, params, cases[case, AT_L2], outer_cycles, ends)
        loss, tie_break = loss_of(
            params, constants, terms, cycles, cases[case, TO_PES], cases[case, AT_L2], dram
        )
        if below(loss, tie_break, least, least_tie):
            least, least_tie = loss, tie_break
    cases[0, TO_PES], cases[0, AT_L2] = to_pes, at_l2
    return least, least_tie


@njit(**ARRAYLESS)
def least_cycles(figures, params, at_l2, outer_cycles, ends):
    """Cycles below which no mapping with so many words at L2 is, if its outer level takes `outer_cycles`."""
    moving = cycles_of(max(at_l2 - figures[END_WORDS], 0), params[NOC])
    steady = max(figures[BUSY], moving) + figures[WAITS]
    return figures[ENDS] + max(outer_cycles, ends + steady)


@njit(**ARRAYLESS)
def solve_tiles(
    dims, params, constants, terms, figures, cases, ends, spread, found, orders, real_of, order_table, level,
    front, scratch, within, around, totals, best, place, done,
):  # fmt: skip
    """Tries all orders of inner tiles that could beat the best, and keeps the best."""
    inner_moving = 0
    for dim in range(DIMS):
        inner_moving |= int(dims[dim, STEPS] > 1) << dim
    choices, outer_orders, kept = orders[1, inner_moving], orders[0, outer_moving(dims)], np.int64(0)
    for index in range(choices[0]):
        order = choices[1 + index]
        time_inner(dims, order_table[order], params, figures[STEP], spread, scratch[0], scratch[1], level)
        kept = keep(dims, params, level, order, front, kept)
    for outer in range(outer_orders[0]):
        cycles = least_cycles(figures, params, cases[0, AT_L2], found[outer, LEAST_CYCLES], ends)
        loss, tie_break = loss_of(
            params, constants, terms, cycles, cases[0, TO_PES], cases[0, AT_L2], found[outer, DRAM_WORDS]
        )
        if not below(loss, tie_break, best[0], best[1]):
            continue
        for index in range(kept):
            time_outer(
                dims, order_table[outer_orders[1 + outer]], params, figures[STEP], front[index], real_of,
                within, around, totals,
            )  # fmt: skip
            done[PRICED] += 1
            loss, tie_break = loss_of(
                params, constants, terms, totals[CYCLES], totals[TO_PES], totals[AT_L2], totals[AT_DRAM]
            )
            if below(loss, tie_break, best[0], best[1]):
                best[0], best[1] = loss, tie_break
                for column in range(3):
                    place[column] = place[PLACE + column]
                place[OUTER_ORDER] = outer_orders[1 + outer]
                place[INNER_ORDER] = front[index, LEVEL + RISING]


@njit(**ARRAYLESS)
def keep(dims, params, level, order, front, kept):
    """Adds an inner level to the front unless another is no worse in any figure; returns how many it has."""
    candidate = front[kept]
    to_pes, at_l2 = inner_words(dims, params, level)
    for column in range(LEVEL):
        candidate[column] = level[column]
    for column in range(4):
        candidate[LEVEL + column] = level[column]
    candidate[LEVEL + 4], candidate[LEVEL + 5], candidate[LEVEL + RISING] = to_pes, at_l2, order
    for index in range(kept):
        worse = True
        for column in range(LEVEL, LEVEL + RISING):
            worse &= front[index, column] <= candidate[column]
        if worse:
            return kept
    left = 0
    for index in range(kept + 1):
        worse = index < kept
        for column in range(LEVEL, LEVEL + RISING):
            worse &= candidate[column] <= front[index, column]
        if not worse:
            if left < index:
                for column in range(LEVEL + RISING + 1):
                    front[left, column] = front[index, column]
            left += 1
    return left
