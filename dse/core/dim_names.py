"""What the dims of a matrix product are called: M, N and K, where mappings have them as a convolution's."""

from __future__ import annotations

from collections.abc import Mapping

from dse.core.layer import PRODUCT_DIMS, Layer


def dim_names(layer: Layer, called: Mapping[str, str] | None = None) -> dict[str, str]:
    """By the dims of mappings, their names; none of other layers. `called` are dims that a domain renames."""
    if layer.product is None:
        return {}
    return {(called or {}).get(dim, dim): name for dim, name in PRODUCT_DIMS.items()}


def naming_line(layer: Layer, called: Mapping[str, str] | None = None) -> str:
    """How mapping files, genes and --fix name the dims of a matrix product; "" of any other layer."""
    names = ", ".join(f"{name} is {dim}" for dim, name in dim_names(layer, called).items())
    return names and f"in mapping files, genes and --fix: {names}"
