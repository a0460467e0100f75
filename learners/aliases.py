"""Settings of learners that had other names before: what is written by these is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learners.errors import InputError


def current_settings(settings: Mapping[str, Any], aliases: Mapping[str, str], where: str) -> dict[str, Any]:
    """Settings by the names that they have now. `aliases` are these by the former names.

    InputError where one is given by two names.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        current = aliases.get(name, name)
        if current in found or (current != name and current in settings):
            raise InputError(f"{where}: {name!r} is an earlier name of {current!r}; give one of them")
        found[current] = value
    return found
