"""Checks of settings that several searchers have."""

from __future__ import annotations

from dse.support.errors import InputError, shorten


def probability(value: float, what: str) -> float:
    """`value` if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{what} must be between 0 and 1, got {shorten(value)}")
    return value


def share(value: float, what: str) -> float:
    """`value` if it is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(f"{what} must be above 0 and at most 1, got {shorten(value)}")
    return value
