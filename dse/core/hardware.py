"""Figures of the hardware that a space leaves open: the values to choose from, as a user writes them.

A table has a list of values for a figure, or a range: `{from = 8, to = 64, step = 8}`. On a command line it
is `NAME=128,256,512`, or `NAME=8:64:8` for a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any

from dse.support.errors import InputError, shorten
from dse.support.validation import check_keys

MAX_CHOICES = 4096
"""Values of one figure."""

FIGURE_PREFIX = "hardware."
"""The gene of the figure `l1_size` is called `hardware.l1_size`."""

Values = tuple[float, ...]
Check = Callable[[object, str], float]
"""From a value and its name in messages to the number that it is; InputError if it cannot be the figure's."""


def read_choices(given: object, where: str, check: Check) -> Values:
    """The values of one figure, from a list or a table with `from`, `to` and `step`: ascending, distinct."""
    if isinstance(given, Mapping):
        return _read_range(given, where, check)
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_CHOICES:
        raise InputError(
            f"{where} must be a list of 1 to {MAX_CHOICES:,} values, or a table with from, to and step, "
            f"got {shorten(given)}"
        )
    values = tuple(check(value, where) for value in given)
    for before, after in pairwise(values):
        if after <= before:
            raise InputError(f"{where} must hold ascending values, each once, got {after:g} after {before:g}")
    return values


def _read_range(given: Mapping[str, Any], where: str, check: Check) -> Values:
    check_keys(given, where, required=("from", "to", "step"))
    ends = {key: check(given[key], f"{where}.{key}") for key in ("from", "to")}
    first, last = (Decimal(repr(ends[key])) for key in ("from", "to"))
    step = given["step"]
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < float("inf"):
        raise InputError(f"{where}.step must be a number above 0, got {shorten(step)}")
    if last < first:
        raise InputError(f"{where}.to must be at least from, got {ends['to']:g} and {ends['from']:g}")
    each = Decimal(repr(step))
    count = int((last - first) / each) + 1
    if count > MAX_CHOICES:
        raise InputError(f"{where} has more than {MAX_CHOICES:,} values; take a larger step")
    whole = all(isinstance(value, int) for value in (given["from"], step))
    numbers = (first + place * each for place in range(count))
    return tuple(check(int(number) if whole else float(number), where) for number in numbers)


def parse_hardware(texts: Iterable[str]) -> dict[str, Any]:
    """The table that texts such as `l1_size=128,256` and `levels.Buffer.size=8:64:8` stand for."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not (name and equals and values):
            raise InputError(
                f"--hardware must read FIGURE=VALUE,VALUE or FIGURE=FROM:TO:STEP, like l1_size=128,256, "
                f"got {shorten(text)}"
            )
        table, (*folders, last) = found, _parts(name)
        for folder in folders:
            table = table.setdefault(folder, {})
            if not isinstance(table, dict):
                raise InputError(f"--hardware names {folder} and {name}; keep one of them")
        if last in table:
            raise InputError(f"--hardware names {name} twice")
        table[last] = _values(values, name)
    return found


def _parts(name: str) -> list[str]:
    """`levels.Buffer.size` in its three parts; the name of a level may have dots of its own."""
    head, _, rest = name.partition(".")
    level, dot, last = rest.rpartition(".")
    return [head, level, last] if dot else name.split(".")


def _values(text: str, name: str) -> Any:
    if ":" not in text:
        return [_number(value, name) for value in text.split(",")]
    ends = text.split(":")
    if len(ends) != 3:
        raise InputError(f"--hardware {name}: a range must read FROM:TO:STEP, got {shorten(text)}")
    return {key: _number(value, name) for key, value in zip(("from", "to", "step"), ends, strict=True)}


def _number(text: str, name: str) -> float:
    text = text.strip()
    try:
        if len(text) < 20:
            return int(text) if text.isascii() and text.isdigit() else float(text)
    except ValueError:
        pass
    raise InputError(f"--hardware {name}: values must be numbers, got {shorten(text)}")
