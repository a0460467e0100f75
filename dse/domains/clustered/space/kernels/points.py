"""Compiled decoding and encoding: vectors of genes to mappings, and back."""

from __future__ import annotations

from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, OUTER_ORDER, OUTER_TILE
from dse.domains.clustered.space.kernels.layout import (
    ALL_DIMS,
    ANY_TILES,
    CHAIN_START,
    CHAIN_WIDTH,
    CODES,
    COLUMN,
    COUNT,
    DEPTHWISE,
    FITTED,
    GENE_SIZES,
    GENES,
    INNER_COUNT,
    INNER_START,
    LEVEL_COLUMNS,
    LEVEL_GENES,
    MAPPED,
    ORDER,
    ORDER_START,
    OUTER_FIRST,
    OUTER_START,
    PARALLEL,
    PLACES,
    PLACES_START,
    SINGLE_START,
    SINGLE_WIDTH,
    SINGLES,
    TILE,
    VALUES,
    WHOLE,
    C,
    K,
)
from dse.support.arrays import IntArray
from dse.support.compiling import kernel, subroutine


@subroutine
def is_inside(genes: IntArray, row: int, space: IntArray) -> bool:
    """Whether every gene of a row is within its size."""
    inside = True
    for gene in range(space[GENES]):
        inside &= 0 <= genes[row, gene] < space[GENE_SIZES + gene]
    return inside


