"""What installed packages offer under an entry-point group: found by name, and loaded or refused in words."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from dse.support.errors import InputError, unknown


def names_of(entries: Iterable[EntryPoint]) -> tuple[str, ...]:
    """The names of entries, each once, in alphabetical order."""
    return tuple(sorted({entry.name for entry in entries}))


def entry_named(name: str, entries: Iterable[EntryPoint], kind: str, where: str = "") -> EntryPoint:
    """The entry of that name. InputError if nobody offers it (`where` one looked), or if two packages do."""
    entries = tuple(entries)
    found = {entry.value: entry for entry in entries if entry.name == name}
    if not found:
        raise unknown(kind, name, names_of(entries), where)
    if len(found) > 1:
        owners = " and ".join(sorted(map(distribution, found.values())))
        raise InputError(f"{kind} {name!r} is offered by {owners}; uninstall all but one")
    return next(iter(found.values()))


def load_entry(entry: EntryPoint, kind: str) -> tuple[Any, str]:
    """What the entry stands for, and in words where it is from; InputError if it cannot be loaded."""
    origin = f"{kind} {entry.name!r} (entry point {entry.value!r} of {distribution(entry)})"
    try:
        return entry.load(), origin
    except Exception as error:
        # Without the place that raised it: that is somewhere in importlib.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{origin} cannot be loaded: {reason}") from error


def distribution(entry: EntryPoint) -> str:
    """The package that offers the entry, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed distribution"


def origins(name: str, entries: Iterable[EntryPoint]) -> dict[str, str]:
    """The versions of the packages that offer the name; empty if none is installed."""
    return {entry.dist.name: entry.dist.version for entry in entries if entry.name == name and entry.dist}
