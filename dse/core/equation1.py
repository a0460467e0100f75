"""Equation 1, a published estimate of how many mappings a layer has, and Table II (docs/paper.md)."""

from __future__ import annotations

from math import factorial, perm

from dse.core.layer import Layer
from dse.support.validation import whole_number

TILE_CHOICES = 10
PARALLEL_DIMS = 3
"""The n and the k of Table II."""

DIMENSIONS = {"MLP": 3, "attention": 5, "convolution": 7}
"""The d of Table II, by the type of layer."""

MAPPING_LEVELS = 2
"""The l of our mappings."""


def equation1(n: int, d: int, k: int, l: int) -> int:  # noqa: E741 (the equation's own letters)
    """(n^d * d! * d! / (d - k)!)^l, exactly.

    Tilings (`n` sizes for each of `d` dims), loop orders and ordered choices of `k` parallel dims, at each
    of `l` levels.
    """
    n, l = whole_number(n, "n"), whole_number(l, "l")  # noqa: E741
    d = whole_number(d, "d")
    k = whole_number(k, "k", least=0, most=d)
    return int((n**d * factorial(d) * perm(d, k)) ** l)


def equation1_of(layer: Layer) -> int:
    """Equation 1 for one layer, at the two levels of our mappings and with Table II's n and k.

    A matrix product (R, S and X are 1: the MLP rows) has 3 dims, any other layer is a convolution with 7. Our
    layers are single matrix products or convolutions, so the 5 dims of attention never arise here.
    """
    is_matrix_product = layer.R == layer.S == layer.X == 1
    dims = DIMENSIONS["MLP" if is_matrix_product else "convolution"]
    return equation1(TILE_CHOICES, dims, PARALLEL_DIMS, MAPPING_LEVELS)


def table2() -> list[dict[str, int | str]]:
    """Table II: by type of layer the factors of Equation 1 at one level, and the sizes at one to three."""
    return [
        {
            "layer": kind,
            "dims": dims,
            "tilings": TILE_CHOICES**dims,
            "orders": factorial(dims),
            "parallel": perm(dims, PARALLEL_DIMS),
            **{
                f"{levels} level{'s' * (levels > 1)}": equation1(TILE_CHOICES, dims, PARALLEL_DIMS, levels)
                for levels in (1, 2, 3)
            },
        }
        for kind, dims in DIMENSIONS.items()
    ]
