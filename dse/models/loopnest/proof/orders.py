"""All orders of a shape's inner tiles, priced.

The outer and the inner order meet in few figures: the inner order decides the time and the words of the
inner transitions of an outer step, and with them alone the outer order's sums rise. So inner orders that are
worse in every figure than another are left out.
"""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.proof.dims import DIMS, STEPS
from dse.models.loopnest.proof.inner_level import LEVEL, time_inner
from dse.models.loopnest.proof.outer_level import (
    AT_DRAM,
    AT_L2,
    CYCLES,
    TO_PES,
    inner_words,
    time_outer,
)
from dse.models.loopnest.proof.shapes import (
    DRAM_WORDS,
    LEAST_CYCLES,
    below,
    loss_of,
    outer_moving,
)
from dse.models.loopnest.proof.tiles import STEP, least_cycles
from dse.support.compiling import subroutine

# Where the best mapping stands: its shape, inner tiles of K, C, Y and X, inner parallel dim, outer and inner
# order. After them, all but the orders of what is at hand.
SHAPE, TILES, PARALLEL, OUTER_ORDER, INNER_ORDER = 0, 1, 5, 6, 7
PLACE, AT_HAND = 8, 14
# What was done: inner levels looked at, those whose orders were tried, mappings priced.
LOOKED_AT, TRIED, PRICED = range(3)
DONE = 3

# Figures of an inner level that the outer sums rise with: four times, words to and from PEs and at L2.
RISING = 6


@subroutine
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
                for column in range(OUTER_ORDER):
                    place[column] = place[PLACE + column]
                place[OUTER_ORDER] = outer_orders[1 + outer]
                place[INNER_ORDER] = front[index, LEVEL + RISING]


@subroutine
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
