"""The certifier's compiled kernels, and the arrays that they take, under one roof."""

from __future__ import annotations

from dse.models.maestro.proof.groups import (
    BEST,
    BEST_ORDER,
    BEST_PARALLEL,
    bound_groups,
    group_loss,
    least_loss,
    read_group,
    steps_left,
)
from dse.models.maestro.proof.inner import (
    CYCLES,
    INNER,
    NO_CYCLES,
    ORDER,
    PARALLEL,
    TILES,
    solve_inner,
)
from dse.models.maestro.proof.instance import make_instance
from dse.models.maestro.proof.level import L1, MOST_STEPS, SMALLEST_L1, level_scratch

__all__ = [
    "BEST", "BEST_ORDER", "BEST_PARALLEL", "CYCLES", "INNER", "L1", "MOST_STEPS", "NO_CYCLES", "ORDER",
    "PARALLEL", "SMALLEST_L1", "TILES", "bound_groups", "group_loss", "least_loss", "level_scratch",
    "make_instance", "read_group", "solve_inner", "steps_left",
]  # fmt: skip
