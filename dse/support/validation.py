"""Checking values that Python code or a line of JSON hands over, with messages that teach.

Files go through `dse.support.schema`; lines by the hundred thousand, and programs that read no file, do not
wait for pydantic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dse.support.errors import InputError, shorten, unknown_name

INT64_MAX = 2**63 - 1


def whole_number(value: object, what: str, *, least: int = 1, most: int = INT64_MAX) -> int:
    """`value` as an int within [least, most]; booleans, floats and text are refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{what} must be a whole number, got {shorten(value)}")
    number = int(value.__index__())
    if number < least:
        raise InputError(f"{what} must be at least {least}, got {shorten(number)}")
    if number > most:
        raise InputError(f"{what} must be at most {most_in_words(most)}, got {shorten(number)}")
    return number


def most_in_words(most: int) -> str:
    """An upper bound as messages name it."""
    return "what 64 bits hold" if most == INT64_MAX else str(most)


def positive_number(value: object, what: str) -> float:
    """`value` as a finite float above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number, got {shorten(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= 0:
        raise InputError(f"{what} must be a finite number above 0, got {shorten(value)}")
    return number


def check_table(value: object, what: str) -> Mapping[str, Any]:
    """`value` as a mapping from names to values."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a table of names and values, got {shorten(value)}")
    return value


def check_keys(
    value: Mapping[str, Any], what: str, *, required: Iterable[str], optional: Iterable[str] = ()
) -> None:
    """Every required key is there and no key is unknown."""
    required, optional = list(required), list(optional)
    for key in value:
        if key not in required and key not in optional:
            raise unknown_name("key", key, required + optional, what)
    missing = [key for key in required if key not in value]
    if missing:
        raise InputError(f"{what} lacks {', '.join(repr(key) for key in missing)}")
