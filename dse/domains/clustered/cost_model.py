"""What a cost model of mappings of two levels is: two things it must have, and what else it can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dse.core.cost_model import AnyCostModel, Detail
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.mapping import MappingBatch
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import shorten

PriceRows = Callable[[IntArray], CostBatch]
"""A cost model made ready for one layer and accelerator: a MappingBatch's rows (n, 27) in, costs out."""

PriceEach = Callable[[IntArray, IntArray], CostBatch]
"""The same for rows that each bring a machine, (n, figures) with the MACHINE_FIGURES as columns."""


@dataclass(frozen=True)
class CaseExtras:
    """What n cases say beside what every model prices: arrays with a row a case.

    `paddings` (n, 2): of the input's rows and columns, those on each side that are padding. `dilations`
    (n, 2): of the filter's rows and columns. `capacities` (n, 2): the elements of an L1 and of L2, 0 where a
    case does not say. `clocks` (n), in GHz.
    """

    paddings: IntArray
    dilations: IntArray
    capacities: IntArray
    clocks: FloatArray

    @classmethod
    def none(cls, n: int) -> CaseExtras:
        """Of cases that say nothing more: no padding, no dilation, unknown buffers, 1 GHz."""
        nothing = np.zeros((n, 2), np.int64)
        return cls(nothing, nothing + 1, nothing, np.ones(n))


@dataclass(frozen=True)
class Baseline:
    """Another implementation of a model's figures, to compare speeds with.

    `price_each` prices every one of the mappings, one at a time; `mappings` is how many of them take seconds,
    not minutes.
    """

    mappings: int
    price_each: Callable[[MappingBatch], object]


class CostModel(AnyCostModel):
    """Prices mappings of a layer onto an accelerator.

    A subclass needs a `name` and `evaluate`; see `dse.core.cost_model.AnyCostModel` for what it may declare.
    """

    domain = "clustered"
    output_halo: ClassVar[bool] = False
    """Whether a PE's buffer must hold an output tile with the halo of its inputs (a quirk of MAESTRO)."""

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of n `mappings`, a CostBatch of n rows, on `threads` threads (no figure depends on them).

        `mappings.rows` is an int64 array (n, 27), `mappings.named()["inner.tile.K"]` a column of it and
        `mappings[0]` the first as a Mapping. It raises on no mapping: one that cannot be priced is a row that
        is not valid, with a reason.
        """
        raise NotImplementedError(f"cost model {self.name!r} has no evaluate")

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """`evaluate` for one layer and accelerator; a model that is faster when made ready overrides it."""

        def price(rows: IntArray) -> CostBatch:
            found = self.evaluate(layer, accelerator, MappingBatch(rows))
            if not isinstance(found, CostBatch) or len(found.cycles) != len(rows):
                raise TypeError(
                    f"evaluate of cost model {self.name!r} must return a CostBatch with a row for each of "
                    f"{len(rows)} mappings, got {shorten(found)}"
                )
            return found

        return price

    def prepared_each(self, layer: Layer, accelerator: Accelerator) -> PriceEach:
        """`prepared` for rows that each bring a machine, all of whose figures may differ.

        A row on a machine costs what it costs with that machine as the accelerator. This prices them machine
        by machine; a model that can price them together overrides it.
        """

        # A model that is made ready for a machine may know what it has been asked there.
        ready: dict[bytes, PriceRows] = {}

        def price(rows: IntArray, machines: IntArray) -> CostBatch:
            costs = CostBatch.zeros(len(rows))
            different, which = np.unique(machines, axis=0, return_inverse=True)
            for number, machine in enumerate(different):
                places, key = np.flatnonzero(which.reshape(-1) == number), machine.tobytes()
                if key not in ready:
                    ready[key] = self.prepared(layer, accelerator.with_machine(machine))
                found = ready[key](rows[places])
                for name, column in costs.columns().items():
                    column[places] = getattr(found, name)
            return costs

        return price

    def needed_area(self, layer: Layer, machines: IntArray, rows: IntArray, costs: CostBatch) -> FloatArray:
        """The area (n,) of the hardware that each mapping needs, in `units["area"]`: the objective `area`.

        `machines` (n or 1, figures) have the MACHINE_FIGURES, `rows` are a MappingBatch's and `costs` what
        they cost. A model that has no other area than its column's gives that.
        """
        return costs.area

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> Detail | None:
        """What the figures of one mapping are made of; None if it is not valid, or nothing is explained."""
        return None

    def buffer_needs(
        self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping
    ) -> dict[str, dict[str, int]] | None:
        """Elements that L1 and L2 must hold, by tensor, double buffering included; None if unknown."""
        detail = self.detail(layer, accelerator, mapping)
        return detail.buffers if detail else None

    def price_cases(
        self,
        layers: IntArray,
        hardware: IntArray,
        rows: IntArray,
        extras: CaseExtras | None = None,
        *,
        threads: int = 1,
    ) -> CostBatch:
        """The costs of n cases, each with its layer and hardware, as `Cases` of a domain has them.

        A layer or a machine that cannot be is a row that is not valid.
        """
        raise NotImplementedError(f"cost model {self.name!r} prices no cases")

    def refusal(self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> str:
        """Why it refuses a mapping, in words of its own; empty where the reason says it all."""
        return ""

    def baselines(self, layer: Layer, accelerator: Accelerator) -> Mapping[str, Baseline]:
        """Other implementations of the same figures, by name, that `dse bench cost` compares with."""
        return {}
