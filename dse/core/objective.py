"""What a search minimises: the table of objectives, and the figure that each makes of a cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dse.domains.clustered.accelerator import Accelerator
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import unknown


class Costs(Protocol):
    """Arrays of equal length: a CostBatch or Evaluations."""

    @property
    def cycles(self) -> IntArray: ...
    @property
    def energy_nj(self) -> FloatArray: ...
    @property
    def power(self) -> FloatArray: ...
    @property
    def area(self) -> FloatArray: ...


@dataclass(frozen=True)
class Objective:
    """A figure to minimise: `code` is its number in the kernel, `unit` that of its values.

    Area and power are in whatever the cost model gives: `dse.core.cost_models.unit_of` says what that is.
    `figure(cycles, energy_nj, power, area, hertz)` takes numbers or arrays. An objective `of_need` takes for
    the area that of the hardware that the mapping needs (see `CostModel.needed_area`), any other the model's
    own column. One that is `only_of` a model is that model's alone.
    """

    name: str
    code: int
    unit: str
    meaning: str
    figure: Callable[[Any, Any, Any, Any, float], Any]
    of_need: bool = False
    only_of: str | None = None


LATENCY, ENERGY, EDP, AREA, POWER = range(5)

MODEL_UNITS = "model units"

OBJECTIVES: dict[str, Objective] = {
    "latency": Objective(
        "latency", LATENCY, "s", "run time of the layer",
        lambda cycles, energy_nj, power, area, hertz: cycles / hertz,
    ),
    "energy": Objective(
        "energy", ENERGY, "J", "energy of one run of the layer",
        lambda cycles, energy_nj, power, area, hertz: energy_nj * 1e-9,
    ),
    "edp": Objective(
        "edp", EDP, "J s", "energy times run time",
        lambda cycles, energy_nj, power, area, hertz: energy_nj * 1e-9 * (cycles / hertz),
    ),
    "area": Objective(
        "area", AREA, MODEL_UNITS, "area of the PEs and buffers that the mapping needs",
        lambda cycles, energy_nj, power, area, hertz: area, of_need=True,
    ),
    "area_maestro": Objective(
        "area_maestro", AREA, MODEL_UNITS, "area that MAESTRO itself prints",
        lambda cycles, energy_nj, power, area, hertz: area, only_of="maestro",
    ),
    "power": Objective(
        "power", POWER, MODEL_UNITS, "power of the accelerator (maestro: of what the mapping needs)",
        lambda cycles, energy_nj, power, area, hertz: power,
    ),
}  # fmt: skip


def objective_named(name: str) -> Objective:
    """The objective of that name; an unknown one is an InputError that suggests the nearest."""
    if name not in OBJECTIVES:
        raise unknown("objective", name, OBJECTIVES)
    return OBJECTIVES[name]


def objectives_of(model: str) -> dict[str, Objective]:
    """The objectives that there are under the cost model of that name."""
    return {name: item for name, item in OBJECTIVES.items() if item.only_of in (None, model)}


def clock_hertz(accelerator: Accelerator) -> float:
    """Clock cycles a second."""
    return accelerator.clock_ghz * 1e9


def loss(costs: Costs, accelerator: Accelerator, objective: str) -> FloatArray:
    """The objective's figure for every cost, as an array of length n; feasibility is not looked at."""
    figure = objective_named(objective).figure(
        costs.cycles, costs.energy_nj, costs.power, costs.area, clock_hertz(accelerator)
    )
    return np.asarray(figure, dtype=np.float64)
