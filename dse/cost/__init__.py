"""Cost models: what a mapping costs in cycles, energy, power, area and buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.accelerator import Accelerator
from dse.errors import unknown
from dse.layer import Layer
from dse.mapping import MappingBatch

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DEFAULT_COST_MODEL = "maestro"
"""The model that search, certify and evaluate use unless told otherwise."""


@dataclass(frozen=True)
class CostBatch:
    """The costs of n mappings: arrays of length n.

    `cycles` and `macs` are counts, `energy_nj` is in nanojoule, `l1_size` and `l2_size` are the buffers
    that the mapping needs, in elements. `power` and `area` are in the model's own units (`loopnest`: mW and
    mm2). Where `valid` is
    false, `reason` holds a `dse.reasons.Reason` code and the figures are 0.
    """

    cycles: IntArray
    energy_nj: FloatArray
    power: FloatArray
    area: FloatArray
    l1_size: IntArray
    l2_size: IntArray
    macs: IntArray
    valid: NDArray[np.bool_]
    reason: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.cycles)


@dataclass(frozen=True)
class Detail:
    """What the figures of one mapping are made of, by name.

    `cycles` and `energy_nj` (in nanojoule) add up to the figures; `words` are elements moved, by store and
    kind; `buffers` are the elements that L1 and L2 must hold, by tensor, double buffering included. `bound`
    says on what most cycles go.
    """

    cycles: dict[str, int]
    energy_nj: dict[str, float]
    words: dict[str, dict[str, int]]
    buffers: dict[str, dict[str, int]]
    bound: str


class CostModel(Protocol):
    """Prices mappings: vectorised, pure, deterministic, never raising on a mapping.

    A model may have an attribute `lowers`, False if it prices strides and paddings itself: a Problem then
    hands it the layer as it is, not `layer.lowered()`. It may have a `version`, part of what a record depends
    on; `prepared(layer, accelerator)`, which returns a function that prices a MappingBatch's rows; and
    `detail(layer, accelerator, mapping)`, which returns a Detail, or None where the mapping is not valid.
    """

    name: str

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings`, row by row, on `threads` threads (the figures do not depend on them)."""
        ...


COST_MODELS = ("loopnest", "maestro")


def cost_model(name: str) -> CostModel:
    """The cost model of that name."""
    if name == "loopnest":
        from dse.cost.loopnest import LoopNest

        return LoopNest()
    if name == "maestro":
        from dse.cost.maestro import Maestro

        return Maestro()
    raise unknown("cost model", name, COST_MODELS)
