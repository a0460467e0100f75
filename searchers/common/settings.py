"""Checks of settings that several searchers have."""

from __future__ import annotations

from typing import Annotated

from dse.support.errors import InputError, shorten
from dse.support.schema import Limits

MAX_POINTS = 100_000
"""Points that a searcher may hold or draw at a time: beyond it, memory ends before the first sample."""
MAX_DATA = 10_000
"""Samples that a Gaussian process may learn from: its matrix is their square, its time their cube."""
MAX_UNITS = 4096
"""Units of a hidden layer."""
MAX_REPEATS = 1000
"""Times that anything may be done between two samples: epochs, retries, moves."""
MAX_SAMPLES = 10_000_000
"""Samples that anything may last."""

Count = Annotated[int, Limits(ge=1, le=MAX_POINTS)]
Repeats = Annotated[int, Limits(ge=1, le=MAX_REPEATS)]
Samples = Annotated[int, Limits(ge=0, le=MAX_SAMPLES)]
Share = Annotated[float, Limits(ge=0, le=1)]
Finite = Annotated[float, Limits(allow_inf_nan=False)]
Positive = Annotated[float, Limits(gt=0, allow_inf_nan=False)]
Weight = Annotated[float, Limits(ge=0, allow_inf_nan=False)]
Layers = Annotated[tuple[Annotated[int, Limits(ge=1, le=MAX_UNITS)], ...], Limits(max_length=8)]


def check_probability(value: float, what: str) -> float:
    """`value` if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{what} must be between 0 and 1, got {shorten(value)}")
    return value


def check_share(value: float, what: str) -> float:
    """`value` if it is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(f"{what} must be above 0 and at most 1, got {shorten(value)}")
    return value
