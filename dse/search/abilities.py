"""What a searcher may declare beside its `search`: read here, and nowhere else.

Its class variable `aliases` says which former name stands for which setting. Whoever writes a setting may use
either name; whatever shows settings uses the new one. A record's identity, from which its fingerprint and its
random draws come, keeps the former name: a new name changes no search.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dse.support.errors import InputError, format_exception, shorten
from dse.support.validation import whole_number

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.searcher import Searcher

FIRST = "1"
"""The version of a searcher whose samples have never changed. Records' identities do not mention it."""
_ADDED = "added"
ALIKE = 0.8
"""How much alike two names are, of 0 to 1, where one is taken for a slip in writing the other."""


@dataclass(frozen=True)
class Abilities:
    """What a searcher declares, and what holds where it declares nothing: the defaults.

    A searcher declares one by a class variable of that name, such as `portable: ClassVar[bool] = False`; or
    by a property or a field where it depends on the settings. It need not inherit from anything.
    """

    version: str = ""
    """Changed, as from "1" to "2", when its samples change: part of a record's identity. Its package's
    version is where the class itself declares none."""
    libraries: tuple[str, ...] = ()
    """The distributions that its samples depend on, beside numpy and its own: their versions are part of a
    record's identity."""
    portable: bool = True
    """Whether it draws the same samples from the same seed on every CPU. Where it does not, as with BLAS and
    torch, the CPU is part of a record's identity, and a search goes on only on one like the first."""
    plans_for_budget: bool = False
    """Whether a larger budget changes its samples from the first on, as a schedule does that ends with it.
    Its search does not go on when a campaign's budget grows, but begins anew."""
    samples_elsewhere: int = 0
    """Samples that it has learned from and that are not charged to its search, such as those of a policy that
    was trained before. Tables show them."""
    random_start: Mapping[str, Any] | None = None
    """The settings with which it begins at random points, or at those that it is given, and knows no more of
    the problem; `{}` if it always does. Campaigns have their searchers begin alike. None: it cannot."""
    begins: Callable[[Space], str] | None = None
    """A method `begins(space)`: with what else it begins, in a few words for tables, such as "templates"."""
    takes_several: bool = False
    """Whether it minimises several objectives too. There is no loss then (it is NaN): `objective_values` of
    Evaluations has a column for each, and the record's front is what was found."""
    has_policy: bool = False
    """Whether it learns a policy that can be saved. Its `search` then takes a third argument,
    `keep: Keep | None = None`, which must not change what it draws (see `dse.search.keeping`)."""
    has_adviser: bool = False
    """Whether it prices mappings by another model than the problem's, which costs it no samples."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """The settings that had other names before: by a former name the present one. Both are read, and a
    record's identity has the former."""

    @property
    def declared(self) -> dict[str, Any]:
        """Those that are not at their defaults, as plain data; of `begins` that it is there."""
        values = {name: (getattr(self, name), getattr(NOTHING, name)) for name in NAMES}
        return {name: _plain(value) for name, (value, default) in values.items() if value != default}


NOTHING = Abilities()
"""What a searcher has that declares nothing."""
NAMES = tuple(item.name for item in dataclasses.fields(Abilities))
"""What can be declared."""


def abilities_of(searcher: object, where: str = "") -> Abilities:
    """What a searcher declares; or a class of searchers, as far as it does not depend on the settings.

    A declaration that is not of the kind that `Abilities` says is an InputError, which begins with `where`.
    """
    made = searcher if isinstance(searcher, type) else type(searcher)
    where = where or f"searcher {made.__name__}"
    found = {name: _value(searcher, made, name, where) for name in NAMES}
    found["libraries"] = _names(found["libraries"], f"{where}: libraries")
    found["samples_elsewhere"] = whole_number(
        found["samples_elsewhere"], f"{where}: samples_elsewhere", least=0
    )
    if not isinstance(found["version"], str):
        raise InputError(f"{where}: version must be a text, got {shorten(found['version'])}")
    for name in ("portable", "plans_for_budget", "takes_several", "has_policy", "has_adviser"):
        if not isinstance(found[name], bool):
            raise InputError(f"{where}: {name} must be True or False, got {shorten(found[name])}")
    _check_start(found["random_start"], made, f"{where}: random_start")
    _check_aliases(found["aliases"], made, f"{where}: aliases")
    if not (found["begins"] is None or callable(found["begins"])):
        raise InputError(f"{where}: begins must be a method, got {shorten(found['begins'])}")
    if found["has_policy"] and not _takes_keep(made):
        raise InputError(f"{where}: has_policy is for one whose search takes keep, a third argument")
    return Abilities(**found)


