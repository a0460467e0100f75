"""Searchers: what they are, how ask/tell algorithms run as one, and how they are found and configured."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_type_hints

import numpy as np

from dse.search.abilities import abilities_of, current_settings
from dse.search.of_file import class_of_file, is_of_file
from dse.support.arrays import IntArray
from dse.support.errors import NEAR, InputError, Notice, format_exception, shorten, unknown_name
from dse.support.plugins import (
    entry_named,
    installed_entries,
    load_entry,
    names_of,
    origins_of_entries,
    require_installed,
)
from dse.support.schema import typed_value

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.search.evaluator import Evaluator


GROUP = "dse.searchers"
"""The entry-point group under which any installed package offers searchers."""

LONG = 60
"""Letters of a misspelt setting that are compared."""

DEFAULT_GROUP = "dse.defaults"
"""The entry-point group that says what is taken where a user names nothing."""


class SearchNote(Notice):
    """What a searcher tells its user of how a search goes: a warning that is no fault."""


class Searcher(Protocol):
    """A search algorithm: a frozen dataclass of its hyperparameters.

    A field may declare its bounds, as in `chains: Annotated[int, Limits(ge=1, le=10_000)] = 8`, with Limits
    of `dse.support.schema`: values beyond them are refused before a search begins. What else there is to know
    of it, it declares by class variables, which all have defaults: see `dse.search.abilities.Abilities`.
    """

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Spend the whole budget of `evaluate`, drawing all randomness from `rng`.

        What is known when it begins, `evaluate.known`, is spent and need not be asked for: it may learn from
        that. It may end by letting BudgetExhausted pass. What was found is read from the record.
        """


class AskTell(Protocol):
    """An algorithm that proposes points and learns from their evaluations: the state of one search."""

    def ask(self) -> IntArray:
        """The next points to evaluate: (n, genes)."""

    def tell(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Learn from the evaluations of the points last asked for, or of those known before the first ask."""


def drive(strategy: AskTell, evaluate: Evaluator) -> None:
    """Ask, evaluate and tell until the budget is spent; too large a last batch ends in BudgetExhausted.

    What is known already is told first.
    """
    known = evaluate.known
    if len(known.genes):
        strategy.tell(known.genes, known.evaluations)
    while evaluate.remaining:
        genes = strategy.ask()
        strategy.tell(genes, evaluate(genes))


def searchers() -> tuple[str, ...]:
    """The names of all installed searchers, ours and others', in alphabetical order."""
    return names_of(installed_entries(GROUP))


def searchers_of_several() -> tuple[str, ...]:
    """The names of those installed that minimise several objectives."""
    found = []
    for name in searchers():
        try:
            able = abilities_of(searcher_class(name))
        except InputError:
            # Said where it is asked for by its name.
            continue
        found += [name] if able.takes_several else []
    return tuple(found)


def default_searcher(role: Literal["searcher", "sampler", "player"] = "searcher") -> str:
    """The searcher taken where none is named: that of the entry point `role` of DEFAULT_GROUP.

    A `sampler` is one whose samples show a space as it is; a `player` plays by the saved policy in `folder`.
    """
    chosen = {entry.value for entry in installed_entries(DEFAULT_GROUP).select(name=role)}
    named = names_of(entry for entry in installed_entries(GROUP) if entry.value in chosen)
    if len(named) != 1:
        raise InputError(f"name a searcher: {', '.join(searchers())}")
    return named[0]


def searcher_class(name: str) -> type[Searcher]:
    """The searcher of that name, installed or `FILE.py:CLASS`; InputError if it cannot be loaded."""
    if is_of_file(name):
        loaded, origin = class_of_file(name), f"searcher {name}"
    else:
        entry = entry_named(name, installed_entries(GROUP), "searcher", "the installed searchers")
        loaded, origin = load_entry(entry, "searcher")
    if not is_searcher_class(loaded):
        raise InputError(f"{origin} must be a frozen dataclass with a method search(evaluate, rng)")
    found: type[Searcher] = loaded
    return found


def is_searcher_class(made: object) -> bool:
    """Whether it is a frozen dataclass with a method `search`."""
    return is_frozen_dataclass(made) and has_search(made)


def is_frozen_dataclass(made: object) -> bool:
    """Whether it is a dataclass, and frozen."""
    parameters = getattr(made, "__dataclass_params__", None)
    return isinstance(made, type) and parameters is not None and bool(parameters.frozen)


def has_search(subject: object) -> bool:
    """Whether an object, or a class, has a method `search`."""
    return callable(getattr(subject, "search", None))


def make_searcher(name: str, settings: Mapping[str, Any] | None = None, *, where: str = "") -> Searcher:
    """The searcher `name` with `settings` by the names of its fields (or former ones), others by default.

    Settings are checked strictly against the fields' annotations; `where` is the place named in messages.
    """
    made = searcher_class(name)
    where = where or f"searcher {name!r}"
    settings = current_settings(made, settings, where)
    offered = [item for item in dataclasses.fields(made) if item.init]  # type: ignore[arg-type]
    names = [item.name for item in offered]
    for key in settings:
        if key not in names:
            raise _unknown_setting(key, names, abilities_of(made).aliases, where)
    for item in offered:
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and item.name not in settings:
            raise InputError(f"{where} lacks {item.name!r}")
    hints = get_type_hints(made, include_extras=True)
    values = {key: typed_value(value, hints[key], f"{where}: {key}") for key, value in settings.items()}
    try:
        searcher = made(**values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {' '.join(str(error).split())}") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} cannot be made: {format_exception(error)}") from error
    abilities_of(searcher, where)
    return searcher


def shown_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded settings of the searcher `name` by the names that they have now; as they are if it is gone."""
    try:
        aliases = abilities_of(searcher_class(name)).aliases
    except InputError:
        aliases = {}
    return {aliases.get(key, key): value for key, value in settings.items()}


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Settings written as `agents=9`, `rate=0.2`, `actions=gaussian`: TOML values, or else plain text."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"--set must read NAME=VALUE, like agents=9, got {shorten(text)}")
        if key in settings:
            raise InputError(f"--set gives {key!r} twice")
        settings[key] = _toml_value(value)
    return settings


def require_libraries(name: str, searcher: Searcher) -> None:
    """InputError that says what to install, if a library that the searcher `name` declares is missing."""
    entries = installed_entries(GROUP).select(name=name)
    require_installed(abilities_of(searcher).libraries, f"searcher {name!r}", entries)


def searcher_origin(name: str) -> dict[str, str]:
    """The distribution that offers the searcher `name`, with its version; empty if none is installed."""
    return origins_of_entries(name, installed_entries(GROUP))


def _unknown_setting(key: object, names: list[str], aliases: Mapping[str, str], where: str) -> InputError:
    if not names:
        return InputError(f"unknown key {shorten(key)} in {where}; it has no settings")
    near = difflib.get_close_matches(str(key)[:LONG], [*names, *aliases], n=1, cutoff=NEAR)
    if near and near[0] in aliases:
        return InputError(f"unknown key {shorten(key)} in {where}; did you mean {aliases[near[0]]!r}?")
    return unknown_name("key", key, names, where)


def _toml_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text
