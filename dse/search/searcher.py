"""Searchers: what they are, how ask/tell algorithms run as one, and how they are found and configured."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_type_hints

import numpy as np

from dse.search.aliases import aliases_of, current_settings
from dse.support.arrays import IntArray
from dse.support.errors import InputError, format_exception, shorten, unknown
from dse.support.plugins import entry_named, installed, load_entry, names_of, origins
from dse.support.schema import typed

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.search.evaluator import Evaluator


GROUP = "dse.searchers"
"""The entry-point group under which any installed package offers searchers."""

DEFAULT_GROUP = "dse.defaults"
"""The entry-point group that says what is taken where a user names nothing."""

FIRST = "1"
"""The version of a searcher whose samples have never changed. Records' identities do not mention it."""


class Searcher(Protocol):
    """A search algorithm: a frozen dataclass of its hyperparameters.

    One may declare its bounds, as in `chains: Annotated[int, Limits(ge=1, le=10_000)] = 8`, with Limits of
    `dse.support.schema`: values beyond them are refused before a search begins. The class may declare
    `libraries`, a class variable with the names of the distributions that its samples depend on (numpy and
    its own are counted anyway). One whose samples depend on how large the budget is, by a schedule that ends
    with it, must declare `plans_for_budget = True`: its search does not go on when a campaign's budget grows,
    but is run anew. One that draws other samples from the same seed on another CPU, as BLAS and torch may,
    must declare `portable = False`: the CPU is then part of a record's identity. So is its `version`, a text
    that changes when its samples do, "1" at first; where it declares none, its package's version is.

    One that can begin with random points, or with those that it is given, and know no more of the problem,
    declares `random_start`, a class variable of the settings with which it does so, `{}` if it always does:
    campaigns have their searchers begin alike. What else it begins with, `begins(space)` tells tables in a
    few words, such as "templates, expectations".

    Settings that had other names before are declared in `aliases`, a class variable: the name of each by its
    former name. Both are read, and a record's identity keeps the former (see `dse.search.aliases`).

    One that learns a policy which can be saved declares `has_policy = True`; its `search` then takes a third
    argument, `keep: Keep | None = None` (see `dse.search.keeping`), which must not change what it draws.
    """

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Spend the whole budget of `evaluate`, drawing all randomness from `rng`.

        What is known when it begins, `evaluate.known`, is spent and need not be asked for: it may learn from
        that. It may end by letting BudgetExhausted pass. What was found is read from the record.
        """
        ...


def has_policy(searcher: Searcher) -> bool:
    """Whether the searcher declares that it learns a policy which can be saved."""
    return bool(getattr(searcher, "has_policy", False))


def plans_for_budget(searcher: Searcher) -> bool:
    """Whether the searcher declares that a larger budget changes its samples from the first on."""
    return bool(getattr(searcher, "plans_for_budget", False))


class AskTell(Protocol):
    """An algorithm that proposes points and learns from their evaluations: the state of one search."""

    def ask(self) -> IntArray:
        """The next points to evaluate: (n, genes)."""
        ...

    def tell(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Learn from the evaluations of the points last asked for, or of those known before the first ask."""
        ...


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
    return names_of(installed(GROUP))


def default_searcher(role: Literal["searcher", "sampler", "player"] = "searcher") -> str:
    """The searcher taken where none is named: that of the entry point `role` of DEFAULT_GROUP.

    A `sampler` is one whose samples show a space as it is; a `player` plays by the saved policy in `folder`.
    """
    chosen = {entry.value for entry in installed(DEFAULT_GROUP).select(name=role)}
    named = names_of(entry for entry in installed(GROUP) if entry.value in chosen)
    if len(named) != 1:
        raise InputError(f"name a searcher: {', '.join(searchers())}")
    return named[0]


def searcher_class(name: str) -> type[Searcher]:
    """The searcher of that name. One that cannot be loaded is an InputError that says where it is from."""
    entry = entry_named(name, installed(GROUP), "searcher", "the installed searchers")
    loaded, origin = load_entry(entry, "searcher")
    frozen = isinstance(loaded, type) and getattr(loaded, "__dataclass_params__", None)
    if not (frozen and frozen.frozen and callable(getattr(loaded, "search", None))):
        raise InputError(f"{origin} must be a frozen dataclass with a method search(evaluate, rng)")
    found: type[Searcher] = loaded
    return found


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
            raise _unknown_setting(key, names, where)
    for item in offered:
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and item.name not in settings:
            raise InputError(f"{where} lacks {item.name!r}")
    hints = get_type_hints(made, include_extras=True)
    values = {key: typed(value, hints[key], f"{where}: {key}") for key, value in settings.items()}
    try:
        return made(**values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {_one_line(error)}") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} cannot be made: {format_exception(error)}") from error


def shown_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded settings of the searcher `name` by the names that they have now; as they are if it is gone."""
    try:
        aliases = aliases_of(searcher_class(name))
    except InputError:
        aliases = {}
    return {aliases.get(key, key): value for key, value in settings.items()}


def parse_settings(texts: Iterable[str], where: str = "--set") -> dict[str, Any]:
    """Settings written as `agents=9`, `rate=0.2`, `actions=gaussian`: TOML values, or else plain text."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"{where} must read NAME=VALUE, like agents=9, got {shorten(text)}")
        if key in settings:
            raise InputError(f"{where} gives {key!r} twice")
        settings[key] = _toml_value(value)
    return settings


def searcher_origin(name: str) -> dict[str, str]:
    """The distribution that offers the searcher `name`, with its version; empty if none is installed."""
    return origins(name, installed(GROUP))


def version_of(searcher: Searcher) -> str:
    """The version that the searcher's own class declares, or what it makes of its settings; empty if none.

    One that it inherits says nothing of what the class itself does.
    """
    return str(getattr(searcher, "version", "")) if "version" in vars(type(searcher)) else ""


def _unknown_setting(key: object, names: list[str], where: str) -> InputError:
    near = difflib.get_close_matches(str(key), names, n=1)
    if near or names:
        return unknown("key", key, names, where)
    return InputError(f"unknown key {shorten(key)} in {where}; it has no settings")


def _toml_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
