"""The constants of a cost model: numbers above 0, by name, that a user may replace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from dse.core.model_settings import ModelSettings
from dse.support.errors import InputError, shorten
from dse.support.validation import positive_number

RANGE = (1e-30, 1e30)
"""Least and greatest constant: beyond them, figures would leave the range of a float."""


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
