"""The genes of a mapping, their names, and the values that a user may leave them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dse.core.hardware import FIGURE_PREFIX
from dse.core.layer import DIMS
from dse.core.space import Gene, Kind
from dse.domains.clustered.accelerator import checked_figure
from dse.domains.clustered.space.parts import LEVELS, MAPPED_DIMS, SPACES, Parts, allowed_values
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_table, whole_number

__all__ = [
    "GENE_NAMES",
    "LEVELS",
    "MAPPED_DIMS",
    "ORDERS",
    "allowed_values",
    "make_gene",
    "named_parallel",
    "parse_fixed",
    "read_fixed",
]

ORDERS = SPACES["default"].orders
"""The loop orders of the default space, outermost loop first; R and S follow each."""

FixedValue = float | str | list[str] | list[int] | list[list[str]]

MOST_ORDERS = 100
"""Of a set: more are neighbours than the moves have room for."""

GENE_NAMES = SPACES["default"].gene_names
"""The names of the default space's 13 genes, in their order."""


def make_gene(name: str, size: int) -> Gene:
    """The gene of that name: its kind, level and dim follow from the name."""
    if name.startswith(FIGURE_PREFIX):
        return Gene(name, size, "ordinal")
    level, _, part = name.partition(".")
    what, _, dim = part.partition(".")
    kinds: dict[str, Kind] = {"order": "permutation", "parallel": "categorical"}
    return Gene(name, size, kinds.get(what, "ordinal"), level if part else None, dim or None)


def parse_fixed(texts: Iterable[str], parts: Parts = SPACES["default"]) -> dict[str, FixedValue]:
    """The fixed genes that texts like `outer.parallel=K`, `cluster=8,16`, `inner.order=KCYX,CKYX` name.

    The values are checked by the space that they are given to.
    """
    fixed: dict[str, FixedValue] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise InputError(f"a fixed gene must read GENE=VALUE, like outer.parallel=K, got {shorten(text)}")
        if name not in parts.gene_names:
            raise unknown_name("gene", name, parts.gene_names)
        if name in fixed:
            raise InputError(f"{name} is fixed twice, at {shorten(fixed[name])} and at {shorten(value)}")
        parts_of = [part.strip() for part in value.split(",")]
        values = [_parsed(name, part) for part in parts_of]
        fixed[name] = values[0] if len(values) == 1 else values  # type: ignore[assignment]
    return fixed


def _parsed(name: str, value: str) -> FixedValue:
    if value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if name == f"{FIGURE_PREFIX}clock_ghz":
        with contextlib.suppress(ValueError):
            return float(value)
    return value


def read_fixed(fixed: object, parts: Parts) -> dict[str, FixedValue]:
    """`fixed` in its normal form: in the genes' order, dims as text, orders as lists, sizes as ints.

    Whether the layer and accelerator at hand have such a size is not checked here.
    """
    entry: Mapping[str, Any] = check_table(fixed, "fixed")
    for name in entry:
        if name not in parts.gene_names:
            raise unknown_name("gene", name, parts.gene_names, "fixed")
    return {name: _read_value(name, entry[name], parts) for name in parts.gene_names if name in entry}


def _read_value(name: str, value: object, parts: Parts) -> FixedValue:
    kind = make_gene(name, 1).kind
    if isinstance(value, list | tuple) and (kind != "permutation" or _several_orders(value)):
        return _read_set(name, value, parts)
    if name.startswith(FIGURE_PREFIX):
        return checked_figure(name.removeprefix(FIGURE_PREFIX), value, f"fixed {name}")
    if kind == "ordinal":
        return whole_number(value, f"fixed {name}")
    if kind == "categorical":
        if value not in parts.dims:
            raise InputError(f"fixed {name} must be one of {' '.join(parts.dims)}, got {shorten(value)}")
        return str(value)
    return _read_order(name, value, parts)


def _read_order(name: str, value: object, parts: Parts) -> list[str]:
    order = tuple(value) if isinstance(value, list | tuple | str) else ()
    if sorted(map(str, order)) != sorted(parts.dims):
        example = "".join(parts.dims)
        raise InputError(
            f"fixed {name} must hold each of {' '.join(parts.dims)} once, like {example}, "
            f"got {shorten(value)}"
        )
    return list(order)


def _several_orders(values: Sequence[object]) -> bool:
    """Whether these are loop orders, each a text or a list of dims, and not the dims of one."""
    return any(isinstance(value, list | tuple | str) and len(value) != 1 for value in values)


def _read_set(name: str, values: Sequence[object], parts: Parts) -> FixedValue:
    """Several values of a gene, in the space's order, each once; of one value that itself."""
    kind = make_gene(name, 1).kind
    if not values:
        raise InputError(f"fixed {name} must have at least one value, got none")
    if kind == "permutation":
        orders = {tuple(_read_order(name, value, parts)) for value in values}
        if len(orders) > MOST_ORDERS:
            raise InputError(f"fixed {name} takes at most {MOST_ORDERS} orders, got {len(orders)}")
        places = {dim: place for place, dim in enumerate(parts.dims)}
        listed = [list(order) for order in sorted(orders, key=lambda order: [places[dim] for dim in order])]
        return listed if len(listed) > 1 else listed[0]
    read: set[Any] = {_read_value(name, value, parts) for value in values}
    found: list[Any] = sorted(read, key=parts.dims.index if kind == "categorical" else None)
    return found if len(found) > 1 else found[0]


def named_parallel(fixed: Mapping[str, Any], level: str, dims: IntArray) -> IntArray:
    """Parallel dims (n,) of a proof as the space has them: depthwise, a C may be a K."""
    allowed = allowed_values(fixed, f"{level}.parallel")
    if allowed is None:
        return dims
    places = [DIMS.index(dim) for dim in allowed]
    return np.where(np.isin(dims, places), dims, DIMS.index("K"))
