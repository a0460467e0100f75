"""Figures of a machine's levels that are genes: what a level holds, fans out to and moves in a cycle.

What an access costs stays as the machine says it, whatever the size: of a level whose `access_pj` is "by
size" that is the energy at the size in its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, log2
from typing import Any

from dse.core.hardware import Values, read_choices
from dse.domains.levels.machine import MAX_INSTANCES, MAX_WORDS, UNEVEN, Bandwidth, Energy, Level, Machine
from dse.domains.levels.uneven import with_nests
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table, positive_number, whole_number

SIZE, FAN_OUT = "size", "fan_out"
BANDWIDTHS = {"bandwidth": "shared", "read_bandwidth": "read", "write_bandwidth": "write"}
FIGURES = (SIZE, FAN_OUT, *BANDWIDTHS)
"""By the keys of a level's table in a machine's file."""
WHOLE = {SIZE: partial(whole_number, most=MAX_WORDS), FAN_OUT: partial(whole_number, most=MAX_INSTANCES)}
"""The checks of those that are whole numbers."""
ENERGIES = ("read_pj", "write_pj", "update_pj")
ACCESS, LEAK = "access_pj", "leak_pj"


@dataclass(frozen=True)
class Opened:
    """What of a machine is open: `figures` are a level's name, one of FIGURES, and its values, ascending."""

    choices: tuple[tuple[str, str, Values], ...] = ()

    @property
    def hardware(self) -> tuple[tuple[str, Values], ...]:
        """The figures that are genes, by names such as `levels.Buffer.size`, with their values."""
        return tuple((f"levels.{level}.{figure}", values) for level, figure, values in self.choices)

    @cached_property
    def figures(self) -> dict[str, Values]:
        """The same as a table."""
        return dict(self.hardware)

    @property
    def name(self) -> str | None:
        """The name of the space that it makes: `default` if nothing is open."""
        return None if self.choices else "default"

    def opened(self) -> tuple[str | None, dict[str, Values]]:
        """The space with a name from which it differs in open figures only, and those."""
        return "default", self.figures

    def to_dict(self) -> dict[str, Any]:
        """It as plain data, which `read_opened` reads."""
        levels: dict[str, dict[str, list[float]]] = {}
        for level, figure, values in self.choices:
            levels.setdefault(level, {})[figure] = list(values)
        return {"hardware": {"levels": levels}} if levels else {}

    def of_machine(self, machine: Machine) -> Opened:
        """The same in the order of a machine's levels. InputError for a level that it has not."""
        names = [level.name for level in (machine.even or machine).levels]
        for level, _, _ in self.choices:
            if level not in names:
                raise unknown_name("level", level, names, "hardware.levels")
        order = sorted(self.choices, key=lambda entry: (names.index(entry[0]), FIGURES.index(entry[1])))
        return Opened(tuple(order))

    def machine(self, machine: Machine, values: tuple[float, ...]) -> Machine:
        """The machine with a value, in words, for each figure that is open."""
        return machine_with(machine, dict(zip(self.figures, values, strict=True)))

    def most_capable(self, machine: Machine) -> Machine:
        """The machine with the largest of each."""
        return self.machine(machine, tuple(values[-1] for _, _, values in self.choices))

    def nearest(self, machine: Machine) -> tuple[int, ...]:
        """For each figure the index of the value nearest to the machine's own, by ratio."""
        said = machine.stated or machine
        levels = {level.name: level for level in (said.even or said).levels}
        found = []
        for name, figure, values in self.choices:
            own = _figure(levels[name], figure)
            apart = [abs(log2(value) - log2(own)) if own < inf else -value for value in values]
            found.append(apart.index(min(apart)))
        return tuple(found)


NOTHING = Opened()
"""Every figure is the machine's own."""


def read_opened(given: object, where: str = "space") -> Opened:
    """What is open, from `default` or a table as `{hardware = {levels = {Buffer = {size = [64, 128]}}}}`."""
    if isinstance(given, Opened):
        return given
    if given == "default" or getattr(given, "name", None) == "default":
        return NOTHING
    if not isinstance(given, Mapping):
        raise InputError(
            f"{where}: of a machine of levels the machine says what the space is; expected default, or a "
            f"table with hardware, got {shorten(getattr(given, 'name', given))}"
        )
    check_keys(given, where, required=(), optional=("hardware",))
    return with_levels(NOTHING, given.get("hardware", {}), f"{where}.hardware")


def with_levels(opened: Opened, given: object, where: str = "hardware") -> Opened:
    """What is open with more figures, from a table as `{levels = {Buffer = {size = [64, 128]}}}`."""
    entry = check_table(given, where)
    check_keys(entry, where, required=(), optional=("levels",))
    found = {(level, figure): values for level, figure, values in opened.choices}
    for level, figures in check_table(entry.get("levels", {}), f"{where}.levels").items():
        place = f"{where}.levels.{level}"
        check_keys(check_table(figures, place), place, required=(), optional=FIGURES)
        for figure, values in figures.items():
            found[level, figure] = read_choices(values, f"{place}.{figure}", WHOLE.get(figure, positive_rate))
    return Opened(tuple((level, figure, values) for (level, figure), values in found.items()))


def positive_rate(value: object, what: str) -> float:
    """Words a cycle, whole as it is written where it is whole."""
    number = positive_number(value, what)
    return value if isinstance(value, int) else number


def _figure(level: Level, figure: str) -> float:
    """A figure of a level; inf where it is not limited."""
    if figure == FAN_OUT:
        return level.fan_out
    own = level.capacity if figure == SIZE else getattr(level.bandwidth, BANDWIDTHS[figure])
    return inf if own is None else max(own, 0.5)


def machine_with(machine: Machine, values: Mapping[str, float], name: str | None = None) -> Machine:
    """The machine with other figures, in words, by names such as `levels.Buffer.size`, and perhaps a name."""
    if machine.stated:
        return machine_with(machine.stated, values, name).of_widths(machine.widths)
    if machine.even:
        return with_nests(machine_with(machine.even, values, name), UNEVEN)
    own: dict[str, Any] = {key: float(values[key]) for key in ("mac_pj", "clock_ghz") if key in values}
    levels = []
    for level in machine.levels:
        front = f"levels.{level.name}."
        given = {key.removeprefix(front): value for key, value in values.items() if key.startswith(front)}
        levels.append(_level_with(level, given))
    return replace(machine, name=name or machine.name, levels=tuple(levels), **own)


def _level_with(level: Level, given: Mapping[str, float]) -> Level:
    """A level with other figures, by the keys of its table."""
    fields = {SIZE: "capacity", FAN_OUT: "fan_out", "block": "block", "cluster": "cluster"}
    changed: dict[str, Any] = {field: int(given[key]) for key, field in fields.items() if key in given}
    rates = {name: given.get(key, getattr(level.bandwidth, name)) for key, name in BANDWIDTHS.items()}
    energies = {key: given.get(key, given.get(ACCESS, getattr(level.energy, key))) for key in ENERGIES}
    return replace(
        level,
        bandwidth=Bandwidth(**rates),
        energy=Energy(**energies),
        leak_pj=given.get(LEAK, level.leak_pj),
        **changed,
    )
