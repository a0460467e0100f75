"""What installed packages offer under an entry-point group: found by name, and loaded or refused in words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from functools import lru_cache
from importlib.metadata import (
    Distribution,
    EntryPoint,
    EntryPoints,
    PackageNotFoundError,
    entry_points,
    version,
)
from typing import Any

from dse.support.errors import InputError, exception_text, unknown_name


def installed_entries(group: str) -> EntryPoints:
    """The entries of a group that the packages installed by now offer."""
    return _installed(group, tuple((place, _changed(place)) for place in sys.path))


@lru_cache(maxsize=64)
def _installed(group: str, places: tuple[tuple[str, int], ...]) -> EntryPoints:
    # Looking through all that is installed takes milliseconds, and every search asks for its searcher.
    return entry_points(group=group)


def _changed(place: str) -> int:
    """When a folder was changed last, as it is whenever a package comes or goes; 0 for what is none."""
    with suppress(OSError):
        return os.stat(place or ".").st_mtime_ns
    return 0


def names_of(entries: Iterable[EntryPoint]) -> tuple[str, ...]:
    """The names of entries, each once, in alphabetical order."""
    return tuple(sorted({entry.name for entry in entries}))


def entry_named(name: str, entries: Iterable[EntryPoint], kind: str, where: str = "") -> EntryPoint:
    """The entry of that name. InputError if nobody offers it (`where` one looked), or if two packages do."""
    entries = tuple(entries)
    found = {entry.value: entry for entry in entries if entry.name == name}
    if not found:
        raise unknown_name(kind, name, names_of(entries), where)
    if len(found) > 1:
        owners = " and ".join(sorted(map(distribution, found.values())))
        raise InputError(f"{kind} {name!r} is offered by {owners}; uninstall all but one")
    return next(iter(found.values()))


def load_entry(entry: EntryPoint, kind: str) -> tuple[Any, str]:
    """What the entry stands for, and in words where it is from; InputError if it cannot be loaded."""
    origin = f"{kind} {entry.name!r} (entry point {entry.value!r} of {distribution(entry)})"
    try:
        # What a module prints as it is loaded goes to stderr: stdout has results.
        with redirect_stdout(sys.stderr):
            return entry.load(), origin
    except (Exception, SystemExit) as error:
        # Without the place that raised it: that is somewhere in importlib.
        raise InputError(f"{origin} cannot be loaded: {exception_text(error)}") from error


def distribution(entry: EntryPoint) -> str:
    """The package that offers the entry, with its version."""
    return " ".join(_name_and_version(entry.dist)) if entry.dist else "an unnamed distribution"


@lru_cache(maxsize=64)
def _name_and_version(package: Distribution) -> tuple[str, str]:
    # Both are read from the package's metadata, which takes milliseconds, and every problem loads its model.
    return package.name, package.version


def require_installed(libraries: Iterable[str], what: str, entries: Iterable[EntryPoint]) -> None:
    """InputError that says what to install, if some of these distributions are missing.

    `what` needs them; an extra that brings them is looked for in the packages that offer the `entries`.
    """
    missing = [library for library in libraries if not _is_installed(library)]
    if not missing:
        return
    packages = [entry.dist for entry in entries if entry.dist]
    extras = [f"'{package.name}[{extra}]'" for package in packages for extra in _extras(package, missing)]
    wanted = extras[0] if extras else " ".join(missing)
    are = "is" if len(missing) == 1 else "are"
    raise InputError(f"{what} needs {', '.join(missing)}, which {are} not installed; pip install {wanted}")


def _is_installed(library: str) -> bool:
    try:
        return bool(version(library))
    except PackageNotFoundError:
        return False


def _extras(package: Distribution, libraries: Iterable[str]) -> list[str]:
    """The extras that bring some of these libraries: first those that bring most of them, and least else."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    asked = [one for one in map(Requirement, package.requires or ()) if one.marker]
    wanted = set(map(canonicalize_name, libraries))
    found: dict[str, tuple[int, int]] = {}
    for extra in package.metadata.get_all("Provides-Extra") or ():
        brought = {canonicalize_name(one.name) for one in asked if one.marker.evaluate({"extra": extra})}  # type: ignore[union-attr]
        if brought & wanted:
            found[extra] = -len(brought & wanted), len(brought)
    return sorted(found, key=found.__getitem__)


def origins_of_entries(name: str, entries: Iterable[EntryPoint]) -> dict[str, str]:
    """The versions of the packages that offer the name; empty if none is installed."""
    return dict(_name_and_version(entry.dist) for entry in entries if entry.name == name and entry.dist)
