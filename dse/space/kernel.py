"""Compiled decoding, encoding and neighbourhood moves of a mapping space.

A space reaches the kernels as one flat array of integers (`pack`), because every argument costs a call a
fraction of a microsecond. Its layout is private to this file, and all kernels that read it stand here:
numba's cache sees changes to a kernel's own file only, and would go on using one compiled against another
layout. One set of kernels serves every space, whatever its parts: how many dims and genes there are stands in
the array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numba import njit

from dse.space.chains import Chain, divisors, primes
from dse.space.parts import Parts
from dse.spec.accelerator import MACHINE_FIGURES
from dse.spec.layer import DIMS, Layer
from dse.spec.mapping import CLUSTER, INNER_PARALLEL, OUTER_ORDER, OUTER_TILE
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import OPTIONS

# Genes of a level, from where the level begins: its order, its parallel dim, its tiles.
ORDER, PARALLEL, TILE = 0, 1, 2
LEVEL_COLUMNS = INNER_PARALLEL
ALL_DIMS = len(DIMS)
K, C = DIMS.index("K"), DIMS.index("C")

# The packed space. GENES, MAPPED (dims) and LEVEL_GENES are numbers; a START is where a table begins. The
# SINGLES are the sizes after the two levels: the cluster size, if it is a gene, and figures of the hardware.
GENES, MAPPED, LEVEL_GENES, ANY_TILES, DEPTHWISE, FITTED, SINGLES = range(7)
ORDER_START, ORDER_COUNT, SWAP_START, SWAPS, FIRST_START, CHAIN_START, SINGLE_START = range(7, 14)
CODES = 14  # the mapped dims, then those that stay whole, as positions in DIMS (6 entries)
PLACES = 20  # of each of DIMS its place among the mapped ones, or -1 (6 entries)
WHOLE = 26  # the sizes of all dims (6 entries)
GENE_SIZES = 32  # of each gene how many values it has

# One dim's chain. With `any` tiles an outer tile is OUTER_FIRST + gene; else OUTER_START holds the outer
# tiles and, per outer tile, INNER_START holds where its divisors begin and how many they are.
SIZE, OUTER_FIXED, INNER_FIXED, OUTER_FIRST, OUTER_START, INNER_START, PRIME_START, PRIME_COUNT = range(8)
CHAIN_WIDTH = 8
# One of the SINGLES: where its values stand, how many they are, and the machine's column; -1: the cluster.
VALUES, COUNT, COLUMN = range(3)
SINGLE_WIDTH = 3

MAX_MOVES = 512  # at most 6 for each of a 31-bit size's 9 primes and 14 steps in 6 dims, and 50 others


F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """A kernel, compiled when first called; to its callers it has the types that it is written with."""
    kernel: F = njit(**OPTIONS)(function)
    return kernel


def pack(
    parts: Parts,
    layer: Layer,
    chains: Sequence[Chain],
    sizes: Sequence[int],
    first: Sequence[int],
    singles: Mapping[str, Sequence[int]],
) -> IntArray:
    """The space as one flat array, read-only.

    `sizes` and `first` (the value that gene value 0 stands for, of orders and parallel dims) are by gene,
    `singles` are the values of the genes after the two levels, by name.
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
        factors = primes(chain.size)
        outer_start = inner_start = 0
        if chain.tiles == "factors":
            outer_start = add(chain.outer_choices)
            spans = [(add(cuts), len(cuts)) for cuts in map(divisors, chain.outer_choices)]
            inner_start = add([number for span in spans for number in span])
        fixed = (chain.outer or 0, chain.inner or 0)
        chain_rows += [chain.size, *fixed, chain.outer_choices[0], outer_start, inner_start]
        chain_rows += [add(factors), len(factors)]
    for name, values in singles.items():
        column = MACHINE_FIGURES.index(name) if name in MACHINE_FIGURES else -1
        single_rows += [add(values), len(values), column]
    head += [add(orders), len(parts.orders), add(swaps), len(swaps) // len(parts.orders)]
    head += [add(first), add(chain_rows), add(single_rows)]
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


@compiled
def is_inside(genes: IntArray, row: int, space: IntArray) -> bool:
    """Whether every gene of a row is within its size."""
    inside = True
    for gene in range(space[GENES]):
        inside &= 0 <= genes[row, gene] < space[GENE_SIZES + gene]
    return inside


@compiled
def decode(genes: IntArray, space: IntArray, rows: IntArray, machines: IntArray) -> int:
    """Write the mapping of each gene vector into `rows`; the index of the first bad vector, or -1.

    Of `machines` (n, figures), or (0, figures) where no figure is a gene, the columns that are.
    """
    mapped, level_genes, first = space[MAPPED], space[LEVEL_GENES], space[FIRST_START]
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        for level in range(2):
            gene, column = level_genes * level, LEVEL_COLUMNS * level
            rows[row, column] = space[CODES + space[first + gene + PARALLEL] + genes[row, gene + PARALLEL]]
            order = space[ORDER_START] + mapped * (space[first + gene + ORDER] + genes[row, gene + ORDER])
            for place in range(mapped):
                rows[row, column + OUTER_ORDER + place] = space[order + place]
            for place in range(mapped, ALL_DIMS):
                dim = space[CODES + place]
                rows[row, column + OUTER_ORDER + place] = dim
                rows[row, column + OUTER_TILE + dim] = space[WHOLE + dim]
        for place in range(mapped):
            outer, inner = _tiles(
                genes[row, TILE + place], genes[row, level_genes + TILE + place], place, space
            )
            dim = space[CODES + place]
            rows[row, OUTER_TILE + dim] = outer
            rows[row, LEVEL_COLUMNS + OUTER_TILE + dim] = inner
        for single in range(space[SINGLES]):
            entry = space[SINGLE_START] + SINGLE_WIDTH * single
            value = space[space[entry + VALUES] + genes[row, 2 * level_genes + single]]
            if space[entry + COLUMN] < 0:
                rows[row, CLUSTER] = value
            else:
                machines[row, space[entry + COLUMN]] = value
        if space[FITTED]:
            rows[row, CLUSTER] = _fitting_cluster(rows, row, space)
    return -1


@compiled
def fit_clusters(rows: IntArray, space: IntArray) -> None:
    """Give each mapping the cluster size that follows from its tiles, where no gene says it."""
    if space[FITTED]:
        for row in range(len(rows)):
            rows[row, CLUSTER] = _fitting_cluster(rows, row, space)


@compiled
def _fitting_cluster(rows: IntArray, row: int, space: IntArray) -> int:
    """A PE for each inner tile that the outer tile holds along the inner parallel dim."""
    dim = rows[row, INNER_PARALLEL]
    if space[DEPTHWISE] and dim == K:
        dim = C
    inner = max(rows[row, LEVEL_COLUMNS + OUTER_TILE + dim], 1)
    fitting: int = max((rows[row, OUTER_TILE + dim] + inner - 1) // inner, 1)
    return fitting


@compiled
def _tiles(outer_gene: int, inner_gene: int, place: int, space: IntArray) -> tuple[int, int]:
    """The outer and inner tile that a dim's two tile genes stand for."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * place
    inner_genes = space[GENE_SIZES + space[LEVEL_GENES] + TILE + place]
    if space[ANY_TILES]:
        outer = space[chain + OUTER_FIRST] + outer_gene
        inner = inner_gene * outer // inner_genes + 1
    else:
        outer = space[space[chain + OUTER_START] + outer_gene]
        span = space[chain + INNER_START] + 2 * outer_gene
        inner = space[space[span] + inner_gene * space[span + 1] // inner_genes]
    fixed = space[chain + INNER_FIXED]
    return outer, fixed if fixed else inner


@compiled
def encode(rows: IntArray, machines: IntArray, space: IntArray, genes: IntArray) -> int:
    """Write the smallest gene vector of each mapping into `genes`; the first mapping without one, or -1."""
    mapped, level_genes, first = space[MAPPED], space[LEVEL_GENES], space[FIRST_START]
    for row in range(len(rows)):
        for level in range(2):
            gene, column = level_genes * level, LEVEL_COLUMNS * level
            parallel = space[PLACES + rows[row, column]]
            if parallel < 0:
                return row
            genes[row, gene + PARALLEL] = parallel - space[first + gene + PARALLEL]
            order = _order_index(rows, row, column, space)
            if order < 0:
                return row
            genes[row, gene + ORDER] = order - space[first + gene + ORDER]
            for place in range(mapped, ALL_DIMS):
                dim = space[CODES + place]
                if rows[row, column + OUTER_TILE + dim] != space[WHOLE + dim]:
                    return row
        for place in range(mapped):
            dim = space[CODES + place]
            inner_column = LEVEL_COLUMNS + OUTER_TILE + dim
            pair = _tile_genes(rows[row, OUTER_TILE + dim], rows[row, inner_column], place, space)
            genes[row, TILE + place], genes[row, level_genes + TILE + place] = pair
        for single in range(space[SINGLES]):
            entry = space[SINGLE_START] + SINGLE_WIDTH * single
            column = space[entry + COLUMN]
            value = rows[row, CLUSTER] if column < 0 else machines[row, column]
            found = _find(space, space[entry + VALUES], space[entry + COUNT], value)
            genes[row, 2 * level_genes + single] = found
        if space[FITTED] and rows[row, CLUSTER] != _fitting_cluster(rows, row, space):
            return row
        if not is_inside(genes, row, space):
            return row
    return -1


@compiled
def _order_index(rows: IntArray, row: int, column: int, space: IntArray) -> int:
    """The index of a row's loop order, -1 if the dims that stay whole do not follow it in their order.

    Orders are numbered as itertools.permutations has them: a dim counts how many of those after it come
    before it among the mapped dims.
    """
    mapped = space[MAPPED]
    for place in range(mapped, ALL_DIMS):
        if rows[row, column + OUTER_ORDER + place] != space[CODES + place]:
            return -1
    index = 0
    for place in range(mapped):
        mine = space[PLACES + rows[row, column + OUTER_ORDER + place]]
        smaller = 0
        for later in range(place + 1, mapped):
            smaller += space[PLACES + rows[row, column + OUTER_ORDER + later]] < mine
        index = index * (mapped - place) + smaller
    for place in range(mapped):
        if rows[row, column + OUTER_ORDER + place] != space[space[ORDER_START] + mapped * index + place]:
            return -1
    return index


@compiled
def _find(space: IntArray, start: int, count: int, value: int) -> int:
    """The index of `value` among `count` ascending entries from `start`, or -1."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if space[start + middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < count and space[start + low] == value else -1


@compiled
def _tile_genes(outer: int, inner: int, place: int, space: IntArray) -> tuple[int, int]:
    """The smallest pair of tile genes that stands for two tiles; a gene is -1 where there is none."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * place
    outer_genes = space[GENE_SIZES + TILE + place]
    inner_genes = space[GENE_SIZES + space[LEVEL_GENES] + TILE + place]
    if space[ANY_TILES]:
        outer_gene = outer - space[chain + OUTER_FIRST]
        choice, choices = inner - 1, outer
    else:
        outer_gene = _find(space, space[chain + OUTER_START], outer_genes, outer)
        if outer_gene < 0:
            return -1, -1
        span = space[chain + INNER_START] + 2 * outer_gene
        choice, choices = _find(space, space[span], space[span + 1], inner), space[span + 1]
    fixed = space[chain + INNER_FIXED]
    if outer_gene < 0 or outer_gene >= outer_genes or (fixed and inner != fixed):
        return -1, -1
    if fixed:
        return outer_gene, 0
    if choice < 0 or choice >= choices:
        return outer_gene, -1
    return outer_gene, (choice * inner_genes + choices - 1) // choices


@compiled
def random_neighbours(genes: IntArray, space: IntArray, picks: FloatArray, out: IntArray) -> int:
    """Write one neighbour of each gene vector into `out`: `picks` (in [0, 1)) choose among all its moves.

    A vector without a move is its own neighbour. The index of the first bad vector, or -1.
    """
    moves = np.empty((MAX_MOVES, 3), dtype=np.int64)
    blocks = space[MAPPED] + 3 + space[SINGLES]
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        count = 0
        for block in range(blocks):
            count = _add_moves(genes, row, block, space, moves, count)
        _apply(moves, min(int(picks[row] * count), count - 1), genes, row, space, out, row)
    return -1


@compiled
def block_neighbours(genes: IntArray, block: int, space: IntArray, out: IntArray) -> int:
    """Write all neighbours of the one vector in `genes` into `out` by the moves of one block; how many.

    -1 if the vector is bad.
    """
    if not is_inside(genes, 0, space):
        return -1
    moves = np.empty((MAX_MOVES, 3), dtype=np.int64)
    count = _add_moves(genes, 0, block, space, moves, 0)
    for index in range(count):
        _apply(moves, index, genes, 0, space, out, index)
    return count


@compiled
def _add_moves(genes: IntArray, row: int, block: int, space: IntArray, moves: IntArray, count: int) -> int:
    """Append a block's moves as (block, first value, second value); how many moves there now are.

    The blocks are the tile chains, the outer and the inner order, the parallel dims, and each of the SINGLES.
    The values are tile sizes in a tile chain, gene values elsewhere.
    """
    mapped, level_genes = space[MAPPED], space[LEVEL_GENES]
    if block < mapped:
        return _add_tile_moves(genes, row, block, space, moves, count)
    if block < mapped + 2:
        gene = ORDER + level_genes * (block - mapped)
        if space[GENE_SIZES + gene] == space[ORDER_COUNT]:
            swaps = space[SWAP_START] + space[SWAPS] * genes[row, gene]
            for swap in range(space[SWAPS]):
                count = _add(moves, count, block, space[swaps + swap], 0)
        return count
    if block == mapped + 2:
        outer, inner = genes[row, PARALLEL], genes[row, level_genes + PARALLEL]
        for other in range(space[GENE_SIZES + PARALLEL]):
            if other != outer:
                count = _add(moves, count, block, other, inner)
        for other in range(space[GENE_SIZES + level_genes + PARALLEL]):
            if other != inner:
                count = _add(moves, count, block, outer, other)
        return count
    gene = 2 * level_genes + block - mapped - 3
    for other in (genes[row, gene] - 1, genes[row, gene] + 1):
        if 0 <= other < space[GENE_SIZES + gene]:
            count = _add(moves, count, block, other, 0)
    return count


@compiled
def _add(moves: IntArray, count: int, block: int, first: int, second: int) -> int:
    moves[count, 0], moves[count, 1], moves[count, 2] = block, first, second
    return count + 1


@compiled
def _apply(
    moves: IntArray, move: int, genes: IntArray, row: int, space: IntArray, out: IntArray, out_row: int
) -> None:
    """Write a gene vector as a move leaves it; move -1 leaves it as it is."""
    for gene in range(space[GENES]):
        out[out_row, gene] = genes[row, gene]
    if move < 0:
        return
    mapped, level_genes = space[MAPPED], space[LEVEL_GENES]
    block, first, second = moves[move, 0], moves[move, 1], moves[move, 2]
    if block < mapped:
        pair = _tile_genes(first, second, block, space)
        out[out_row, TILE + block], out[out_row, level_genes + TILE + block] = pair
    elif block < mapped + 2:
        out[out_row, ORDER + level_genes * (block - mapped)] = first
    elif block == mapped + 2:
        out[out_row, PARALLEL], out[out_row, level_genes + PARALLEL] = first, second
    else:
        out[out_row, 2 * level_genes + block - mapped - 3] = first


@compiled
def _add_tile_moves(genes: IntArray, row: int, dim: int, space: IntArray, moves: IntArray, begin: int) -> int:
    """Append the moves of a dim's tile chain."""
    inner_gene = space[LEVEL_GENES] + TILE + dim
    outer, inner = _tiles(genes[row, TILE + dim], genes[row, inner_gene], dim, space)
    size = space[space[CHAIN_START] + CHAIN_WIDTH * dim + SIZE]
    end = begin
    if space[ANY_TILES]:
        end = _propose_steps(outer, inner, dim, size, moves, begin)
        for index in range(begin, end):
            moves[index, 1] = min(max(moves[index, 1], 1), size)
            moves[index, 2] = min(max(moves[index, 2], 1), moves[index, 1])
    perfect = end
    if size % outer == 0 and outer % inner == 0:
        end = _propose_factors(outer, inner, dim, space, moves, end)
    else:
        end = _propose_perfect(outer, inner, dim, size, moves, end)
    end = _keep_perfect(size, moves, perfect, end)
    return _keep_choices(outer, inner, dim, space, moves, begin, end)


@compiled
def _propose_factors(outer: int, inner: int, dim: int, space: IntArray, moves: IntArray, end: int) -> int:
    """A prime factor goes from one of the three levels (outside, outer, inner) to another."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * dim
    for index in range(space[chain + PRIME_COUNT]):
        prime = space[space[chain + PRIME_START] + index]
        end = _add(moves, end, dim, outer * prime, inner)
        end = _add(moves, end, dim, outer * prime, inner * prime)
        end = _add(moves, end, dim, outer, inner * prime)
        if outer % prime == 0:
            end = _add(moves, end, dim, outer // prime, inner)
        if inner % prime == 0:
            end = _add(moves, end, dim, outer // prime, inner // prime)
            end = _add(moves, end, dim, outer, inner // prime)
    return end


@compiled
def _propose_steps(outer: int, inner: int, dim: int, size: int, moves: IntArray, end: int) -> int:
    """A tile goes up or down by one, by a factor of two, or to the next divisor; or both tiles by two."""
    below, above = _near_divisors(size, outer)
    for tile in (outer - 1, outer + 1, outer // 2, outer * 2, below, above):
        end = _add(moves, end, dim, tile, inner)
    below, above = _near_divisors(outer, inner)
    for tile in (inner - 1, inner + 1, inner // 2, inner * 2, below, above):
        end = _add(moves, end, dim, outer, tile)
    end = _add(moves, end, dim, outer * 2, inner * 2)
    return _add(moves, end, dim, outer // 2, inner // 2)


@compiled
def _propose_perfect(outer: int, inner: int, dim: int, size: int, moves: IntArray, end: int) -> int:
    """Tiles that leave a rest go to the nearest ones that leave none, both at once."""
    outer_below, outer_above = _near_divisors(size, outer)
    for tile in (outer_below, outer, outer_above):
        inner_below, inner_above = _near_divisors(tile, inner)
        for cut in (inner_below, inner, inner_above):
            end = _add(moves, end, dim, tile, cut)
    return end


@compiled
def _keep_perfect(size: int, moves: IntArray, begin: int, end: int) -> int:
    """Close up moves `begin` to `end` over those that leave a rest."""
    kept = begin
    for index in range(begin, end):
        dim, outer, inner = moves[index, 0], moves[index, 1], moves[index, 2]
        if size % outer == 0 and outer % inner == 0:
            kept = _add(moves, kept, dim, outer, inner)
    return kept


@compiled
def _near_divisors(whole: int, tile: int) -> tuple[int, int]:
    """The largest divisor of `whole` below `tile` and the smallest above it; `tile` where there is none."""
    below, above, low = 0, whole + 1, 1
    while low * low <= whole:
        if whole % low == 0:
            for divisor in (low, whole // low):
                if below < divisor < tile:
                    below = divisor
                if tile < divisor < above:
                    above = divisor
        low += 1
    return below if below else tile, above if above <= whole else tile


@compiled
def _keep_choices(
    outer: int, inner: int, dim: int, space: IntArray, moves: IntArray, begin: int, end: int
) -> int:
    """Close up moves `begin` to `end` over those that leave the space, stand still or come twice."""
    chain, kept = space[CHAIN_START] + CHAIN_WIDTH * dim, begin
    for index in range(begin, end):
        new_outer, new_inner = moves[index, 1], moves[index, 2]
        keep = new_outer != outer or new_inner != inner
        keep = keep and (new_outer == outer or not space[chain + OUTER_FIXED])
        keep = keep and (new_inner == inner or not space[chain + INNER_FIXED])
        for earlier in range(begin, kept):
            keep = keep and (moves[earlier, 1] != new_outer or moves[earlier, 2] != new_inner)
        if keep:
            kept = _add(moves, kept, dim, new_outer, new_inner)
    return kept
