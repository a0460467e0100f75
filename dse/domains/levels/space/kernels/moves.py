# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled part of a hierarchy's space: vectors to rows and back, and moves. See `SpaceTables`."""

from __future__ import annotations

import numpy as np

from dse.domains.levels.space.kernels.loops import (
    encode_factors,
    factor_move,
    picked,
    tile_column,
    write_factors,
)
from dse.support.compiling import kernel, subroutine_with_arrays

__all__ = ["block_neighbours", "canonical", "decode", "encode_factors", "keep_inside", "random_neighbours"]

FACTORS, ORDER, KEEP = range(3)
"""Kinds of blocks."""
ALL = np.int64(-1)
"""Moves are counted, none is made. Of the type of other numbers: for a literal kernels are compiled again."""


@kernel
def decode(genes, t, rows):
    """Write the rows of the vectors (n, genes)."""
    for i in range(len(genes)):
        rows[i] = t.template
        for dim in range(len(t.first_slot) - 1):
            write_factors(genes[i], dim, t, rows[i])
        for level in range(len(t.order_gene)):
            gene = t.order_gene[level]
            if gene >= 0:
                first, order = t.order_columns[level], t.orders[t.order_start[level] + genes[i, gene]]
                for place in range(len(order)):
                    rows[i, first + place] = order[place]
        for pair in range(len(t.keep_gene)):
            rows[i, t.keep_gene[pair, 1]] = genes[i, t.keep_gene[pair, 0]]
        for stack in range(len(t.stack_gene)):
            columns = t.stack_columns[t.stack_start[stack] + genes[i, t.stack_gene[stack]]]
            for column in columns:
                if column:
                    rows[i, column] = 1


@kernel
def canonical(genes, t, out):
    """Write the smallest vectors that stand for the same factors, orders and kept tensors."""
    for i in range(len(genes)):
        out[i] = genes[i]
        for dim in range(len(t.first_slot) - 1):
            place = t.whole[dim]
            for slot in range(t.first_slot[dim], t.first_slot[dim + 1]):
                gene, count = t.gene[slot], t.edge_count[slot, place]
                below = t.edges[picked(genes[i], slot, place, t)]
                if gene >= 0:
                    # With one choice left this is 0, and so is the gene below: it says nothing there.
                    choice = genes[i, gene] * count // t.size[slot]
                    # Rounded up, as `picked` rounds down: the smallest gene with this choice.
                    out[i, gene] = (choice * t.size[slot] + count - 1) // count
                place = below


@subroutine_with_arrays
def block_move(vector, block, row, t, wanted, scratch):
    """As `factor_move`, for any block: an order takes another value, a kept tensor is bypassed or not."""
    if t.block_kind[block] == FACTORS:
        return factor_move(row, t.block_of[block], t, vector, wanted, scratch)
    count = 0
    for place in range(t.block_genes.shape[1]):
        gene = t.block_genes[block, place]
        if gene < 0:
            break
        near = order_neighbours(t, block, vector[gene])
        if 0 <= wanted - count < near:
            vector[gene] = order_neighbour(t, block, vector[gene], wanted - count)
            return wanted + 1
        count += near
    return count


@subroutine_with_arrays
def order_neighbours(t, block, value):
    """How many other values a gene that is no size has one move away."""
    gene = t.block_genes[block, 0]
    if t.block_kind[block] == KEEP or not swapping(t, block):
        return t.sizes[gene] - 1
    count = 0
    start = t.order_start[t.block_of[block]]
    for other in range(t.sizes[gene]):
        # Two orders cannot differ at one place; where they differ at two, these are exchanged.
        count += apart(t.orders[start + value], t.orders[start + other]) == 2
    return count


@subroutine_with_arrays
def order_neighbour(t, block, value, wanted):
    """The value that is the so-manieth of `order_neighbours`."""
    if t.block_kind[block] == KEEP or not swapping(t, block):
        # Its own value is no neighbour, and is passed over.
        return wanted if wanted < value else wanted + 1
    gene = t.block_genes[block, 0]
    start = t.order_start[t.block_of[block]]
    for other in range(t.sizes[gene]):
        if apart(t.orders[start + value], t.orders[start + other]) == 2:
            if wanted == 0:
                return other
            wanted -= 1
    return value


@subroutine_with_arrays
def swapping(t, block):
    """Whether an order's neighbours are those with two loops exchanged: where it has more than a few."""
    return t.permuted[t.block_of[block]] and t.sizes[t.block_genes[block, 0]] > t.orders.shape[1]


@subroutine_with_arrays
def apart(one, other):
    """At how many places two orders differ."""
    count = 0
    for place in range(len(one)):
        count += one[place] != other[place]
    return count


@kernel
def block_neighbours(genes, block, rows, t, out):
    """Write all neighbours of the first vector, canonical in the block, into `out`: how many there are.

    Without room for them they are only counted.
    """
    scratch = genes[0].copy()
    total = block_move(genes[0], block, rows[0], t, ALL, scratch)
    if total > len(out):
        return total
    for wanted in range(total):
        out[wanted] = genes[0]
        block_move(out[wanted], block, rows[0], t, wanted, scratch)
    return total


@kernel
def random_neighbours(genes, rows, t, picks):
    """Replace each canonical vector by one of its neighbours, chosen by a number of 0 to 1."""
    scratch = genes[0].copy() if len(genes) else t.sizes.copy()
    blocks = len(t.block_kind)
    for i in range(len(genes)):
        total = 0
        for block in range(blocks):
            total += block_move(genes[i], block, rows[i], t, ALL, scratch)
        # A number of 1, or one that is rounded up to it, takes the last.
        wanted = min(int(picks[i] * total), total - 1)
        for block in range(blocks):
            if total == 0:
                break
            here = block_move(genes[i], block, rows[i], t, ALL, scratch)
            if wanted < here:
                block_move(genes[i], block, rows[i], t, wanted, scratch)
                break
            wanted -= here


@kernel
def keep_inside(genes, before, t, changed):
    """What stands inside of a factor that has changed keeps its lengths, or the nearest that there are.

    `before` are the rows of the vectors (n, genes) before the gene `changed` (n,) of each took a new value.
    """
    for i in range(len(genes)):
        for dim in range(len(t.first_slot) - 1):
            first, end = t.first_slot[dim], t.first_slot[dim + 1]
            place, length, inside = t.whole[dim], t.lengths[dim, t.whole[dim]], False
            for slot in range(first, end):
                if t.tile_start:
                    length = np.int64(before[i, tile_column(t, t.position[slot], dim)])
                else:
                    length //= before[i, t.column[slot]]
                below = t.edges[picked(genes[i], slot, place, t)]
                gene, count = t.gene[slot], t.edge_count[slot, place]
                if inside and gene >= 0:
                    start, best, near = t.edge_start[slot, place], 0, -1.0
                    for choice in range(count):
                        there = t.lengths[dim, t.edges[start + choice]]
                        # Near is meant as a ratio: lengths are products of factors.
                        alike = min(there, length) / max(there, length)
                        if alike > near:
                            best, near = choice, alike
                    genes[i, gene] = (best * t.size[slot] + count - 1) // count
                    below = t.edges[start + best]
                inside = inside or (gene >= 0 and gene == changed[i])
                place = below
