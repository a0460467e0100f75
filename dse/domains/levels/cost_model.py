"""What a cost model of mappings onto machines of levels is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dse.core.cost_model import AnyCostModel, Detail
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping

PriceRows = Callable[..., CostBatch]
"""A cost model made ready for one layer and machine: rows of its Layout in, perhaps `threads`, costs out."""


class LevelsCostModel(AnyCostModel):
    """Prices mappings of a layer onto a machine of any number of levels."""

    domain = "levels"

    def prepared(self, layer: Layer, machine: Machine) -> PriceRows:
        """How mappings of the layer onto the machine are priced, as rows of its Layout."""
        raise NotImplementedError(f"cost model {self.name!r} has no prepared")

    def detail(self, layer: Layer, machine: Machine, mapping: HierarchyMapping) -> Detail | None:
        """What the figures of one mapping are made of; None if it is not valid, or nothing is explained."""
        return None

    def price_lines(self, lines: Iterable[tuple[str, str]], *, detail: bool = False) -> list[dict[str, Any]]:
        """The results of cases in a language of the model's own, as plain data in the lines' order.

        A line comes with its place for messages; InputError at the first one that is malformed. With
        `detail`, a result says what its figures are made of.
        """
        raise NotImplementedError(f"cost model {self.name!r} prices no lines")

    @classmethod
    def machines(cls) -> Mapping[str, str]:
        """The machines of any number of levels that come along: by name, what each is in a sentence."""
        return {}

    def load_machine(self, name: str) -> Machine:
        """The machine of any number of levels that a user names, by a preset or a file."""
        raise NotImplementedError(f"cost model {self.name!r} has no machines")
