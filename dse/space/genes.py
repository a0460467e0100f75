"""The genes of a mapping, their names, and the values at which a user may fix them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

from dse.space.protocol import Gene, Kind
from dse.support.errors import InputError, shorten, unknown
from dse.support.validation import table, whole_number

MAPPED_DIMS = ("K", "C", "Y", "X")
"""The dims that are tiled, ordered and spread; R and S stay whole and innermost."""

ORDERS = tuple(permutations(MAPPED_DIMS))
"""The loop orders that an order gene indexes, outermost loop first; R and S follow each."""

LEVELS = ("outer", "inner")

FixedValue = int | str | list[str]


def gene_names() -> tuple[str, ...]:
    """The names of the 13 genes in their order."""
    parts = ("order", "parallel", *(f"tile.{dim}" for dim in MAPPED_DIMS))
    return (*(f"{level}.{part}" for level in LEVELS for part in parts), "cluster")


GENE_NAMES = gene_names()
CLUSTER_GENE = GENE_NAMES.index("cluster")


def make_gene(name: str, size: int) -> Gene:
    """The gene of that name: its kind, level and dim follow from the name."""
    level, _, part = name.partition(".")
    what, _, dim = part.partition(".")
    kinds: dict[str, Kind] = {"order": "permutation", "parallel": "categorical"}
    return Gene(name, size, kinds.get(what, "ordinal"), level if part else None, dim or None)


def parse_fixed(texts: Iterable[str]) -> dict[str, FixedValue]:
    """The fixed genes that texts like `outer.parallel=K`, `cluster=16`, `inner.order=KCYX` name.

    The values are checked by the space that they are given to.
    """
    fixed: dict[str, FixedValue] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise InputError(f"a fixed gene must read GENE=VALUE, like outer.parallel=K, got {shorten(text)}")
        if name not in GENE_NAMES:
            raise unknown("gene", name, GENE_NAMES)
        if name in fixed:
            raise InputError(f"{name} is fixed twice, at {shorten(fixed[name])} and at {shorten(value)}")
        fixed[name] = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else value
    return fixed


def read_fixed(fixed: object) -> dict[str, FixedValue]:
    """`fixed` in its normal form: in the genes' order, dims as text, orders as lists, sizes as ints.

    Whether the layer and accelerator at hand have such a size is not checked here.
    """
    entry: Mapping[str, Any] = table(fixed, "fixed")
    for name in entry:
        if name not in GENE_NAMES:
            raise unknown("gene", name, GENE_NAMES, "fixed")
    return {name: _read_value(name, entry[name]) for name in GENE_NAMES if name in entry}


def _read_value(name: str, value: object) -> FixedValue:
    kind = make_gene(name, 1).kind
    if kind == "ordinal":
        return whole_number(value, f"fixed {name}")
    if kind == "categorical":
        if value not in MAPPED_DIMS:
            raise InputError(f"fixed {name} must be one of {' '.join(MAPPED_DIMS)}, got {shorten(value)}")
        return str(value)
    order = tuple(value) if isinstance(value, list | tuple | str) else ()
    if order not in ORDERS:
        raise InputError(
            f"fixed {name} must hold each of {' '.join(MAPPED_DIMS)} once, like KCYX, got {shorten(value)}"
        )
    return list(order)
