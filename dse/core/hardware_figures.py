"""What a domain says of its hardware's figures: which there are, and what more of each does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dse.core.cost_model import AnyCostModel
from dse.core.evaluations import Evaluations
from dse.core.problem import AnyProblem, Hardware

CAPACITY, RATE, ENERGY, STRUCTURE = "capacity", "rate", "energy", "structure"
"""Kinds of figures. With more of a capacity every mapping costs what it did, and more of them fit. With more
of a rate no mapping takes more cycles, at the same energy. Energy is a sum of counts, none negative, times
the energies, and nothing else depends on them. Of a structure nothing is known."""

TWICE, HALF = 2.0, 0.5


@dataclass(frozen=True)
class HardwareFigure:
    """A figure: of which kind, the machine's own value (None: unlimited), its range, whether it is whole.

    `by_size` is the formula that `"by size"` stands for, where there is one. A resource has a `step`: times
    this, it is better by a half or twice (`dse explain --what-if`); figures of a `group` change together.
    """

    kind: str
    own: float | None
    least: float
    most: float
    whole: bool = False
    by_size: str | None = None
    step: float | None = None
    group: str = ""


class HardwareFigures(Protocol):
    """A domain's figures of hardware, for spaces of hardware."""

    def figures(self, hardware: Any, model: AnyCostModel) -> Mapping[str, HardwareFigure]:
        """The figures of hardware under a cost model, by names such as `l1_size` and `levels.Buffer.size`."""

    def formulas(self, model: AnyCostModel, word_bits: int) -> Mapping[str, Mapping[str, str]]:
        """Known formulas of `area_mm2` and `leakage_mw`, by name, in the names of figures."""

    def with_figures(
        self, hardware: Any, model: AnyCostModel, values: Mapping[str, float], name: str
    ) -> tuple[Hardware, AnyCostModel]:
        """The hardware of that name with other figures, and the cost model that prices it."""

    def price(self, problem: AnyProblem, mappings: Sequence[Any]) -> Evaluations:
        """What mappings cost on the hardware of a problem, in its space or not."""

    def needs(self, problem: AnyProblem, mapping: Any) -> Mapping[str, int]:
        """What a mapping needs of each capacity."""