@kernel
def decode(genes: IntArray, space: IntArray, rows: IntArray, machines: IntArray) -> int:
    """Write the mapping of each gene vector into `rows`; the index of the first bad vector, or -1.

    Of `machines` (n, figures), or (0, figures) where no figure is a gene, the columns that are.
    """
    mapped, level_genes, first = space[MAPPED], space[LEVEL_GENES], space[PLACES_START]
    for row in range(len(genes)):
        if not is_inside(genes, row, space):
            return row
        for level in range(2):
            gene, column = level_genes * level, LEVEL_COLUMNS * level
            dim = space[space[first + gene + PARALLEL] + genes[row, gene + PARALLEL]]
            rows[row, column] = space[CODES + dim]
            chosen = space[space[first + gene + ORDER] + genes[row, gene + ORDER]]
            order = space[ORDER_START] + mapped * chosen
            for place in range(mapped):
                rows[row, column + OUTER_ORDER + place] = space[order + place]
            for place in range(mapped, ALL_DIMS):
                # A dim without genes stays whole, and has its place behind those that have some.
                dim = space[CODES + place]
                rows[row, column + OUTER_ORDER + place] = dim
                rows[row, column + OUTER_TILE + dim] = space[WHOLE + dim]
        for place in range(mapped):
            outer, inner = tiles_of(
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


@kernel
def fit_clusters(rows: IntArray, space: IntArray) -> None:
    """Give each mapping the cluster size that follows from its tiles, where no gene says it."""
    if space[FITTED]:
        for row in range(len(rows)):
            rows[row, CLUSTER] = _fitting_cluster(rows, row, space)


@subroutine
def _fitting_cluster(rows: IntArray, row: int, space: IntArray) -> int:
    """A PE for each inner tile that the outer tile holds along the inner parallel dim."""
    dim = rows[row, INNER_PARALLEL]
    # A depthwise layer has K = 1, and a parallel K means C.
    if space[DEPTHWISE] and dim == K:
        dim = C
    inner = max(rows[row, LEVEL_COLUMNS + OUTER_TILE + dim], 1)
    fitting: int = max((rows[row, OUTER_TILE + dim] + inner - 1) // inner, 1)
    return fitting


@subroutine
def tiles_of(outer_gene: int, inner_gene: int, place: int, space: IntArray) -> tuple[int, int]:
    """The outer and inner tile that a dim's two tile genes stand for."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * place
    inner_genes = space[GENE_SIZES + space[LEVEL_GENES] + TILE + place]
    start = space[chain + OUTER_START]
    outer = space[start + outer_gene] if start else space[chain + OUTER_FIRST] + outer_gene
    start, count = inner_choices(outer_gene, outer, chain, space)
    # A share of the choices: no gene leaves the space.
    return outer, inner_choice(start, inner_gene * count // inner_genes, space)


@subroutine
def inner_choices(outer_gene: int, outer: int, chain: int, space: IntArray) -> tuple[int, int]:
    """Where the inner tiles of an outer one begin, 0 where they are all up to it, and how many they are."""
    start = space[chain + INNER_START]
    if not space[ANY_TILES]:
        return space[start + 2 * outer_gene], space[start + 2 * outer_gene + 1]
    if start:
        return start, count_up_to(space, start, space[chain + INNER_COUNT], outer)
    return start, outer


@subroutine
def inner_choice(start: int, number: int, space: IntArray) -> int:
    """The inner tile of a number among those that begin at `start`."""
    choice: int = space[start + number] if start else number + 1
    return choice


@subroutine
def count_up_to(space: IntArray, start: int, count: int, value: int) -> int:
    """How many of `count` ascending entries from `start` are at most `value`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if space[start + middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def encode(rows: IntArray, machines: IntArray, space: IntArray, genes: IntArray) -> int:
    """Write the smallest gene vector of each mapping into `genes`; the first mapping without one, or -1."""
    mapped, level_genes, first = space[MAPPED], space[LEVEL_GENES], space[PLACES_START]
    for row in range(len(rows)):
        for level in range(2):
            gene, column = level_genes * level, LEVEL_COLUMNS * level
            parallel = space[PLACES + rows[row, column]]
            if parallel < 0:
                return row
            allowed = space[GENE_SIZES + gene + PARALLEL]
            genes[row, gene + PARALLEL] = _find(space, space[first + gene + PARALLEL], allowed, parallel)
            order = _order_index(rows, row, column, space)
            if order < 0:
                return row
            allowed = space[GENE_SIZES + gene + ORDER]
            genes[row, gene + ORDER] = _find(space, space[first + gene + ORDER], allowed, order)
            for place in range(mapped, ALL_DIMS):
                dim = space[CODES + place]
                if rows[row, column + OUTER_TILE + dim] != space[WHOLE + dim]:
                    return row
        for place in range(mapped):
            dim = space[CODES + place]
            inner_column = LEVEL_COLUMNS + OUTER_TILE + dim
            pair = tile_genes(rows[row, OUTER_TILE + dim], rows[row, inner_column], place, space)
            genes[row, TILE + place], genes[row, level_genes + TILE + place] = pair
        for single in range(space[SINGLES]):
            entry = space[SINGLE_START] + SINGLE_WIDTH * single
            column = space[entry + COLUMN]
            value = rows[row, CLUSTER] if column < 0 else machines[row, column]
            found = _find(space, space[entry + VALUES], space[entry + COUNT], value)
            genes[row, 2 * level_genes + single] = found
        # No gene says the cluster size, so only the one that follows from the tiles can be written.
        if space[FITTED] and rows[row, CLUSTER] != _fitting_cluster(rows, row, space):
            return row
        # What was not found is -1, which is no gene's value.
        if not is_inside(genes, row, space):
            return row
    return -1


@subroutine
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
        # What names a dim twice gets a number too, but that of another order.
        if rows[row, column + OUTER_ORDER + place] != space[space[ORDER_START] + mapped * index + place]:
            return -1
    return index


@subroutine
def _find(space: IntArray, start: int, count: int, value: int) -> int:
    """The index of `value` among `count` ascending entries from `start`, or -1."""
    index = count_up_to(space, start, count, value) - 1
    return index if index >= 0 and space[start + index] == value else -1


@subroutine
def tile_genes(outer: int, inner: int, place: int, space: IntArray) -> tuple[int, int]:
    """The smallest pair of tile genes that stands for two tiles; a gene is -1 where there is none."""
    chain = space[CHAIN_START] + CHAIN_WIDTH * place
    outer_genes = space[GENE_SIZES + TILE + place]
    inner_genes = space[GENE_SIZES + space[LEVEL_GENES] + TILE + place]
    start = space[chain + OUTER_START]
    outer_gene = _find(space, start, outer_genes, outer) if start else outer - space[chain + OUTER_FIRST]
    if outer_gene < 0 or outer_gene >= outer_genes:
        return -1, -1
    start, choices = inner_choices(outer_gene, outer, chain, space)
    choice = _find(space, start, choices, inner) if start else inner - 1
    if choice < 0 or choice >= choices:
        return outer_gene, -1
    # Rounded up, as `tiles_of` rounds down: the smallest gene with this tile.
    return outer_gene, (choice * inner_genes + choices - 1) // choices
