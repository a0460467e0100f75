"""The loops of a mapping whose tiles divide what they cut: how often they run, on how many PEs at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping


@dataclass(frozen=True)
class Nest:
    """A mapping by K, C, Y, X: steps of the outer and the inner level, a PE's tile, and PEs at work at once.

    Where PEs idle in some steps, `pes` is their average; `even` says that they do not. Where a tile does not
    divide what it cuts, `divides` is false, and the counts are short of the rest.
    """

    outer: dict[str, int]
    inner: dict[str, int]
    tile: dict[str, int]
    pes: dict[str, float]
    even: bool
    divides: bool


def nest(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Nest:
    """How often the loops of a mapping run, for tiles that divide what they cut."""
    channels = {"K": "C"} if layer.type == "DSCONV" else {}
    outer_parallel = channels.get(mapping.outer.parallel, mapping.outer.parallel)
    inner_parallel = channels.get(mapping.inner.parallel, mapping.inner.parallel)
    clusters = accelerator.num_pes // mapping.cluster_size
    found = Nest({}, {}, {}, {}, True, True)
    even = divides = True
    for dim in "KCYX":
        size = layer.loops[dim]
        outer = min(mapping.outer[dim], size)
        tile = min(mapping.inner[dim], outer)
        tiles, inner_tiles = size // outer, outer // tile
        at_once = min(tiles, clusters) if dim == outer_parallel else 1
        inner_at_once = min(inner_tiles, mapping.cluster_size) if dim == inner_parallel else 1
        divides &= size % outer == 0 == outer % tile
        even &= tiles % at_once == 0 == inner_tiles % inner_at_once
        found.outer[dim], found.inner[dim] = (
            math.ceil(tiles / at_once),
            math.ceil(inner_tiles / inner_at_once),
        )
        found.tile[dim] = tile
        found.pes[dim] = tiles / found.outer[dim] * inner_tiles / found.inner[dim]
    return replace(found, even=even, divides=divides)
