"""Compiled moves: a point's neighbours, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.domains.clustered.space.kernels.layout import (
    ANY_TILES,
    CHAIN_START,
    CHAIN_WIDTH,
    FIXED,
    GENE_SIZES,
    GENES,
    LEVEL_GENES,
    MAPPED,
    ORDER,
    ORDER_COUNT,
    PARALLEL,
    PRIME_COUNT,
    PRIME_START,
    SINGLES,
    SIZE,
    SWAP_START,
    SWAPS,
    TILE,
)
from dse.domains.clustered.space.kernels.points import (
    count_up_to,
    inner_choice,
    inner_choices,
    is_inside,
    tile_genes,
    tiles_of,
)
from dse.support.arrays import FloatArray, IntArray
from dse.support.compiling import kernel, subroutine

# Of numpy: a literal 0 has a type of its own, for which what takes it would be compiled anew.
ZERO: Any = np.int64(0)
# At most 6 for each of a 31-bit size's 9 primes and 18 steps in 6 dims, 2 times 99 orders of sets, 60 others.
MAX_MOVES = 704


@kernel
def random_neighbours(genes: IntArray, space: IntArray, picks: FloatArray, out: IntArray) -> int:
    """Write one neighbour of each gene vector into `out`: `picks` (in [0, 1)) choose among all its moves.

    A vector without a move is its own neighbour. The index of the first bad vector, or -1.
    """
    moves = np.empty((MAX_MOVES, 3), dtype=np.int64)
    blocks = space[MAPPED] + 3 + space[SINGLES]
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        count = ZERO
        for block in range(blocks):
            count = _add_moves(genes, row, block, space, moves, count)
        # Without a move this is -1, which leaves the vector as it is.
        _apply(moves, min(int(picks[row] * count), count - 1), genes, row, space, out, row)
    return -1


@kernel
def block_neighbours(genes: IntArray, block: int, space: IntArray, out: IntArray) -> int:
    """Write all neighbours of the one vector in `genes` into `out` by the moves of one block; how many.

    -1 if the vector is bad.
    """
    if not is_inside(genes, 0, space):
        return -1
    moves = np.empty((MAX_MOVES, 3), dtype=np.int64)
    count = _add_moves(genes, ZERO, block, space, moves, ZERO)
    for index in range(count):
        _apply(moves, index, genes, ZERO, space, out, index)
    return count


@subroutine
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
        mine, orders = genes[row, gene], space[GENE_SIZES + gene]
        if orders == space[ORDER_COUNT]:
            swaps = space[SWAP_START] + space[SWAPS] * mine
            for swap in range(space[SWAPS]):
                count = _add(moves, count, block, space[swaps + swap], 0)
            return count
        # The swaps are a table over all orders, of no use where the space has only some.
        for other in range(orders):
            if other != mine:
                count = _add(moves, count, block, other, 0)
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


@subroutine
def _add(moves: IntArray, count: int, block: int, first: int, second: int) -> int:
    moves[count, 0], moves[count, 1], moves[count, 2] = block, first, second
    return count + 1


@subroutine
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
        pair = tile_genes(first, second, block, space)
        out[out_row, TILE + block], out[out_row, level_genes + TILE + block] = pair
    elif block < mapped + 2:
        out[out_row, ORDER + level_genes * (block - mapped)] = first
    elif block == mapped + 2:
        out[out_row, PARALLEL], out[out_row, level_genes + PARALLEL] = first, second
    else:
        out[out_row, 2 * level_genes + block - mapped - 3] = first


@subroutine
def _add_tile_moves(genes: IntArray, row: int, dim: int, space: IntArray, moves: IntArray, begin: int) -> int:
    """Append the moves of a dim's tile chain."""
    inner_gene = space[LEVEL_GENES] + TILE + dim
    outer, inner = tiles_of(genes[row, TILE + dim], genes[row, inner_gene], dim, space)
    chain = space[CHAIN_START] + CHAIN_WIDTH * dim
    size, end = space[chain + SIZE], begin
    if space[ANY_TILES]:
        end = _propose_steps(outer, inner, dim, size, moves, begin)
        for index in range(begin, end):
            # A step beyond an end goes to it; what then stands still or comes twice is left out below.
            moves[index, 1] = min(max(moves[index, 1], 1), size)
            moves[index, 2] = min(max(moves[index, 2], 1), moves[index, 1])
    perfect = end
    if size % outer == 0 and outer % inner == 0:
        end = _propose_factors(outer, inner, dim, space, moves, end)
    else:
        end = _propose_perfect(outer, inner, dim, size, moves, end)
    # Only from `perfect` on: where any tiles are allowed, steps may leave a rest.
    end = _keep_perfect(size, moves, perfect, end)
    if space[chain + FIXED] > 1:
        end = _propose_fixed(outer, inner, dim, space, moves, end)
    return _keep_choices(outer, inner, dim, space, moves, begin, end)


