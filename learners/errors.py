"""What is wrong with what a user hands over, in one line."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Iterable

INT64_MAX = 2**63 - 1

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


class InputError(ValueError):
    """The input is wrong: the message is one line that says what, where and what would be right."""


def unknown_name(kind: str, name: object, known: Iterable[str], where: str = "") -> InputError:
    """An error for a name that is not among `known`, with the nearest one suggested."""
    names = list(known)
    near = difflib.get_close_matches(str(name)[:100], names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    return InputError(f"unknown {kind} {short_repr(name)}{f' in {where}' if where else ''}; {hint}")


def whole_number(value: object, what: str, *, least: int = 1, most: int = INT64_MAX) -> int:
    """`value` as an int within [least, most]; booleans, floats and text are refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{what} must be a whole number, got {short_repr(value)}")
    number = int(value.__index__())
    if not least <= number <= most:
        bound = f"at least {least}" if number < least else f"at most {most}"
        raise InputError(f"{what} must be {bound}, got {short_repr(number)}")
    return number


def positive_number(value: object, what: str) -> float:
    """`value` as a finite float above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number, got {short_repr(value)}")
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{what} must be a finite number above 0, got {short_repr(value)}")
    return float(value)


def short_repr(value: object) -> str:
    """A value as messages show it: its repr, in one line and not long."""
    text = " ".join(_short.repr(value).split())
    return text if text.isprintable() else ascii(value)[:60]
