"""GAMMA's operators over the blocks and genes of a space, and over a mapping's tiles where it has them."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from dse.core.layer import DIMS
from dse.domains.clustered.mapping import INNER_TILE, OUTER_TILE
from dse.domains.clustered.structure import mappings_of
from dse.domains.levels.structure import machine_mappings_of
from dse.support.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure
    from dse.domains.levels.structure import HierarchyStructure


class Operators:
    """What breeding does in `space`: it never leaves it."""

    def __init__(self, space: Space) -> None:
        self.space = space
        genes = space.genes
        blocks = [list(block.genes) for block in space.blocks]
        several = [block for block in blocks if len(block) > 1]
        chains = [block for block in several if all(genes[gene].kind == "ordinal" for gene in block)]
        self._exchanged = chains or blocks
        """The blocks one of which two parents exchange: those of several sizes, or all."""
        self._alike = [
            block
            for block in several
            if {(genes[gene].kind, genes[gene].size) for gene in block}
            == {("categorical", genes[block[0]].size)}
        ]
        """Blocks whose genes have the same choices."""
        self._orders = [
            place for place, gene in enumerate(genes) if gene.kind == "permutation" and gene.size > 1
        ]
        mappings, onto_machine = mappings_of(space), machine_mappings_of(space)
        self._redrawn: _Tiles | _Genes = _Tiles(space, mappings) if mappings else _Genes(space)
        if onto_machine:
            self._redrawn = _Levels(space, onto_machine)

    def cross(self, parents: IntArray, count: int, rate: float, rng: np.random.Generator) -> IntArray:
        """Pairs of different parents (as far as there are two), which exchange a block at the given rate.

        Of a mapping it is one dim's tiles, at all levels. Returns (count, genes).
        """
        pairs = (count + 1) // 2
        mothers = rng.integers(0, len(parents), pairs)
        fathers = (mothers + rng.integers(1, max(2, len(parents)), pairs)) % len(parents)
        couples = np.stack([parents[mothers], parents[fathers]], axis=1)
        crossing = np.flatnonzero(rng.random(pairs) < rate)
        which = rng.integers(0, len(self._exchanged), len(crossing))
        for number, block in enumerate(self._exchanged):
            rows = crossing[which == number, np.newaxis]
            hers, his = couples[rows, 0, block], couples[rows, 1, block]
            couples[rows, 0, block], couples[rows, 1, block] = his, hers
        return couples.reshape(2 * pairs, -1)[:count]

    def reorder(self, children: IntArray, chosen: BoolArray, rng: np.random.Generator) -> None:
        """Two things change places in an order gene, one that is free, of the chosen children, in place."""
        rows = np.flatnonzero(chosen)
        if not self._orders:
            return
        genes = rng.choice(self._orders, len(rows))
        sizes = self.space.sizes[genes]
        for size in np.unique(sizes).tolist():
            table = _swaps(size)
            these = sizes == size
            place = rows[these], genes[these]
            children[place] = table[children[place], rng.integers(0, table.shape[1], int(these.sum()))]

    def exchange_parallel(self, children: IntArray, chosen: BoolArray) -> None:
        """The choices in a block of like genes change places in the chosen children, in place.

        Of a mapping they are the levels' parallel dims, if both are free.
        """
        rows = np.flatnonzero(chosen)[:, np.newaxis]
        for block in self._alike:
            children[rows, block] = children[rows, block[::-1]]

    def mutate(self, children: IntArray, rng: np.random.Generator) -> IntArray:
        """The children (n, genes), one free place of each drawn anew, and the inner tiles repaired."""
        return self._redrawn.mutate(children, rng)


class _Genes:
    """Genes that are drawn anew one by one: all but the orders."""

    def __init__(self, space: Space) -> None:
        self._space = space
        free = [place for place, gene in enumerate(space.genes) if gene.size > 1]
        self._free = [place for place in free if space.genes[place].kind != "permutation"] or free

    def mutate(self, children: IntArray, rng: np.random.Generator) -> IntArray:
        """The children (n, genes), one gene of each drawn anew."""
        if not (len(children) and self._free):
            return children
        genes, rows = rng.choice(self._free, len(children)), np.arange(len(children))
        mutants = children.copy()
        mutants[rows, genes] = self._space.sample(rng, len(children))[rows, genes]
        return mutants


class _Levels(_Genes):
    """The genes of a mapping onto any number of levels: the tiles inside of one that is drawn anew stay."""

    def __init__(self, space: Space, hierarchy: HierarchyStructure) -> None:
        super().__init__(space)
        self._hierarchy = hierarchy

    def mutate(self, children: IntArray, rng: np.random.Generator) -> IntArray:
        """The children (n, genes), one gene of each drawn anew, the tiles inside of it kept if possible."""
        if not (len(children) and self._free):
            return children
        genes, rows = rng.choice(self._free, len(children)), np.arange(len(children))
        mutants = children.copy()
        mutants[rows, genes] = rng.integers(self._space.sizes[genes])
        return self._hierarchy.keep_inside(mutants, children, genes)


class _Tiles:
    """The places of a mapping of two levels that are drawn anew, and the repair of what depends on them.

    The inner parallel dim and the cluster size, where that is a gene, are one place, as in the authors'
    program. Figures of the hardware are places like the tiles.
    """

    def __init__(self, space: Space, structure: MappingStructure) -> None:
        self._space, self._structure = space, structure
        genes = list(enumerate(space.genes))
        parallel = [place for place, gene in genes if gene.kind == "categorical"]
        tiles = [place for place, gene in genes if gene.kind == "ordinal" and gene.dim]
        self._clusters = [place for place, gene in genes if gene.name == "cluster"]
        hardware = [place for place, gene in genes if gene.level is None and place not in self._clusters]
        self._inner_parallel = parallel[1]
        self._columns = np.array([DIMS.index(dim) for dim in structure.dims])
        self._inner_tiles = np.array(tiles[len(structure.dims) :])
        choices = space.sizes.copy()
        choices[self._inner_parallel] *= choices[self._clusters].prod()
        loci = np.array([*parallel, *tiles, *hardware])
        self._free = loci[choices[loci] > 1]

    def mutate(self, children: IntArray, rng: np.random.Generator) -> IntArray:
        """The children (n, genes), one free place of each drawn anew, and the inner tiles repaired."""
        if not (len(children) and len(self._free)):
            return children
        structure = self._structure
        outer, inner = OUTER_TILE + self._columns, INNER_TILE + self._columns
        before = structure.decode(children).rows[:, inner]
        genes, rows = rng.choice(self._free, len(children)), np.arange(len(children))
        values, mutants = self._space.sample(rng, len(children)), children.copy()
        mutants[rows, genes] = values[rows, genes]
        spread = genes == self._inner_parallel
        for cluster in self._clusters:
            mutants[spread, cluster] = values[spread, cluster]
        batch = structure.decode(mutants)
        outer_tiles, inner_tiles = batch.rows[:, outer], batch.rows[:, inner]
        # An inner gene picks among what the outer tile allows: its tile would change with the outer one.
        kept = genes[:, np.newaxis] != self._inner_tiles
        factors = structure.tiles == "factors"
        repaired = np.gcd(before, outer_tiles) if factors else np.minimum(before, outer_tiles)
        inner_tiles[kept] = repaired[kept]
        batch.rows[:, inner] = inner_tiles
        return structure.encode(structure.refit(batch))


@cache
def _swaps(size: int) -> IntArray:
    """Of an order gene of so many values, the values after two things have changed places: (size, pairs).

    Where only some orders are allowed, all others.
    """
    things = next((count for count in range(size + 1) if factorial(count) >= size), size)
    if factorial(things) != size:
        return np.array([[other for other in range(size) if other != one] for one in range(size)], np.int64)
    orders = list(permutations(range(things)))
    numbers = {order: number for number, order in enumerate(orders)}
    # Pairs by their later place: which of them a draw stands for is part of every record.
    pairs = sorted((later, place) for place, later in combinations(range(things), 2))
    table = []
    for order in orders:
        exchanged = [{order[one]: order[other], order[other]: order[one]} for one, other in pairs]
        table.append([numbers[tuple(swap.get(thing, thing) for thing in order)] for swap in exchanged])
    return np.array(table, dtype=np.int64)
