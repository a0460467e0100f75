"""The cost model that is being checked, and the mappings that it is asked to price."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.arrays import IntArray
from dse.support.errors import format_exception
from dse.testing.landscapes import CLASSIFIER, DEPTHWISE, RESNET
from dse.testing.verdict import Broken

MAPPINGS = 300
"""Random mappings a setting, of each kind: from its space, and with numbers put where it has none of them."""
STRIDED = Layer("CONV", 64, 3, 58, 58, 7, 7, (2, 2), (3, 3))
ODD_NUMBERS = np.array([0, -1, 1, 3, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)], dtype=np.int64)


@dataclass(frozen=True)
class Setting:
    """A layer on an accelerator, in words too, with mappings of it: `ordinary` are of its space."""

    name: str
    layer: Layer
    accelerator: Accelerator
    ordinary: MappingBatch
    odd: MappingBatch

    @cached_property
    def all(self) -> MappingBatch:
        """The ordinary mappings, then the odd ones."""
        return MappingBatch(np.concatenate([self.ordinary.rows, self.odd.rows]))


class ModelCandidate:
    """A cost model under check."""

    def __init__(self, model: CostModel, mappings: int = MAPPINGS) -> None:
        """`mappings` of each kind are priced in each setting: few where each takes long."""
        self.model, self.mappings = model, mappings

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """A convolution, a depthwise layer, a classifier and a strided layer, with their mappings."""
        edge, tight = PRESETS["edge"], PRESETS["eyeriss-small"]
        return (
            _setting("a convolution", RESNET, tight, self.mappings),
            _setting("a depthwise layer", DEPTHWISE, edge, self.mappings),
            _setting("a classifier", CLASSIFIER, edge, self.mappings),
            _setting("a strided layer", STRIDED, edge, self.mappings),
        )

    @cached_property
    def costs(self) -> tuple[CostBatch, ...]:
        """What all mappings of each setting cost."""
        return tuple(self.price(setting, setting.all) for setting in self.settings)

    def layer(self, setting: Setting) -> Layer:
        """The layer as a Problem hands it to the model."""
        return setting.layer if self.model.prices_strides else setting.layer.lowered()

    def price(self, setting: Setting, mappings: MappingBatch, threads: int | None = None) -> CostBatch:
        """What mappings cost, priced from a copy. Broken if the model raises."""
        options = {} if threads is None else {"threads": threads}
        batch = MappingBatch(mappings.rows.copy())
        try:
            return self.model.evaluate(self.layer(setting), setting.accelerator, batch, **options)
        except Exception as error:
            raise Broken(
                f"expected prices of {len(mappings)} mappings of {setting.name}; it raised "
                f"{format_exception(error)}"
            ) from error


def difference(one: CostBatch, other: CostBatch) -> str | None:
    """The first row and column in which two batches differ, with both values; None if they are equal."""
    for name, column in one.columns().items():
        theirs = other.columns()[name]
        rows = np.flatnonzero(~((column == theirs) | ((column != column) & (theirs != theirs))))
        if len(rows):
            row = int(rows[0])
            return f"{name} of mapping {row} is {column[row]} and {theirs[row]}"
    return None


def _setting(name: str, layer: Layer, accelerator: Accelerator, count: int) -> Setting:
    rng = np.random.default_rng(0)
    spaces = [MappingSpace(layer, accelerator, tiles=tiles) for tiles in ("factors", "any")]
    ordinary = np.concatenate([space.decode(space.sample(rng, -(-count // 2))).rows for space in spaces])
    return Setting(name, layer, accelerator, MappingBatch(ordinary), MappingBatch(_odd(ordinary, rng)))


def _odd(rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Mappings with sizes that are zero, negative or huge, and with any dim parallel."""
    odd = rows[rng.integers(0, len(rows), len(rows))].copy()
    sizes = [CLUSTER, *range(OUTER_TILE, OUTER_TILE + 6), *range(INNER_TILE, INNER_TILE + 6)]
    for row in odd:
        places = rng.choice(sizes, size=int(rng.integers(1, 5)), replace=False)
        row[places] = rng.choice(ODD_NUMBERS, size=len(places))
        row[[OUTER_PARALLEL, INNER_PARALLEL]] = rng.integers(0, 6, size=2)
    return odd
