"""Compiled decoding, encoding and neighbourhood moves of a mapping space.

A space reaches the kernels as one flat array of integers (`pack`), because every argument costs a call a
fraction of a microsecond. Its layout is private to this file, and all kernels that read it stand here:
numba's cache sees changes to a kernel's own file only, and would go on using one compiled against another
layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numba import njit

from dse.space.chains import Chain, divisors, primes
from dse.space.genes import MAPPED_DIMS, ORDERS
from dse.spec.mapping import CLUSTER, INNER_PARALLEL, OUTER_ORDER, OUTER_TILE
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import OPTIONS

# Gene positions: a level's genes begin at LEVEL_GENES * level.
ORDER, PARALLEL, TILE, LEVEL_GENES, CLUSTER_GENE, GENES = 0, 1, 2, 6, 12, 13
LEVEL_COLUMNS = INNER_PARALLEL
DIMS = 4

# The packed space: the 13 gene sizes, then what follows. A START is where a table begins.
FIRST = 13  # the value that gene value 0 stands for, for the orders and the parallel dims (13 entries)
FILTER = 26  # R and S
ANY_TILES = 28
ORDER_START, SWAP_START, CLUSTER_START, CHAIN_START = 29, 30, 31, 32
ORDER_COUNT, SWAPS = 24, 6

# One dim's chain. With `any` tiles an outer tile is OUTER_FIRST + gene; else OUTER_START holds the outer
# tiles and, per outer tile, INNER_START holds where its divisors begin and how many they are.
SIZE, OUTER_FIXED, INNER_FIXED, OUTER_FIRST, OUTER_START, INNER_START, PRIME_START, PRIME_COUNT = range(8)
CHAIN_WIDTH = 8

BLOCKS = 8  # four tile chains, the outer order, the inner order, the parallel dims, the cluster
ORDER_BLOCK, PARALLEL_BLOCK, CLUSTER_BLOCK = 4, 6, 7
MAX_MOVES = 384  # at most 6 for each of a 31-bit size's 9 primes and 14 steps in 4 dims, and 26 others


F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """A kernel, compiled when first called; to its callers it has the types that it is written with."""
    kernel: F = njit(**OPTIONS)(function)
    return kernel


def pack(
    chains: Sequence[Chain],
    sizes: Sequence[int],
    first: Sequence[int],
    clusters: Sequence[int],
    filters: Sequence[int],
) -> IntArray:
    """The space as one flat array, read-only.

    `sizes` and `first` are by gene, `clusters` the choices of the cluster size, `filters` the R and S.
    """
    head = [*sizes, *first, *filters, int(chains[0].tiles == "any")]
    tail: list[int] = []
    tail_start = CHAIN_START + DIMS * CHAIN_WIDTH

    def add(values: Sequence[int]) -> int:
        tail.extend(values)
        return tail_start + len(tail) - len(values)

    head.append(add([MAPPED_DIMS.index(dim) for order in ORDERS for dim in order]))
    head.append(add([other for order in ORDERS for other in _swaps(order)]))
    head.append(add(clusters))
    for chain in chains:
        factors = primes(chain.size)
        outer_start = inner_start = 0
        if chain.tiles == "factors":
            outer_start = add(chain.outer_choices)
            spans = [(add(cuts), len(cuts)) for cuts in map(divisors, chain.outer_choices)]
            inner_start = add([number for span in spans for number in span])
        fixed = (chain.outer or 0, chain.inner or 0)
        head += [chain.size, *fixed, chain.outer_choices[0], outer_start, inner_start]
        head += [add(factors), len(factors)]
    packed = np.array(head + tail, dtype=np.int64)
    packed.flags.writeable = False
    return packed


def _swaps(order: tuple[str, ...]) -> list[int]:
    """The indices of the orders in which two loops of `order` have changed places."""
    found = []
    for one in range(DIMS):
        for other in range(one):
            swapped = list(order)
            swapped[one], swapped[other] = order[other], order[one]
            found.append(ORDERS.index(tuple(swapped)))
    return found


@compiled
def is_inside(genes: IntArray, row: int, space: IntArray) -> bool:
    """Whether every gene of a row is within its size."""
    inside = True
    for gene in range(GENES):
        inside &= 0 <= genes[row, gene] < space[gene]
    return inside


@compiled
def decode(genes: IntArray, space: IntArray, rows: IntArray) -> int:
    """Write the mapping of each gene vector into `rows`; the index of the first bad vector, or -1."""
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        for level in range(2):
            gene, column = LEVEL_GENES * level, LEVEL_COLUMNS * level
            rows[row, column] = space[FIRST + gene + PARALLEL] + genes[row, gene + PARALLEL]
            order = space[ORDER_START] + DIMS * (space[FIRST + gene + ORDER] + genes[row, gene + ORDER])
            for place in range(DIMS):
                rows[row, column + OUTER_ORDER + place] = space[order + place]
            for place in range(DIMS, DIMS + 2):
                rows[row, column + OUTER_ORDER + place] = place
                rows[row, column + OUTER_TILE + place] = space[FILTER + place - DIMS]
        for dim in range(DIMS):
            outer, inner = _tiles(genes[row, TILE + dim], genes[row, LEVEL_GENES + TILE + dim], dim, space)
            rows[row, OUTER_TILE + dim] = outer
            rows[row, LEVEL_COLUMNS + OUTER_TILE + dim] = inner
        rows[row, CLUSTER] = space[space[CLUSTER_START] + genes[row, CLUSTER_GENE]]
    return -1


@compiled
def _tiles(outer_gene: int, inner_gene: int, dim: int, space: IntArray) -> tuple[int, int]:
    """The outer and inner tile that a dim's two tile genes stand for."""
    chain = CHAIN_START + CHAIN_WIDTH * dim
    inner_genes = space[LEVEL_GENES + TILE + dim]
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
def encode(rows: IntArray, space: IntArray, genes: IntArray) -> int:
    """Write the smallest gene vector of each mapping into `genes`; the first mapping without one, or -1."""
    for row in range(len(rows)):
        for level in range(2):
            gene, column = LEVEL_GENES * level, LEVEL_COLUMNS * level
            genes[row, gene + PARALLEL] = rows[row, column] - space[FIRST + gene + PARALLEL]
            genes[row, gene + ORDER] = _order_index(rows, row, column, space) - space[FIRST + gene + ORDER]
            for place in range(DIMS, DIMS + 2):
                if (
                    rows[row, column + OUTER_ORDER + place] != place
                    or rows[row, column + OUTER_TILE + place] != space[FILTER + place - DIMS]
                ):
                    return row
        for dim in range(DIMS):
            inner_column = LEVEL_COLUMNS + OUTER_TILE + dim
            pair = _tile_genes(rows[row, OUTER_TILE + dim], rows[row, inner_column], dim, space)
            genes[row, TILE + dim], genes[row, LEVEL_GENES + TILE + dim] = pair
        clusters = space[CLUSTER_GENE]
        genes[row, CLUSTER_GENE] = _find(space, space[CLUSTER_START], clusters, rows[row, CLUSTER])
        if not is_inside(genes, row, space):
            return row
    return -1


