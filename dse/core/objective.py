"""What a search minimises: figures of a cost, products of their powers, and several of those at once.

In words an objective is a figure (`latency`), a product of powers (`energy * latency^2`), or several of these
with commas between (`latency, energy`). Its canonical form has figures and objectives in the order of the
alphabet, each once, and the names of NAMED: `latency*energy**1` is `edp`. Exponents are decimal numbers above
0, as a figure that is to be large is nothing to minimise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray
from dse.support.errors import InputError, shorten, unknown
from dse.support.numerics.powers import product_of_powers

LEAST, MOST, DECIMALS = Decimal("0.01"), Decimal(10), 4
"""Exponents: smaller ones change nothing, larger ones leave the range of a float."""
LONGEST = 200

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


@dataclass(frozen=True)
class Objective:
    """A product of powers of figures: `terms` in the order of the figures' names; `name` is canonical."""

    name: str
    terms: tuple[tuple[Figure, float], ...]

    @property
    def exponents(self) -> dict[str, float]:
        """The exponents by figure."""
        return {figure.name: exponent for figure, exponent in self.terms}

    @property
    def product(self) -> str:
        """What it is a product of, also where it has a name."""
        return " * ".join(_raised(figure.name, exponent) for figure, exponent in self.terms)

    @property
    def unit(self) -> str:
        """The unit of its values, as in `J s^2`."""
        return self.unit_in({})

    def unit_in(self, units: Mapping[str, str]) -> str:
        """The same where figures have `units` of a cost model's own."""
        found = [(units.get(figure.name, figure.unit), exponent) for figure, exponent in self.terms]
        if found[1:] or found[0][1] != 1:
            found = [(f"({unit})" if re.search(r"[ \d]", unit) else unit, power) for unit, power in found]
        return " ".join(_raised(unit, exponent) for unit, exponent in found if unit)

    @property
    def of_need(self) -> bool:
        """Whether one of its figures is of the hardware that the mapping needs."""
        return any(figure.of_need for figure, _ in self.terms)

    @property
    def only_of(self) -> str | None:
        """The cost model that alone has one of its figures, if there is one."""
        return next((figure.only_of for figure, _ in self.terms if figure.only_of), None)

    @property
    def of_energy_alone(self) -> bool:
        """Whether cycles decide between points of the same loss; elsewhere energy does."""
        return self.exponents.keys() == {"energy"}

    @property
    def adds_up(self) -> bool:
        """Whether each of its figures is a sum over a network's layers."""
        return all(figure.adds_up for figure, _ in self.terms)

    @property
    def part_that_adds_up(self) -> Objective:
        """The product of those of its figures that do; 1 without any."""
        return Objective("", tuple(term for term in self.terms if term[0].adds_up))

    def rows(self, columns: Iterable[str]) -> FloatArray:
        """Its terms (figures, 3) as `product_of_powers` takes them, for columns in this order.

        Those of figures that are clocked are to be over the clock.
        """
        order = list(columns)
        return np.array(
            [(order.index(figure.column), figure.times, exponent) for figure, exponent in self.terms],
            dtype=np.float64,
        )

    def value(self, costs: Any, hertz: Any) -> Any:
        """Its value where `costs` has the figures' columns, as numbers or as arrays; feasible or not."""
        figures = [figure for figure, _ in self.terms]
        columns = [getattr(costs, one.column) / (hertz if one.clocked else 1) for one in figures]
        return product_of_powers(self.rows(one.column for one in figures), columns)

    def total(self, figures: Mapping[str, float]) -> float:
        """Its value of figures that are given by name, in their units, such as a network's sums."""
        terms = [(place, 1.0, exponent) for place, (_, exponent) in enumerate(self.terms)]
        columns = [figures[figure.name] for figure, _ in self.terms]
        return float(product_of_powers(np.array(terms), columns))


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """The objectives that a text names, in their canonical order; InputError for a text that names none."""
    if not isinstance(text, str):
        raise InputError(f"objective must be text such as 'edp' or 'energy * latency^2', got {shorten(text)}")
    return _parsed(text)


def canonical_objective(text: str) -> str:
    """The canonical form of an objective, or of several."""
    return ", ".join(objective.name for objective in parse_objectives(text))


def objective_named(text: str) -> Objective:
    """The objective that a text names. InputError for an unknown one, or for several."""
    found = parse_objectives(text)
    refuse_several(text)
    return found[0]