@subroutine
def _propose_factors(outer: int, inner: int, dim: int, space: IntArray, moves: IntArray, end: int) -> int:
    """A prime factor goes from one of the three levels (outside, outer, inner) to another."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * dim
    for index in range(space[chain + PRIME_COUNT]):
        prime = space[space[chain + PRIME_START] + index]
        # Some of these do not divide, or are larger than the dim: `_keep_perfect` leaves them out.
        end = _add(moves, end, dim, outer * prime, inner)
        end = _add(moves, end, dim, outer * prime, inner * prime)
        end = _add(moves, end, dim, outer, inner * prime)
        if outer % prime == 0:
            end = _add(moves, end, dim, outer // prime, inner)
        if inner % prime == 0:
            end = _add(moves, end, dim, outer // prime, inner // prime)
            end = _add(moves, end, dim, outer, inner // prime)
    return end


@subroutine
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


@subroutine
def _propose_perfect(outer: int, inner: int, dim: int, size: int, moves: IntArray, end: int) -> int:
    """Tiles that leave a rest go to the nearest ones that leave none, both at once."""
    outer_below, outer_above = _near_divisors(size, outer)
    for tile in (outer_below, outer, outer_above):
        inner_below, inner_above = _near_divisors(tile, inner)
        for cut in (inner_below, inner, inner_above):
            end = _add(moves, end, dim, tile, cut)
    return end


@subroutine
def _propose_fixed(outer: int, inner: int, dim: int, space: IntArray, moves: IntArray, end: int) -> int:
    """A fixed tile goes to the next one up or down; an inner tile that no longer fits goes down too."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * dim
    gene = tile_genes(outer, inner, dim, space)[0]
    for other in (gene - 1, gene + 1):
        if 0 <= other < space[GENE_SIZES + TILE + dim]:
            tile = tiles_of(other, ZERO, dim, space)[0]
            start, count = inner_choices(other, tile, chain, space)
            below = count_up_to(space, start, count, inner) if start else min(count, inner)
            end = _add(moves, end, dim, tile, inner_choice(start, max(below - 1, 0), space))
    start, count = inner_choices(gene, outer, chain, space)
    at = (count_up_to(space, start, count, inner) if start else inner) - 1
    for other in (at - 1, at + 1):
        if 0 <= other < count:
            end = _add(moves, end, dim, outer, inner_choice(start, other, space))
    return end


@subroutine
def _keep_perfect(size: int, moves: IntArray, begin: int, end: int) -> int:
    """Close up moves `begin` to `end` over those that leave a rest."""
    kept = begin
    for index in range(begin, end):
        dim, outer, inner = moves[index, 0], moves[index, 1], moves[index, 2]
        if size % outer == 0 and outer % inner == 0:
            kept = _add(moves, kept, dim, outer, inner)
    return kept


@subroutine
def _near_divisors(whole: int, tile: int) -> tuple[int, int]:
    """The largest divisor of `whole` below `tile` and the smallest above it; `tile` where there is none."""
    below, above, low = 0, whole + 1, 1
    while low * low <= whole:
        # Divisors come in pairs: with those up to the root the others are known.
        if whole % low == 0:
            for divisor in (low, whole // low):
                if below < divisor < tile:
                    below = divisor
                if tile < divisor < above:
                    above = divisor
        low += 1
    return below if below else tile, above if above <= whole else tile


@subroutine
def _keep_choices(
    outer: int, inner: int, dim: int, space: IntArray, moves: IntArray, begin: int, end: int
) -> int:
    """Close up moves `begin` to `end` over those that leave the space, stand still or come twice."""
    chain, kept = space[CHAIN_START] + CHAIN_WIDTH * dim, begin
    for index in range(begin, end):
        new_outer, new_inner = moves[index, 1], moves[index, 2]
        keep = new_outer != outer or new_inner != inner
        if keep and space[chain + FIXED]:
            keep = min(tile_genes(new_outer, new_inner, dim, space)) >= 0
        # Each with each: a dim has some dozens of moves at most.
        for earlier in range(begin, kept):
            keep = keep and (moves[earlier, 1] != new_outer or moves[earlier, 2] != new_inner)
        if keep:
            kept = _add(moves, kept, dim, new_outer, new_inner)
    return kept