@compiled
def _order_index(rows: IntArray, row: int, column: int, space: IntArray) -> int:
    """The index of a row's loop order, or -1."""
    for index in range(ORDER_COUNT):
        start, same = space[ORDER_START] + DIMS * index, True
        for place in range(DIMS):
            same = same and rows[row, column + OUTER_ORDER + place] == space[start + place]
        if same:
            return index
    return -1


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
def _tile_genes(outer: int, inner: int, dim: int, space: IntArray) -> tuple[int, int]:
    """The smallest pair of tile genes that stands for two tiles; a gene is -1 where there is none."""
    chain = CHAIN_START + CHAIN_WIDTH * dim
    outer_genes, inner_genes = space[TILE + dim], space[LEVEL_GENES + TILE + dim]
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
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        count = 0
        for block in range(BLOCKS):
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

    The values are tile sizes in a tile chain, gene values elsewhere.
    """
    if block < ORDER_BLOCK:
        return _add_tile_moves(genes, row, block, space, moves, count)
    if block < PARALLEL_BLOCK:
        gene = ORDER + LEVEL_GENES * (block - ORDER_BLOCK)
        if space[gene] == ORDER_COUNT:
            swaps = space[SWAP_START] + SWAPS * genes[row, gene]
            for swap in range(SWAPS):
                count = _add(moves, count, block, space[swaps + swap], 0)
        return count
    if block == PARALLEL_BLOCK:
        outer, inner = genes[row, PARALLEL], genes[row, LEVEL_GENES + PARALLEL]
        for other in range(space[PARALLEL]):
            if other != outer:
                count = _add(moves, count, block, other, inner)
        for other in range(space[LEVEL_GENES + PARALLEL]):
            if other != inner:
                count = _add(moves, count, block, outer, other)
        return count
    for other in (genes[row, CLUSTER_GENE] - 1, genes[row, CLUSTER_GENE] + 1):
        if 0 <= other < space[CLUSTER_GENE]:
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
    for gene in range(GENES):
        out[out_row, gene] = genes[row, gene]
    if move < 0:
        return
    block, first, second = moves[move, 0], moves[move, 1], moves[move, 2]
    if block < ORDER_BLOCK:
        pair = _tile_genes(first, second, block, space)
        out[out_row, TILE + block], out[out_row, LEVEL_GENES + TILE + block] = pair
    elif block < PARALLEL_BLOCK:
        out[out_row, ORDER + LEVEL_GENES * (block - ORDER_BLOCK)] = first
    elif block == PARALLEL_BLOCK:
        out[out_row, PARALLEL], out[out_row, LEVEL_GENES + PARALLEL] = first, second
    else:
        out[out_row, CLUSTER_GENE] = first


@compiled
def _add_tile_moves(genes: IntArray, row: int, dim: int, space: IntArray, moves: IntArray, begin: int) -> int:
    """Append the moves of a dim's tile chain."""
    outer, inner = _tiles(genes[row, TILE + dim], genes[row, LEVEL_GENES + TILE + dim], dim, space)
    size = space[CHAIN_START + CHAIN_WIDTH * dim + SIZE]
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
    chain = CHAIN_START + CHAIN_WIDTH * dim
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
    chain, kept = CHAIN_START + CHAIN_WIDTH * dim, begin
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
