"""What the genes of a mapping space index: tiles, orders, dims, cluster sizes, figures of the hardware."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from typing import Any

from dse.core.chains import Chain, divisors, listed
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.space.parts import DIVISORS, FIT, LEVELS, PES, SPACES, Parts, figure_gene
from dse.support.errors import InputError


def tile_chains(layer: Layer, tiles: str, fixed: MappingOf[str, Any], parts: Parts) -> tuple[Chain, ...]:
    """The tiles of every dim that is cut."""
    return tuple(
        Chain(dim, layer.loops[dim], tiles, fixed.get(f"outer.tile.{dim}"), fixed.get(f"inner.tile.{dim}"))
        for dim in parts.dims
    )


def other_choices(
    accelerator: Accelerator, fixed: MappingOf[str, Any], parts: Parts
) -> dict[str, Sequence[Any]]:
    """What the genes that are no tiles index, by name."""
    choices: dict[str, Sequence[Any]] = {}
    counts = [int(count) for count in parts.values_of(PES, accelerator)]
    wrong = f"does not divide the {accelerator.num_pes} PEs" if parts == SPACES["default"] else "is no choice"
    if parts.cluster != FIT:
        sizes = {size for count in counts for size in divisors(count)}
        choices["cluster"] = tuple(sorted(sizes)) if parts.cluster == DIVISORS else parts.cluster
    choices |= {figure_gene(figure): values for figure, values in parts.hardware}
    for level in LEVELS:
        choices |= {f"{level}.order": parts.orders, f"{level}.parallel": parts.dims}
    for name in choices.keys() & fixed.keys():
        value = tuple(fixed[name]) if isinstance(fixed[name], list) else fixed[name]
        if value not in choices[name]:
            raise InputError(f"fixed {name} = {value} {wrong}; expected {one_of(choices[name])}")
        choices[name] = (value,)
    return choices


def one_of(values: Sequence[Any]) -> str:
    """The values in words, as an error lists them."""
    return str(values[0]) if len(values) == 1 else f"one of {listed(values)}"
