"""Energies with their source: published figures of a process, and how those in between follow from them.

A table has figures of MACs, or of multiplications and additions, and of accesses to registers, SRAM and DRAM,
of a write one of its own where it is another. Of other widths a multiplication and a MAC take energy by the
square of their bits, all else in proportion to them. SRAM of a size between two figures lies on the line
through them in logarithms, and beyond them goes with the square root of its size. A MAC without a figure is a
multiplication of its operands and an addition of SUM_BITS.

To another process and voltage energies go by Stillmaker and Baas, "Scaling equations for the accurate
prediction of CMOS device performance from 180 nm to 7 nm", Integration 58 (2017): by the ratio of a V^2 + b V
+ c of both, with their coefficients for high-performance transistors. DRAM, which is another chip, does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from dse.support.errors import InputError, unknown_name
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import is_toml, read_toml

MAC, REGISTER, SRAM, DRAM = "mac", "register", "sram", "dram"
MACS = (MAC, "multiply", "add")
ACCESSES = (REGISTER, SRAM, DRAM)
KINDS = (*MACS, *ACCESSES)
SUM_BITS = 32
SCALING = {
    180: (0.0, 24.64, -17.98),
    130: (7.171, -6.709, 2.904),
    90: (4.762, -4.781, 2.092),
    65: (3.755, -4.398, 1.975),
    45: (1.018, -0.3107, 0.1539),
    32: (0.8367, -0.4341, 0.1701),
    20: (0.373, -0.1582, 0.04104),
    16: (0.2958, -0.1241, 0.03024),
    14: (0.2363, -0.09675, 0.02239),
    10: (0.2068, -0.09311, 0.02375),
    7: (0.1776, -0.09097, 0.02447),
}
"""By process in nm: a, b and c."""
VOLTS = (0.5, 1.8)

_Text = Annotated[str, Limits("text", min_length=1)]
_Count = Annotated[int, Limits(ge=1, le=2**50)]
_Above = Annotated[float, Limits("a finite number above 0", gt=0, le=1e12, allow_inf_nan=False)]


@dataclass(frozen=True)
class Figure(Schema):
    """One published energy of so many bits, of SRAM that holds so many bytes."""

    what: _Text
    bits: _Count
    pj: _Above
    bytes: _Count | None = None
    note: str = ""
    write_pj: _Above | None = None

    def __str__(self) -> str:
        of = f" in {self.bytes:,} bytes" if self.bytes else ""
        return f"{self.what} of {self.bits} bit{'s' * (self.bits > 1)}{of}"

    def written(self) -> Figure:
        """The figure of a write, the same where none is said."""
        return (
            self if self.write_pj is None else replace(self, what=f"write to {self.what}", pj=self.write_pj)
        )

    def times(self, ratio: float) -> Figure:
        """So many times the energy."""
        write_pj = None if self.write_pj is None else self.write_pj * ratio
        return replace(self, pj=self.pj * ratio, write_pj=write_pj)


@dataclass(frozen=True)
class _File(Schema):
    source: _Text
    process_nm: _Above
    figures: Annotated[list[Figure], Limits("one or more figures", min_length=1)] = field(
        default_factory=list
    )
    times_a_mac: bool = False
    volts: _Above | None = None


@dataclass(frozen=True)
class Energy:
    """An energy in pJ, and what it was made of."""

    pj: float
    source: str


@dataclass(frozen=True)
class Technology:
    """The figures of one table; where they are `times_a_mac`, they are no pJ but multiples of a MAC's."""

    name: str
    source: str
    process_nm: float
    figures: tuple[Figure, ...]
    times_a_mac: bool = False
    volts: float | None = None

    def at(self, process_nm: float, volts: float) -> Technology:
        """The table for another process and voltage. InputError where nobody says how it scales."""
        if self.times_a_mac or self.volts is None:
            raise InputError(f"technology {self.name} has no energies at a voltage that could be scaled")
        for node in (self.process_nm, process_nm):
            if node not in SCALING:
                known = ", ".join(map(str, SCALING))
                raise InputError(f"process_nm must be one of {known} for energies to scale, got {node:g}")
        if not VOLTS[0] <= volts <= VOLTS[1]:
            raise InputError(f"volts must be from {VOLTS[0]} to {VOLTS[1]}, got {volts:g}")
        ratio = _switching(process_nm, volts) / _switching(self.process_nm, self.volts)
        figures = tuple(one if one.what == DRAM else one.times(ratio) for one in self.figures)
        name = f"{self.name} at {process_nm:g} nm and {volts:g} V"
        return replace(self, name=name, process_nm=process_nm, volts=volts, figures=figures)

    def mac(self, bits: int) -> Energy:
        """The energy of a MAC of operands of so many bits. InputError where the table says none."""
        if self.times_a_mac:
            raise InputError(f"technology {self.name} has energies in times of a MAC: give mac_pj")
        if any(one.what == MAC for one in self.figures):
            return _scaled(self._of(MAC), bits, lambda ratio: ratio**2)
        parts = [
            _scaled(self._of("multiply"), bits, lambda ratio: ratio**2),
            _scaled(self._of("add"), SUM_BITS, lambda ratio: ratio),
        ]
        return Energy(sum(part.pj for part in parts), " + ".join(part.source for part in parts))

    def access(self, kind: str, bits: int, size: float, mac_pj: float) -> tuple[Energy, Energy]:
        """The energies of a read and of a write of so many bits, of SRAM of `size` bytes."""
        read = self._of(kind)
        found = [self._access(figures, bits, size) for figures in (read, [one.written() for one in read])]
        return self._times(found[0], mac_pj), self._times(found[1], mac_pj)

    @staticmethod
    def _access(figures: list[Figure], bits: int, size: float) -> Energy:
        if figures[0].bytes is None:
            return _scaled(figures, bits, lambda ratio: ratio)
        points = sorted((one.bytes or 0, one) for one in figures)
        below = [one for at, one in points if at <= size][-1:]
        above = [one for at, one in points if at > size][:1]
        used = (*below, *above)
        if below and above:
            low, high = used[0].pj / used[0].bits, used[1].pj / used[1].bits
            first, last = used[0].bytes or 1, used[1].bytes or 1
            share = math.log(size / first) / math.log(last / first)
            a_bit, rule = low * (high / low) ** share, " and "
        else:
            a_bit, rule = used[0].pj / used[0].bits * math.sqrt(size / (used[0].bytes or 1)), ""
        return Energy(a_bit * bits, rule.join(f"{one.pj:g} for {one}" for one in used))

    def _of(self, kind: str) -> list[Figure]:
        found = [one for one in self.figures if one.what == kind]
        if not found:
            has = ", ".join(dict.fromkeys(one.what for one in self.figures))
            raise InputError(f"technology {self.name} has no figure of {kind}, only of {has}: say it in pJ")
        return found

    def _times(self, found: Energy, mac_pj: float) -> Energy:
        if not self.times_a_mac:
            return found
        return Energy(found.pj * mac_pj, f"{mac_pj:g} pJ of a MAC times {found.source}")


