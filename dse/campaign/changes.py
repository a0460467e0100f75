"""What differs between a cell as it was and as a campaign's file has it now, in words that its user knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.search.searcher import shown_settings
from dse.support.errors import shorten

MAX_NAMED = 6
"""Differences that a message names; of the others it says how many there are."""

_ABSENT = object()


def changes(before: Mapping[str, Any], now: Mapping[str, Any], searcher: str) -> str:
    """The differences of two cells' identities: `budget 5,000 -> 20,000; genetic.population 40 -> 60`.

    `searcher` is what the campaign calls it. Empty where nothing differs.
    """
    found = list(_differences(_by_shown_names(before), _by_shown_names(now), ""))
    named = [f"{_name(path, searcher)} {_shown(old)} -> {_shown(new)}" for path, old, new in found]
    more = f"; and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return "; ".join(named[:MAX_NAMED]) + more


def _by_shown_names(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    if "settings" not in identity or "searcher" not in identity:
        return identity
    return {**identity, "settings": shown_settings(identity["searcher"], identity["settings"])}


def only_grown(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nothing but the budget differs, which is larger now."""
    return bool(before["budget"] < now["budget"] and {**before, "budget": now["budget"]} == now)


def _differences(before: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*before, *now)):
            old, new = before.get(key, _ABSENT), now.get(key, _ABSENT)
            yield from _differences(old, new, f"{path}.{key}" if path else str(key))
    elif before != now:
        yield path, before, now


def _name(path: str, searcher: str) -> str:
    """A setting by its searcher, a version by what it is of, a part of the problem by its own name."""
    part, _, rest = path.partition(".")
    if part == "settings":
        return f"{searcher}.{rest}" if rest else searcher
    return rest if part in ("versions", "problem") and rest else path


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) and value.isprintable() and len(value) < 60 else shorten(value)