def misnamed_abilities(searcher: object) -> dict[str, str]:
    """Class variables that have nearly an ability's name, and so declare nothing: each with that name."""
    made = type(searcher)
    found: dict[str, str] = {}
    for name in set(dir(made)) - {*_settings(made), *NAMES}:
        near = difflib.get_close_matches(name, NAMES, n=1, cutoff=ALIKE)
        if near and not name.startswith("_") and not callable(getattr(made, name)):
            found[name] = near[0]
    return dict(sorted(found.items()))


def _settings(made: type) -> list[str]:
    return [item.name for item in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else []


def _value(searcher: object, made: type, name: str, where: str) -> Any:
    default = getattr(NOTHING, name)
    if name == "version" and name not in vars(made):
        # One that it inherits says nothing of what the class itself does.
        return default
    try:
        value = getattr(searcher, name)
    except Exception as error:
        if isinstance(error, AttributeError) and not hasattr(type(searcher), name):
            return default
        raise InputError(f"{where}: {name} cannot be read: {format_exception(error)}") from error
    # A class has the property or the method, and no settings that it could be worked out from.
    late = isinstance(searcher, type) and (isinstance(value, property) or callable(value))
    return default if late else value


def _names(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise InputError(f"{what} must be a tuple of names of distributions, got {shorten(value)}")
    return tuple(value)


def _check_start(value: object, made: type, what: str) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a table of settings, got {shorten(value)}")
    settings = _settings(made)
    if not set(value) <= set(settings):
        known = ", ".join(settings) or "nothing"
        raise InputError(f"{what} must set some of {known}, got {shorten(dict(value))}")


def _check_aliases(value: object, made: type, what: str) -> None:
    settings = _settings(made)
    if not isinstance(value, Mapping) or not all(
        isinstance(former, str) and former not in settings and name in settings
        for former, name in value.items()
    ):
        raise InputError(
            f"{what} must be a table of former names and of the settings that they stand for, "
            f"got {shorten(value)}"
        )


def _takes_keep(made: type) -> bool:
    parameters = inspect.signature(made.search).parameters  # type: ignore[attr-defined]
    return "keep" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def _plain(value: Any) -> Any:
    if callable(value):
        return True
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


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


def added(default: Any) -> Any:
    """A setting, of a dataclass, that a searcher has got after there were records of it.

    Where it has the default, which stands for what the searcher did before, records do not mention it.
    """
    return dataclasses.field(default=default, metadata={_ADDED: True})


def recorded_settings(searcher: Searcher) -> dict[str, Any]:
    """All settings of a searcher, by the names that records have: defaults too, but for those `added`."""
    first = first_names(abilities_of(searcher).aliases)
    settings: dict[str, Any] = dataclasses.asdict(searcher)  # type: ignore[call-overload]
    as_before = {
        item.name
        for item in dataclasses.fields(searcher)  # type: ignore[arg-type]
        if _ADDED in item.metadata and settings[item.name] == item.default
    }
    return {first.get(name, name): value for name, value in settings.items() if name not in as_before}


def first_names(aliases: Mapping[str, str]) -> dict[str, str]:
    """By a setting's name now, the first one that it had."""
    return {current: former for former, current in reversed(list(aliases.items()))}
