"""The constants of a cost model: numbers above 0, by name, that a user may replace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from dse.support.errors import InputError, shorten
from dse.support.schema import Schema, read
from dse.support.toml import read_toml
from dse.support.validation import positive_number

RANGE = (1e-30, 1e30)
"""Least and greatest constant: beyond them, figures would leave the range of a float."""


@dataclass(frozen=True)
class ModelConstants(Schema):
    """A model subclasses it with a field a constant, each a float with a default."""

    def __post_init__(self) -> None:
        for item in fields(self):
            number = positive_number(getattr(self, item.name), f"constants: {item.name}")
            if not RANGE[0] <= number <= RANGE[1]:
                raise InputError(
                    f"constants: {item.name} must be from {RANGE[0]:g} to {RANGE[1]:g}, got {shorten(number)}"
                )
            object.__setattr__(self, item.name, number)

    @classmethod
    def from_dict(cls, data: object, where: str = "constants") -> Self:
        """The constants in parsed TOML: those that are named, the defaults for the rest."""
        return read(cls, data, where, "constants")

    @classmethod
    def load(cls, path: str) -> Self:
        """The constants in a TOML file, such as `dram_pj = 640`; what it does not name keeps its default."""
        where = f"constants file {path!r}"
        return cls.from_dict(read_toml(path, where), where)

    @classmethod
    def parse(cls, text: str, where: str) -> Self:
        """The constants in text such as `dram_pj=640.0, mac_pj=1.0`."""
        found: dict[str, Any] = {}
        for part in text.split(","):
            name, _, value = (piece.strip() for piece in part.partition("="))
            if name in found:
                raise InputError(f"{where}: {name} is there twice")
            try:
                found[name] = float(value)
            except ValueError:
                raise InputError(f"{where}: {shorten(part.strip())} must be NAME=NUMBER") from None
        return cls.from_dict(found, where)

    @property
    def replaced(self) -> dict[str, float]:
        """Those that are not the defaults, by name."""
        values = {item.name: (getattr(self, item.name), item.default) for item in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}
