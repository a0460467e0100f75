"""A space as the kernels read it: one flat array of integers, because every argument costs a call.

One layout serves every space, whatever its parts: how many dims and genes there are stands in the array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from dse.core.chains import Chain, distinct_primes
from dse.core.hardware import FIGURE_PREFIX
from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import MACHINE_FIGURES, figure_code
from dse.domains.clustered.mapping import INNER_PARALLEL
from dse.domains.clustered.space.parts import Parts
from dse.support.arrays import IntArray

# Genes of a level, from where the level begins: its order, its parallel dim, its tiles.
ORDER, PARALLEL, TILE = 0, 1, 2
LEVEL_COLUMNS = INNER_PARALLEL
ALL_DIMS = len(DIMS)
K, C = DIMS.index("K"), DIMS.index("C")

# The packed space. GENES, MAPPED (dims) and LEVEL_GENES are numbers; a START is where a table begins. The
# SINGLES are the sizes after the two levels: the cluster size, if it is a gene, and figures of the hardware.
GENES, MAPPED, LEVEL_GENES, ANY_TILES, DEPTHWISE, FITTED, SINGLES = range(7)
ORDER_START, ORDER_COUNT, SWAP_START, SWAPS, PLACES_START, CHAIN_START, SINGLE_START = range(7, 14)
CODES = 14  # the mapped dims, then those that stay whole, as positions in DIMS (6 entries)
PLACES = 20  # of each of DIMS its place among the mapped ones, or -1 (6 entries)
WHOLE = 26  # the sizes of all dims (6 entries)
GENE_SIZES = 32  # of each gene how many values it has

# One dim's chain. FIXED is how many values a fixed tile has, at most; 0 where none is fixed. OUTER_START is
# where the outer tiles stand, or 0 where they are OUTER_FIRST + gene. INNER_START has for each of them where
# its inner tiles begin and how many they are; with `any` tiles the INNER_COUNT fixed ones, or it is 0.
SIZE, FIXED, OUTER_FIRST, OUTER_START, INNER_START, INNER_COUNT, PRIME_START, PRIME_COUNT = range(8)
CHAIN_WIDTH = 8
# One of the SINGLES: where its values stand, how many they are, and the machine's column; -1: the cluster.
VALUES, COUNT, COLUMN = range(3)
SINGLE_WIDTH = 3


def pack_space(
    parts: Parts,
    layer: Layer,
    chains: Sequence[Chain],
    sizes: Sequence[int],
    places_of: Sequence[Sequence[int]],
    singles: Mapping[str, Sequence[float]],
) -> IntArray:
    """The space as one flat array, read-only.

    `sizes` and `places_of` are by gene: of an order and of a parallel dim those that gene values stand for,
    ascending; `singles` are the values of the genes after the two levels, by name.
    """
    codes = [DIMS.index(dim) for dim in (*parts.dims, *parts.whole)]
    places = [parts.dims.index(dim) if dim in parts.dims else -1 for dim in DIMS]
    loops = [layer.loops[dim] for dim in DIMS]
    mapped = len(parts.dims)
    orders, swaps = _order_tables(parts)
    head = [len(sizes), mapped, TILE + mapped, int(chains[0].tiles == "any"), int(layer.type == "DSCONV")]
    head += [int("cluster" not in singles), len(singles)]
    tables = [*codes, *places, *loops, *sizes]
    tail: list[int] = []

    def add(values: Sequence[int]) -> int:
        tail.extend(values)
        return GENE_SIZES + len(sizes) + len(tail) - len(values)

    chain_rows, single_rows = [], []
    for chain in chains:
        factors = distinct_primes(chain.size)
        outers, by_table, inner_start = chain.outer_choices, chain.tiles == "factors", 0
        outer_start = add(outers) if by_table or len(chain.outer) > 1 else 0
        if by_table:
            spans = [(add(cuts), len(cuts)) for cuts in map(chain.inner_choices, outers)]
            inner_start = add([number for span in spans for number in span])
        elif chain.inner:
            inner_start = add(chain.inner)
        chain_rows += [chain.size, max(len(chain.outer), len(chain.inner)), outers[0], outer_start]
        chain_rows += [inner_start, len(chain.inner), add(factors), len(factors)]
    for name, values in singles.items():
        figure = name.removeprefix(FIGURE_PREFIX)
        column = MACHINE_FIGURES.index(figure) if figure in MACHINE_FIGURES else -1
        codes_of = [figure_code(figure, value) for value in values]
        single_rows += [add(codes_of), len(values), column]
    head += [add(orders), len(parts.orders), add(swaps), len(swaps) // len(parts.orders)]
    head += [add([add(found) for found in places_of]), add(chain_rows), add(single_rows)]
    packed = np.array(head + tables + tail, dtype=np.int64)
    packed.flags.writeable = False
    return packed


@cache
def _order_tables(parts: Parts) -> tuple[list[int], list[int]]:
    """The loop orders as positions in DIMS, and for each those in which two loops have changed places."""
    numbers = {order: number for number, order in enumerate(parts.orders)}
    codes = [DIMS.index(dim) for order in parts.orders for dim in order]
    swaps = []
    for order in parts.orders:
        for one in range(len(order)):
            for other in range(one):
                swapped = list(order)
                swapped[one], swapped[other] = order[other], order[one]
                swaps.append(numbers[tuple(swapped)])
    return codes, swaps