def _scaled(figures: list[Figure], bits: int, rule: Callable[[float], float]) -> Energy:
    """From the figure with the nearest width, by ratio."""
    nearest = min(figures, key=lambda one: abs(math.log(one.bits / bits)))
    return Energy(nearest.pj * rule(bits / nearest.bits), f"{nearest.pj:g} for {nearest}")


def _switching(process_nm: float, volts: float) -> float:
    a, b, c = SCALING[int(process_nm)]
    return a * volts**2 + b * volts + c


def technology_names() -> list[str]:
    """The tables that come along, by name."""
    folder = files("dse.core.technologies")
    return sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if is_toml(item.name))


def load_technology(name: str) -> Technology:
    """The table of a name, or in a TOML file. InputError in one line where there is none, or it is wrong."""
    if name in technology_names():
        path = str(files("dse.core.technologies") / f"{name}.toml")
        return _made(name, read_toml(path, f"technology {name!r}"), f"technology {name!r}")
    if not is_toml(name):
        raise unknown_name("technology", name, [*technology_names(), "FILE.toml"])
    where = f"technology file {name!r}"
    return _made(Path(name).stem, read_toml(name, where), where)


def _made(name: str, data: Any, where: str) -> Technology:
    found = read_schema(_File, data, where)
    seen: dict[tuple[str, int, int | None], int] = {}
    kinds = {figure.what for figure in found.figures}
    for place, figure in enumerate(found.figures):
        if (first := seen.setdefault((figure.what, figure.bits, figure.bytes), place)) != place:
            raise InputError(f"{where}: figures[{place}]: {figure} is figures[{first}] already; keep one")
        if found.times_a_mac and figure.what in MACS:
            raise InputError(
                f"{where}: figures[{place}]: {figure.what} is of no use where times_a_mac is true: all are "
                "multiples of the machine's mac_pj"
            )
        if MAC in kinds and figure.what in MACS[1:]:
            raise InputError(
                f"{where}: figures[{place}]: {figure.what} is of no use beside a figure of {MAC}; keep one"
            )
        if figure.what not in KINDS:
            raise unknown_name("what", figure.what, KINDS, f"{where}: figures[{place}]")
        if (figure.what == SRAM) != (figure.bytes is not None):
            raise InputError(f"{where}: figures[{place}]: bytes are of sram, and sram has them")
        if figure.write_pj is not None and figure.what not in ACCESSES:
            raise InputError(f"{where}: figures[{place}]: write_pj is of {', '.join(ACCESSES)}")
    return Technology(
        name, found.source, found.process_nm, tuple(found.figures), found.times_a_mac, found.volts
    )
