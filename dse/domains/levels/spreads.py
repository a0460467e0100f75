"""Fan-outs that a layer cannot fill, as what is spread over them is no dim of it."""

from __future__ import annotations

import warnings

from dse.domains.levels.machine import Machine
from dse.support.errors import Notice

LAYER_DIMS = "KCPQRS"
"""The dims of a layer's loops; a published workload may have others."""


class NothingToSpread(Notice):
    """A machine names dims to spread that no layer has."""


def note_foreign_spreads(machine: Machine) -> None:
    """Say of each fan-out which of the dims to be spread over it no layer has."""
    for level in machine.levels:
        foreign = [dim for dim in level.spread or () if dim not in LAYER_DIMS]
        if foreign and level.fan_out > 1:
            warnings.warn(
                f"machine {machine.name}: level {level.name}: nothing is spread along "
                f"{' or '.join(foreign)}, which no layer has; its dims are {' '.join(LAYER_DIMS)} "
                "(of a product's M, N, K: P, K, C)",
                NothingToSpread,
                stacklevel=3,
            )
