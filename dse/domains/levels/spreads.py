"""Fan-outs that a layer cannot fill, as what is spread over them is no dim of it."""

from __future__ import annotations

import warnings

from dse.domains.levels.machine import Machine
from dse.domains.levels.workload import Workload
from dse.support.errors import Notice

LAYER_DIMS = "KCPQRS"
"""The dims of a folded layer's loops; others, and published workloads, may have more."""


class NothingToSpread(Notice):
    """A machine names dims to spread that no folded layer has, nor the one that is mapped."""


def note_foreign_spreads(machine: Machine, workload: Workload) -> None:
    """Say of each fan-out which of the dims to be spread over it neither the workload nor any layer has."""
    known = {*LAYER_DIMS, *(dim for dim, size in workload.sizes.items() if size > 1)}
    for level in machine.levels:
        foreign = [dim for dim in level.spread or () if dim not in known]
        if foreign and level.fan_out > 1:
            warnings.warn(
                f"machine {machine.name}: level {level.name}: nothing is spread along "
                f"{' or '.join(foreign)}, which no layer has; its dims are {' '.join(LAYER_DIMS)} "
                "(of a product's M, N, K: P, K, C)",
                NothingToSpread,
                stacklevel=3,
            )
