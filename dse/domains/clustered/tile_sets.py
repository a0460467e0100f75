"""Problems with sets of tiles, as problems with one size of each: proofs and checks know no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from dse.core.chains import Chain
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.parts import LEVELS, tile_chains
from dse.support.errors import InputError

MOST = 1000
"""Problems that one may be divided into."""


def one_tile_each(problem: Problem) -> list[Problem]:
    """The problems that have one size of each tile of which this one has a set: together all its mappings.

    Itself where it has no set. InputError where they are too many.
    """
    space = problem.space
    chains = tile_chains(space.layer, space.tiles, space.fixed, space.parts)
    of_sets = [chain for chain in chains if max(len(chain.outer), len(chain.inner)) > 1]
    if not of_sets:
        return [problem]
    choices = [list(_choices(chain)) for chain in of_sets]
    if (count := prod(map(len, choices))) > MOST:
        raise InputError(
            f"the fixed tiles make {count:,} choices of one size each; at most {MOST:,} can be certified: "
            "fix fewer"
        )
    found = []
    for each in product(*choices):
        fixed = dict(space.fixed)
        for chosen in each:
            fixed |= chosen
        found.append(replace(problem, fixed=fixed))
    return found


def _choices(chain: Chain) -> Iterator[dict[str, int]]:
    """What may be fixed along a dim, a size of each tile, so that they fit together."""
    for outer in chain.outer_choices if chain.outer else (0,):
        for inner in chain.inner_choices(outer or chain.size) if chain.inner else (0,):
            tiles = zip(LEVELS, (outer, inner), strict=True)
            yield {f"{level}.tile.{chain.dim}": size for level, size in tiles if size}
