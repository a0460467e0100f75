"""What the dims of a matrix product are called: M, N and K, where mappings have them as a convolution's."""

from __future__ import annotations

from dse.core.layer import PRODUCT_DIMS, Layer

WORKLOAD_DIMS = {"Y": "P", "X": "Q"}
"""What a mapping onto a machine of levels calls otherwise than one of two levels."""


def dim_names(layer: Layer, *, levels: bool = False) -> dict[str, str]:
    """By the dims of mappings, of two levels or of any number of `levels`, their names; none of others."""
    if layer.product is None:
        return {}
    return {WORKLOAD_DIMS.get(dim, dim) if levels else dim: name for dim, name in PRODUCT_DIMS.items()}


def naming_line(layer: Layer, *, levels: bool = False) -> str:
    """How mapping files, genes and --fix name the dims of a matrix product; "" of any other layer."""
    called = ", ".join(f"{name} is {dim}" for dim, name in dim_names(layer, levels=levels).items())
    return called and f"in mapping files, genes and --fix: {called}"
