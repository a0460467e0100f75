"""The compiled kernels of proofs over tiles of any size, under one roof."""

from __future__ import annotations

from dse.models.loopnest.proof.boxes.dominance import count_undominated
from dse.models.loopnest.proof.boxes.search import (
    BOUNDED,
    DONE,
    PRICED,
    bound_groups,
    search_groups,
)

__all__ = ["BOUNDED", "DONE", "PRICED", "bound_groups", "count_undominated", "search_groups"]
