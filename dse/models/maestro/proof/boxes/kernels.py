"""The compiled kernels of proofs over tiles of any size, under one roof."""

from __future__ import annotations

from dse.models.maestro.proof.boxes.search import (
    BOUNDED,
    CAME_BY,
    COLUMNS,
    DONE,
    PRICED,
    begin,
    go_on,
)

__all__ = ["BOUNDED", "CAME_BY", "COLUMNS", "DONE", "PRICED", "begin", "go_on"]
