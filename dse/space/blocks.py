"""Genes grouped by meaning, with the small steps that make sense in each group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from dse.space.genes import GENE_NAMES, LEVELS, MAPPED_DIMS
from dse.support.arrays import IntArray

if TYPE_CHECKING:
    from dse.space.mapping_space import MappingSpace

BlockKind = Literal["tiles", "order", "parallel", "cluster"]


@dataclass(frozen=True)
class Block:
    """Genes that act together, and their moves. `genes` are positions in a gene vector.

    - tiles (one block a dim, its outer and inner tile): with `factors` a prime factor goes from one level
      (outside, outer, inner) to another; with `any` a tile goes up or down by one, by a factor of two or to
      the next divisor of what it is cut from, or both tiles by a factor of two.
    - order (one block a level): two loops change places.
    - parallel (both levels' dims): one of them takes another value.
    - cluster: the next larger or smaller size.
    """

    name: str
    kind: BlockKind
    genes: tuple[int, ...]
    index: int
    _space: MappingSpace = field(repr=False)

    def neighbours(self, genes: IntArray) -> IntArray:
        """All distinct mappings one move from the gene vector (13,): an array (m, 13), m = 0 if none.

        They lie in the space, keep its fixed genes, and differ from the start as mappings; genes outside the
        block stay as they are. ValueError if `genes` is not a vector of the space.
        """
        return self._space.neighbours(genes, self)


def make_blocks(space: MappingSpace) -> tuple[Block, ...]:
    """The blocks of a space: four tile chains, two orders, the parallel dims and the cluster size."""
    named: list[tuple[str, BlockKind, tuple[str, ...]]] = [
        *((f"tile.{dim}", "tiles", (f"outer.tile.{dim}", f"inner.tile.{dim}")) for dim in MAPPED_DIMS),
        *((f"{level}.order", "order", (f"{level}.order",)) for level in LEVELS),
        ("parallel", "parallel", tuple(f"{level}.parallel" for level in LEVELS)),
        ("cluster", "cluster", ("cluster",)),
    ]
    return tuple(
        Block(name, kind, tuple(map(GENE_NAMES.index, genes)), index, space)
        for index, (name, kind, genes) in enumerate(named)
    )
