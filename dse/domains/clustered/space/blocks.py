"""The blocks of a mapping space: genes grouped by meaning, with the small steps that make sense in each.

- tiles (one block a dim, its outer and inner tile): with `factors` a prime factor goes from one level
  (what is left of the dim, outer, inner) to another; with `any` a tile goes up or down by one, by a factor of
  two or to the next divisor of what it is cut from, or both tiles by a factor of two; tiles that leave no
  rest go by a prime factor too, and others to the nearest that leave none.
- order (one block a level): two loops change places.
- parallel (both levels' dims): one of them takes another value.
- cluster, and each figure of the hardware that is a gene: the next larger or smaller value.
"""

from __future__ import annotations

from dse.core.space import Block, Space
from dse.domains.clustered.space.parts import LEVELS, Parts, singles_of


def make_blocks(space: Space, parts: Parts) -> tuple[Block, ...]:
    """The blocks of a mapping space: its tile chains, two orders, the parallel dims, then single sizes."""
    names = parts.gene_names
    named: list[tuple[str, tuple[str, ...]]] = [
        *((f"tile.{dim}", (f"outer.tile.{dim}", f"inner.tile.{dim}")) for dim in parts.dims),
        *((f"{level}.order", (f"{level}.order",)) for level in LEVELS),
        ("parallel", tuple(f"{level}.parallel" for level in LEVELS)),
        *((name, (name,)) for name in singles_of(names)),
    ]
    return tuple(
        Block(name, tuple(map(names.index, genes)), index, space) for index, (name, genes) in enumerate(named)
    )
