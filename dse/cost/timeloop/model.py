"""The cost model as the registry knows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dse.cost.protocol import CostModel
from dse.cost.timeloop.cases import CaseReader, price_cases


class Timeloop(CostModel):
    """Prices cases that each bring a layer, a machine of any number of levels and a mapping."""

    name = "timeloop"
    hierarchical = True
    prices_strides = True

    def price_lines(self, lines: Iterable[tuple[str, str]], *, detail: bool = False) -> list[dict[str, Any]]:
        """See CostModel; with `detail`, the accesses by level and tensor and the energy by level."""
        reader = CaseReader()
        return price_cases([reader.read(text, where) for where, text in lines], detail=detail)