def refuse_several(text: str) -> None:
    """InputError for several objectives, where points have to have one loss."""
    if "," in text:
        names = [name.strip() for name in text.split(",")]
        raise InputError(
            f"objective {shorten(text)} is {len(names)} objectives, and one is minimised here: take one of "
            f"them, or a product of their powers such as {shorten(' * '.join(names))}"
        )


def objectives_under(text: str, model: str) -> tuple[Objective, ...]:
    """The objectives that a text names. InputError where one is of another cost model than this."""
    found = parse_objectives(text)
    for one in found:
        if one.only_of not in (None, model):
            raise InputError(f"objective {one.name!r} is of cost model {one.only_of!r} only")
    return found


def known_objective(text: str) -> Objective | None:
    """The objective that a text names, or None for one that is a domain's own."""
    try:
        return objective_named(text)
    except InputError:
        return None


@cache
def _parsed(text: str) -> tuple[Objective, ...]:
    if len(text) > LONGEST:
        raise InputError(f"objective must be at most {LONGEST} letters long, got {len(text):,}")
    found = {one.name: one for one in map(_product, text.split(","))}
    if len(found) <= text.count(","):
        raise InputError(f"objective {shorten(text)} has an objective twice")
    _refuse_two_of_a_column(text, (figure for one in found.values() for figure, _ in one.terms))
    return tuple(found[name] for name in sorted(found))


def _product(text: str) -> Objective:
    """The objective in one product."""
    powers: dict[str, Decimal] = {}
    for factor in text.replace("**", "^").split("*"):
        name, raised, exponent = (part.strip() for part in factor.partition("^"))
        if not name:
            raise InputError(
                f"objective {shorten(text)} lacks a figure; expected one of {', '.join(OBJECTIVES)}, "
                "or a product such as 'energy * latency^2'"
            )
        power = _exponent(exponent, name, text) if raised else Decimal(1)
        for figure, inner in _figures_of(name, text).items():
            powers[figure] = powers.get(figure, Decimal(0)) + power * inner
    for name, power in powers.items():
        _refuse_beyond(power, name, text, str(power))
    found = Objective("", tuple((FIGURES[name], float(power)) for name, power in sorted(powers.items())))
    by_form = {form: name for name, (form, _) in NAMED.items()}
    return replace(found, name=by_form.get(found.product, found.product))


def _raised(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}^{exponent:g}"


def _figures_of(name: str, text: str) -> dict[str, Decimal]:
    """The powers of figures that a name stands for."""
    if name in NAMED:
        return {figure: Decimal(1) for figure in NAMED[name][0].split(" * ")}
    if name in FIGURES:
        return {name: Decimal(1)}
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise InputError(
            f"objective {shorten(text)} is no product of powers: it needs names with * and ^ alone, as in "
            "'energy * latency^2'"
        )
    if name == text.strip():
        raise unknown("objective", name, OBJECTIVES)
    raise unknown("figure", name, OBJECTIVES, f"objective {shorten(text)}")


def _exponent(written: str, name: str, text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20}", written):
        _refuse_beyond(Decimal(0), name, text, written)
    power = Decimal(written)
    _refuse_beyond(power, name, text, written)
    return power


def _refuse_beyond(power: Decimal, name: str, text: str, written: str) -> None:
    if not (LEAST <= power <= MOST and power == round(power, DECIMALS)):
        raise InputError(
            f"objective {shorten(text)}: the exponent of {name} must be a number from {LEAST} to {MOST} with "
            f"at most {DECIMALS} decimals, got {shorten(written)}"
        )


def _refuse_two_of_a_column(text: str, figures: Iterable[Figure]) -> None:
    """See that no two figures are read from one column: a record has each column once."""
    found: dict[str, str] = {}
    for figure in figures:
        if found.setdefault(figure.column, figure.name) != figure.name:
            one, other = sorted((found[figure.column], figure.name))
            raise InputError(f"objective {shorten(text)}: {one} and {other} do not go together; take one")


OBJECTIVES: dict[str, Objective] = {
    one.name: one for one in sorted(map(_product, (*FIGURES, *NAMED)), key=lambda one: not one.adds_up)
}
"""The objectives that have a name, those that every mapping changes first."""


def meaning_of(name: str) -> str:
    """What an objective of OBJECTIVES is, in words."""
    return NAMED[name][1] if name in NAMED else FIGURES[name].meaning


def objectives_of(model: str) -> dict[str, Objective]:
    """The objectives with a name that there are under the cost model of that name."""
    return {name: item for name, item in OBJECTIVES.items() if item.only_of in (None, model)}
