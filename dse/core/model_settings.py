"""What a user may set of a cost model: a frozen dataclass, read from a file, a table or a model's own words.

The words are the model's name and, in brackets, an inline table of TOML: `loopnest(dram_pj=640.0)`,
`command(run="./price.sh", timeout=5.0)`. Where a model has a `main` setting, `command:./price.sh` does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from dse.core.calibration import without_calibration
from dse.support.errors import InputError, shorten
from dse.support.schema import Schema, read_schema
from dse.support.toml import read_toml, toml_value
from dse.support.validation import positive_number

RANGE = (1e-30, 1e30)
"""Least and greatest constant: beyond them, figures would leave the range of a float."""


@dataclass(frozen=True)
class ModelSettings(Schema):
    """A model subclasses it with a field a setting. It is `label` in messages."""

    label: ClassVar[str] = "settings"
    main: ClassVar[str] = ""
    """The setting that is meant by what follows the model's name and a colon; none if empty."""
    neutral: ClassVar[tuple[str, ...]] = ()
    """Settings on which no figure depends, such as how many processes price."""

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """The settings in parsed TOML: those that are named, the defaults for the rest."""
        return read_schema(cls, data, where or cls.label, cls.label)

    @classmethod
    def load(cls, path: str) -> Self:
        """The settings in a TOML file, such as `dram_pj = 640`; what it does not name keeps its default."""
        where = f"{cls.label} file {path!r}"
        data = without_calibration(read_toml(path, where), where)
        if not data:
            names = ", ".join(item.name for item in fields(cls))
            raise InputError(f"{where} is empty: set one of {names}, or leave the file out")
        return cls.from_dict(data, where)

    @classmethod
    def parse(cls, text: str, where: str) -> Self:
        """The settings in text such as `dram_pj=640.0, mac_pj=1.0`: an inline table of TOML."""
        try:
            found = tomllib.loads(f"settings = {{{text}}}") if text.strip() else {}
        except (ValueError, RecursionError):
            found = {}
        if list(found) != ["settings"] or not isinstance(found["settings"], Mapping):
            raise InputError(
                f"{where}: {shorten(text)} must be NAME=VALUE, NAME=VALUE, "
                'each name once, and text in "quotes"'
            )
        return cls.from_dict(found["settings"], where)

    def beside(self, folder: Path) -> Self:
        """The settings as seen from a file in `folder`: a path that is there is meant."""
        return self

    @property
    def replaced(self) -> dict[str, Any]:
        """Those that are not the defaults, by name."""
        values = {item.name: (getattr(self, item.name), item.default) for item in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def words(self, name: str, *, neutral: bool = True) -> str:
        """The model `name` with these settings, in words that are read back; perhaps without neutral ones."""
        left_out = () if neutral else self.neutral
        given = [f"{key}={toml_value(value)}" for key, value in self.replaced.items() if key not in left_out]
        return f"{name}({', '.join(given)})" if given else name

    @classmethod
    def required(cls) -> list[str]:
        """The settings that have no default."""
        return [item.name for item in fields(cls) if item.default is MISSING]


@dataclass(frozen=True)
class ModelConstants(ModelSettings):
    """A model subclasses it with a field a constant, each a float with a default."""

    label: ClassVar[str] = "constants"

    def __post_init__(self) -> None:
        for item in fields(self):
            number = positive_number(getattr(self, item.name), f"constants: {item.name}")
            if not RANGE[0] <= number <= RANGE[1]:
                raise InputError(
                    f"constants: {item.name} must be from {RANGE[0]:g} to {RANGE[1]:g}, got {shorten(number)}"
                )
            object.__setattr__(self, item.name, number)
