"""A space of hardware: parameters with their values, figures that follow from them, and what limits both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from dse.core.cost_model import AnyCostModel
from dse.core.hardware_figures import CAPACITY, ENERGY, RATE, STRUCTURE, HardwareFigure, HardwareFigures
from dse.core.problem import Hardware
from dse.domains.codesign.formulas import Formula, Interval
from dse.support.errors import InputError

Box = tuple[tuple[int, int], ...]
"""For each parameter the first and the last index of its values: all machines between."""
Point = tuple[int, ...]

LIMITED = {"area_mm2": "mm2", "leakage_mw": "mW"}
"""What a machine may be limited in, and its unit."""
OLD_NAMES = {"power_mw": "leakage_mw"}
"""What it was called before. Records go on to have the old name, as that is a part of what they are."""
MAX_ROOTS = 4096
MAX_KEPT = 10_000
"""Boxes whose figures are kept, for the next question."""


@dataclass(frozen=True)
class Priced:
    """A machine, and the cost model that prices mappings onto it."""

    hardware: Hardware
    model: AnyCostModel


@dataclass(frozen=True)
class HardwareSpace:
    """`parameters` have values, ascending; figures of the `base` follow from them, and others, by `formulas`.

    `limits` are upper limits of LIMITED, and `measures` the formulas of those of LIMITED that have one.
    """

    name: str
    base: Hardware
    model: AnyCostModel
    domain: HardwareFigures
    parameters: Mapping[str, tuple[float, ...]]
    formulas: Mapping[str, Formula]
    measures: Mapping[str, Formula]
    limits: Mapping[str, float]

    def __post_init__(self) -> None:
        names = {*self.parameters, *self.figures}
        for formula in (*self.formulas.values(), *self.measures.values()):
            for name in formula.names:
                if name not in names:
                    known = ", ".join(self.parameters)
                    raise InputError(
                        f"{formula.where}: unknown name {name!r}; expected a parameter ({known}) or a figure"
                    )
        _ = self._order
        if self.roots_count > MAX_ROOTS:
            raise InputError(
                f"hardware space {self.name!r}: {self.roots_count:,} combinations of "
                f"{', '.join(self._named(self.structural))} are too many, as each is looked at; at most "
                f"{MAX_ROOTS:,}"
            )
        for root in self.roots():
            self._check(root)

    # What there is

    @cached_property
    def figures(self) -> Mapping[str, HardwareFigure]:
        """The figures of the base, by name."""
        return self.domain.figures(self.base, self.model)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(self.parameters)

    @cached_property
    def whole(self) -> Box:
        """All machines."""
        return tuple((0, len(values) - 1) for values in self.parameters.values())

    @cached_property
    def machines(self) -> int:
        """How many machines there are, those that break a limit among them."""
        return self.count(self.whole)

    @staticmethod
    def count(box: Box) -> int:
        """How many machines a box has."""
        return math.prod(last - first + 1 for first, last in box)

    @cached_property
    def structural(self) -> tuple[int, ...]:
        """The parameters that a structure depends on: nothing is known of machines that differ in one."""
        return self.parameters_of(STRUCTURE)

    @cached_property
    def costly(self) -> frozenset[int]:
        """The parameters that an energy depends on."""
        return frozenset(self.parameters_of(ENERGY))

    @cached_property
    def varied(self) -> dict[str, tuple[str, ...]]:
        """The figures that have formulas, by kind."""
        return {
            kind: tuple(name for name in self.formulas if self.figures[name].kind == kind)
            for kind in (CAPACITY, RATE, ENERGY, STRUCTURE)
        }

    @property
    def roots_count(self) -> int:
        """How many combinations there are of the values of structural parameters."""
        values = list(self.parameters.values())
        return math.prod(len(values[place]) for place in self.structural)

    def roots(self) -> Iterator[Box]:
        """A box for each combination of the values of structural parameters."""
        ranges = [
            [(index, index) for index in range(first, last + 1)]
            if place in self.structural
            else [(first, last)]
            for place, (first, last) in enumerate(self.whole)
        ]
        yield from product(*ranges)

    # As the hardware of a problem

    @property
    def clock_ghz(self) -> float:
        """The base's clock; a machine may have its own."""
        return self.base.clock_ghz

    @property
    def cycle_seconds(self) -> float:
        """How long a cycle of the base takes."""
        return self.base.cycle_seconds

    @property
    def summary(self) -> str:
        """How many machines there are, and what they differ in."""
        limits = "".join(f", {name} at most {limit:g}" for name, limit in self.limits.items())
        return f"{self.machines:,} machines by {', '.join(self.names)}{limits}, cost model {self.model.spec}"

    def called(self, given: str) -> str:
        """How a heading calls it that was named so."""
        return given

    # Machines

    def values(self, point: Point) -> dict[str, float]:
        """The values of the parameters at a point."""
        return {name: self.parameters[name][index] for name, index in zip(self.names, point, strict=True)}

    def machine(self, point: Point) -> Priced:
        """The machine at a point. InputError where its figures cannot be a machine's."""
        ends = self.intervals(box_of_point(point))
        return self.with_figures({name: least for name, (least, _) in ends.items()})

    def relaxed(self, box: Box) -> Priced:
        """A machine that no machine of the box is better than, for any mapping; the box has one structure.

        It has the largest of each capacity and rate, and the least of each energy.
        """
        ends = self.intervals(box)
        return self.with_figures(
            {name: ends[name][self.figures[name].kind in (CAPACITY, RATE)] for name in self.formulas}
        )

    def intervals(self, box: Box) -> dict[str, Interval]:
        """Bounds of every figure that has a formula, over a box."""
        found = self._kept.get(box)
        if found is None:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            found = self._kept[box] = self._intervals(box)
        return found

    @cached_property
    def _kept(self) -> dict[Box, dict[str, Interval]]:
        """What `intervals` has said of boxes: a search asks again and again."""
        return {}

    def _intervals(self, box: Box) -> dict[str, Interval]:
        known = self._given(box)
        for name in self._order:
            known[name] = self._ends(self.formulas[name], known)
        return {name: known[name] for name in self.formulas}

    def _given(self, box: Box) -> dict[str, Interval]:
        """The least and the greatest values of the parameters."""
        given = zip(self.parameters.items(), box, strict=True)
        return {name: (values[first], values[last]) for (name, values), (first, last) in given}

    def measured(self, box: Box) -> dict[str, Interval]:
        """Bounds of what a box's machines measure, by the names of LIMITED that have a formula."""
        known = self.intervals(box) | self._given(box)
        return {name: self._ends(formula, known) for name, formula in self.measures.items()}

    def broken(self, box: Box) -> str:
        """The limit that every machine of a box breaks, with figures; or nothing."""
        for name, (least, _) in self.measured(box).items():
            if least > self.limits.get(name, math.inf):
                kind, unit = name.split("_")[0], LIMITED[name]
                return f"{kind} {least:.6g} of {self.limits[name]:g} {unit}"
        return ""

    def allowed(self, box: Box) -> bool:
        """Whether every machine of a box keeps the limits."""
        return all(most <= self.limits.get(name, math.inf) for name, (_, most) in self.measured(box).items())

    def described(self, point: Point) -> dict[str, Any]:
        """A machine as plain data: its parameters, its figures that have formulas, and what it measures."""
        box = box_of_point(point)
        return {
            "parameters": self.values(point),
            "figures": {name: ends[0] for name, ends in self.intervals(box).items()},
            **{name: ends[0] for name, ends in self.measured(box).items()},
        }

    def written(self) -> dict[str, Any]:
        """All that makes the space, as plain data."""
        return {
            "base": self.base.to_dict(),
            "cost_model": self.model.spec,
            "parameters": {name: list(values) for name, values in self.parameters.items()},
            "formulas": {name: formula.text for name, formula in self.formulas.items()},
            "measures": {name: formula.text for name, formula in self.measures.items()},
            "limits": dict(self.limits),
        }

    def to_dict(self) -> dict[str, Any]:
        """The same, as records have it: what has another name now has its old one."""
        old = {new: name for name, new in OLD_NAMES.items()}
        found = self.written()
        return found | {
            key: {old.get(name, name): value for name, value in found[key].items()}
            for key in ("measures", "limits")
        }

    # How

    def with_figures(self, values: Mapping[str, float]) -> Priced:
        """The base with other figures. InputError where they cannot be a machine's."""
        for name, value in values.items():
            if self.figures[name].whole and value != int(value):
                raise InputError(f"{self.formulas[name].where} must be whole, got {value:g}")
        return Priced(*self.domain.with_figures(self.base, self.model, values, self.name))

    def _ends(self, formula: Formula, known: Mapping[str, Interval]) -> Interval:
        """Bounds of a formula; a figure without one of its own is the base's."""
        found = {}
        for name in formula.names:
            if name in known:
                found[name] = known[name]
                continue
            own = self.figures[name].own
            if own is None:
                raise InputError(f"{formula.where}: {name} is not limited in the base; give it a value")
            found[name] = (own, own)
        return formula.interval(found)

    @cached_property
    def _order(self) -> tuple[str, ...]:
        """The figures that have formulas, each after those that it follows from."""
        placed: dict[str, None] = {}

        def place(name: str, before: tuple[str, ...]) -> None:
            if name in before:
                raise InputError(f"{self.formulas[name].where} follows from itself, by {', '.join(before)}")
            for other in self.formulas[name].names:
                if other in self.formulas and other not in self.parameters and other not in placed:
                    place(other, (*before, name))
            placed.setdefault(name)

        for name in self.formulas:
            place(name, ())
        return tuple(placed)

    def parameters_of(self, kind: str) -> tuple[int, ...]:
        """The places of the parameters that figures of a kind follow from."""
        reached: dict[str, set[str]] = {}
        for name in self._order:
            names = self.formulas[name].names
            reached[name] = {*names, *(deep for one in names for deep in reached.get(one, ()))}
        wanted = {name for one in self.varied[kind] for name in reached[one]}
        return tuple(place for place, name in enumerate(self.names) if name in wanted)

    def _named(self, places: Sequence[int]) -> list[str]:
        return [self.names[place] for place in places]

    def _check(self, root: Box) -> None:
        """See that no figure leaves its range."""
        for name, (low, high) in self.intervals(root).items():
            figure = self.figures[name]
            if low < figure.least or high > figure.most:
                value = low if low < figure.least else high
                raise InputError(
                    f"{self.formulas[name].where} must be from {figure.least:g} to {figure.most:g}, got "
                    f"{value:.6g}"
                )
        self.measured(root)


def box_of_point(point: Point) -> Box:
    """The box of one machine."""
    return tuple((index, index) for index in point)
