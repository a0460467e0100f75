"""Small changes of plain data that a strict reader has to say no to, or at least no traceback."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

from dse.support.toml import toml_key, toml_value

Place = tuple[str | int, ...]
ODD: tuple[Any, ...] = ("x", "", 7, -1, 2.5, True, [], {}, [1, "x"], {"zzz": 1}, 10**25, math.nan, math.inf)


def toml(data: dict[str, Any]) -> str:
    """Plain data as TOML, a key a line."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in data.items())


def with_one_more_key(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with a key `zzz` in one of its tables, and where."""
    for place in _tables(data):
        changed = copy.deepcopy(data)
        _at(changed, place)["zzz"] = 1
        yield ".".join(map(str, (*place, "zzz"))), changed


def with_a_letter_too_many(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with one of its keys misspelt, and which."""
    for place in _tables(data):
        for key in _at(data, place):
            changed = copy.deepcopy(data)
            table = _at(changed, place)
            named = {f"{name}x" if name == key else name: value for name, value in table.items()}
            table.clear()
            table.update(named)
            yield ".".join(map(str, (*place, key))), changed


def with_an_odd_value(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with one of its values replaced by something else, and which."""
    for place in _tables(data):
        for key in _at(data, place):
            for value in ODD:
                changed = copy.deepcopy(data)
                _at(changed, place)[key] = value
                yield f"{'.'.join(map(str, (*place, key)))} = {value!r}", changed


def _tables(data: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(data, dict):
        yield place
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from _tables(value, (*place, key))


def _at(data: Any, place: Place) -> Any:
    for part in place:
        data = data[part]
    return data
