"""The cost model `chains`: sums over a chain's layers, and its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dse.core.cost_model import AnyCostModel
from dse.core.cost_models import cost_model
from dse.core.evaluations import Criteria, Evaluations
from dse.core.model_settings import ModelSettings
from dse.support.arrays import IntArray

INNER = "timeloop"
"""The cost model that prices each layer."""


@dataclass(frozen=True)
class ChainSettings(ModelSettings):
    """Whether `intermediates` stay on chip `whole`, or may be handed on in `shared` tiles too."""

    label: ClassVar[str] = "settings of cost model 'chains'"
    main: ClassVar[str] = "intermediates"

    intermediates: Literal["whole", "shared"] = "whole"


class ChainsModel(AnyCostModel):
    """Sums over a chain's layers, each priced by INNER beside what stays on chip while it is run."""

    name = "chains"
    domain = "chains"
    version = "2"
    """Of `shared`: what a group reads and what it makes have their room at once. Of `whole`: points are drawn
    as under `shared`."""
    prices_networks = True
    settings_type = ChainSettings
    settings: ChainSettings

    def __init__(self, settings: ChainSettings | None = None) -> None:
        self.settings = settings or ChainSettings()
        self.version = f"2, {INNER} {cost_model(INNER).version}"


class Sums:
    """What `count` points cost, added up layer by layer."""

    def __init__(self, count: int, criteria: Criteria) -> None:
        self._criteria = criteria
        self._columns = {name: np.zeros(count, np.int64) for name in ("cycles", "l1_size", "l2_size")}
        self._energy, self._reasons = np.zeros(count), np.zeros(count, np.uint8)

    def add(self, rows: IntArray, priced: Evaluations, runs: int, taken: int, broken: int) -> None:
        """Add so many runs of a layer to those rows, beside what takes room; `broken` says why it cannot."""
        columns, reasons = self._columns, self._reasons
        columns["cycles"][rows] += runs * priced.cycles
        self._energy[rows] += runs * priced.energy_nj
        room = "l2_size" if len(self._criteria.capacities) > 1 else "l1_size"
        for name in ("l1_size", "l2_size"):
            need = getattr(priced, name) + (taken if name == room else 0)
            columns[name][rows] = np.maximum(columns[name][rows], need)
        found = np.where(priced.reason == 0, broken, priced.reason)
        reasons[rows] = np.where(reasons[rows] == 0, found, reasons[rows])

    def priced(self, macs: int) -> Evaluations:
        """All of it."""
        count = len(self._energy)
        nothing = np.zeros(count)
        found = Evaluations(
            **self._columns,
            energy_nj=self._energy,
            power=nothing,
            area=nothing.copy(),
            macs=np.full(count, macs, np.int64),
            loss=nothing.copy(),
            reason=self._reasons,
            criteria=self._criteria,
        )
        return replace(found, loss=np.where(self._reasons == 0, found.objective_value, np.inf))
