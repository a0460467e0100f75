"""The figures that there are to minimise, and what objectives make of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray
from dse.support.numerics.losses import ENTRIES, loss_value

MODEL_UNITS = "model units"


@dataclass(frozen=True)
class Figure:
    """A number to have less of: `column` of the costs times `times`, and over the clock if it is `clocked`.

    `unit` is that of its values, or what the cost model says (see `dse.core.cost_models.unit_of`). A
    network's is the sum of its layers' where it `adds_up`, else the largest of them. A figure `of_need` takes
    for the area that of the hardware that the mapping needs (see `CostModel.needed_area`), any other the
    model's own column. One that is `only_of` a model is that model's alone.
    """

    name: str
    unit: str
    meaning: str
    column: str
    times: float = 1.0
    clocked: bool = False
    adds_up: bool = False
    of_need: bool = False
    only_of: str | None = None


FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure("latency", "s", "run time of the layer", "cycles", clocked=True, adds_up=True),
        Figure("energy", "J", "energy of one run of the layer", "energy_nj", 1e-9, adds_up=True),
        Figure(
            "area", MODEL_UNITS, "area of the PEs and buffers that the mapping needs", "area", of_need=True
        ),
        Figure("area_maestro", MODEL_UNITS, "area that MAESTRO itself prints", "area", only_of="maestro"),
        Figure(
            "power", MODEL_UNITS, "power of the accelerator (maestro: of what the mapping needs)", "power"
        ),
    )
}
"""Every figure that there is: a line here is all that a new one takes."""

NAMED = {"edp": ("energy * latency", "energy times run time")}
"""Products that have a name of their own: their canonical form, and what they mean."""


Weighted = tuple[tuple[Figure, float], ...]
"""Figures, each with a number, in the order of their names."""


@dataclass(frozen=True)
class Objective:
    """A product of powers of figures, `terms`, or else a sum of them, `weights`; `name` is canonical.

    Where a figure is above one of `caps`, a point is not feasible, and its loss is inf.
    """

    name: str
    terms: Weighted
    weights: Weighted = ()
    caps: Weighted = ()

    @property
    def figures(self) -> dict[str, Figure]:
        """All that it depends on, by name."""
        return {figure.name: figure for figure, _ in (*self.terms, *self.weights, *self.caps)}

    @property
    def exponents(self) -> dict[str, float]:
        """The exponents by figure; none of a sum."""
        return {figure.name: exponent for figure, exponent in self.terms}

    @property
    def degree(self) -> float:
        """What of all figures, were they twice as large, it would be 2 to the power of."""
        return sum(self.exponents.values()) or 1.0

    @property
    def product(self) -> str:
        """What it is a product or a sum of, also where it has a name."""
        found = " * ".join(_raised(figure.name, exponent) for figure, exponent in self.terms)
        return found or " + ".join(
            figure.name if weight == 1 else f"{weight!r} * {figure.name}" for figure, weight in self.weights
        )

    @property
    def uncapped(self) -> Objective:
        """The same without its caps."""
        return replace(self, name=name_of(self.product), caps=())

    @property
    def unit(self) -> str:
        """The unit of its values, as in `J s^2`."""
        return self.unit_in({})

    def unit_in(self, units: Mapping[str, str]) -> str:
        """The same where figures have `units` of a cost model's own."""
        # A sum is in the unit of its first figure, and what weighs the others is in units of their own.
        terms = self.terms or ((self.weights[0][0], 1.0),)
        found = [(units.get(figure.name, figure.unit), exponent) for figure, exponent in terms]
        if found[1:] or found[0][1] != 1:
            found = [(f"({unit})" if re.search(r"[ \d]", unit) else unit, power) for unit, power in found]
        return " ".join(_raised(unit, exponent) for unit, exponent in found if unit)

    @property
    def of_need(self) -> bool:
        """Whether one of its figures is of the hardware that the mapping needs."""
        return any(figure.of_need for figure in self.figures.values())

    @property
    def only_of(self) -> str | None:
        """The cost model that alone has one of its figures, if there is one."""
        return next((figure.only_of for figure in self.figures.values() if figure.only_of), None)

    @property
    def of_energy_alone(self) -> bool:
        """Whether cycles decide between points of the same loss; elsewhere energy does."""
        return self.exponents.keys() == {"energy"}

    @property
    def adds_up(self) -> bool:
        """Whether each of its figures is a sum over a network's layers."""
        return all(figure.adds_up for figure, _ in (*self.terms, *self.weights))

    @property
    def part_that_adds_up(self) -> Objective:
        """The product of those of its figures that do; 1 without any."""
        return Objective("", tuple(term for term in self.terms if term[0].adds_up))

    def rows(self, columns: Iterable[str]) -> FloatArray:
        """Its terms (n, ENTRIES) as `loss_value` takes them, for columns in this order.

        Those of figures that are clocked are to be over the clock.
        """
        order = list(columns)

        def row(
            figure: Figure, exponent: float, times: float = 1.0, weight: float = 0.0, cap: float = np.inf
        ) -> tuple[float, ...]:
            return order.index(figure.column), figure.times * times, exponent, weight, cap

        found = [row(figure, exponent) for figure, exponent in self.terms]
        # The first figure of a sum is its factor, and the others come beside it.
        found += [row(figure, 1.0, times=weight) for figure, weight in self.weights[:1]]
        found += [row(figure, 0.0, weight=weight) for figure, weight in self.weights[1:]]
        found += [row(figure, 0.0, cap=cap) for figure, cap in self.caps]
        return np.array(found, dtype=np.float64).reshape(len(found), ENTRIES)

    def value(self, costs: Any, hertz: Any) -> Any:
        """Its value where `costs` has the figures' columns, as numbers or as arrays; feasible or not."""
        columns = {
            one.column: getattr(costs, one.column) / (hertz if one.clocked else 1)
            for one in self.figures.values()
        }
        found = loss_value(replace(self, caps=()).rows(columns), list(columns.values()))
        for figure, cap in self.caps:
            found = np.where(columns[figure.column] * figure.times > cap, np.inf, found)
        return found

    def total(self, figures: Mapping[str, float]) -> float:
        """Its value of figures that are given by name, in their units, such as a network's sums; uncapped."""
        columns = [figures[name] for name in self.figures]
        given = [replace(one, column=name, times=1.0) for name, one in self.figures.items()]
        named = dict(zip(self.figures, given, strict=True))
        plain = Objective(
            "",
            tuple((named[one.name], exponent) for one, exponent in self.terms),
            tuple((named[one.name], weight) for one, weight in self.weights),
        )
        return float(loss_value(plain.rows(self.figures), columns))


def name_of(product: str) -> str:
    """What a product is called: by the name that it has, or as it is written."""
    return next((name for name, (form, _) in NAMED.items() if form == product), product)


def _raised(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}^{exponent:g}"
