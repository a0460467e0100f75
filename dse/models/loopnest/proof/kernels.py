"""The compiled kernels of the certifier for `loopnest`, and the arrays that they take, under one roof."""

from __future__ import annotations

from dse.models.loopnest.proof.instance import make_instance
from dse.models.loopnest.proof.orders import (
    AT_HAND,
    DONE,
    INNER_ORDER,
    LOOKED_AT,
    OUTER_ORDER,
    PARALLEL,
    SHAPE,
    TILES,
)
from dse.models.loopnest.proof.search import search_shapes, set_clusters
from dse.models.loopnest.proof.shapes import bound_shapes, floor, read_shape

__all__ = [
    "AT_HAND", "DONE", "INNER_ORDER", "LOOKED_AT", "OUTER_ORDER", "PARALLEL", "SHAPE", "TILES",
    "bound_shapes", "floor", "make_instance", "read_shape", "search_shapes", "set_clusters",
]  # fmt: skip
