"""Settings of searchers that had other names before: read by both names, recorded by the first.

A searcher says in its class variable `aliases` which former name stands for which of its settings. Whoever
writes a setting may use either name; whatever shows settings uses the new one. A record's identity, from
which its fingerprint and its random draws come, keeps the former name: a new name changes no search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.search.abilities import abilities_of
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.search.searcher import Searcher


def current_settings(
    made: Searcher | type[Searcher], settings: Mapping[str, Any] | None, where: str = ""
) -> dict[str, Any]:
    """Settings by the names that they have now; InputError where one is given by two names."""
    aliases, found = abilities_of(made).aliases, {}
    for name, value in (settings or {}).items():
        current = aliases.get(name, name)
        if current in found or (current != name and current in (settings or {})):
            place = f"{where}: " if where else ""
            raise InputError(f"{place}{name!r} is an earlier name of {current!r}; give one of them")
        found[current] = value
    return found


def recorded_settings(searcher: Searcher) -> dict[str, Any]:
    """All settings of a searcher, defaults included, by the names that records have them under."""
    first = first_names(abilities_of(searcher).aliases)
    settings: dict[str, Any] = dataclasses.asdict(searcher)  # type: ignore[call-overload]
    return {first.get(name, name): value for name, value in settings.items()}


def first_names(aliases: Mapping[str, str]) -> dict[str, str]:
    """By a setting's name now, the first one that it had."""
    return {current: former for former, current in reversed(list(aliases.items()))}
