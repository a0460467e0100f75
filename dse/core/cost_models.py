"""Which cost models there are, and what those that are not made yet can do.

Models are found by entry points: ours are registered like anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, get_args

from dse.core.cost_model import AnyCostModel
from dse.core.model_settings import ModelSettings
from dse.core.names import names_function
from dse.core.objective import objective_named
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.plugins import entry_named, load_entry, names_of, origins_of_entries

GROUP = "dse.cost_models"
"""The entry-point group under which any installed package offers cost models."""

DEFAULT_COST_MODEL = "loopnest"
"""The model of a Problem, and of every command that prices mappings, unless told otherwise."""

FUNCTIONS = "python"
"""The model that prices by a function, as in `my_package.costs:price` or `./my_costs.py:price`."""

Ability = Literal[
    "prices_strides",
    "prices_cases",
    "prices_widths",
    "explains",
    "proof_module",
    "residence_module",
    "settings_type",
    "outside",
]
"""What a model declares: see AnyCostModel."""


def cost_models(domain: str | None = None) -> tuple[str, ...]:
    """The installed cost models of a domain, by name, in order; by default that of the default.

    Without those that price by something outside of the framework: see `outside_models`.
    """
    kind = domain or cost_model_class(DEFAULT_COST_MODEL).domain
    return tuple(name for name in _names() if domain_name(name) == kind and not _declares(name, "outside"))


def outside_models() -> tuple[str, ...]:
    """The installed cost models that price by a program, a function or a library from elsewhere, by name."""
    return models_with("outside")


def all_models() -> tuple[str, ...]:
    """All installed cost models, by name, in order; also those that cannot be loaded."""
    return _names()


def cost_model_class(name: str) -> type[AnyCostModel]:
    """The cost model of that name; InputError if there is none, or if it cannot be loaded."""
    loaded, origin = load_entry(entry_named(name, _entries(), "cost model"), "cost model")
    if not (isinstance(loaded, type) and issubclass(loaded, AnyCostModel)):
        raise InputError(f"{origin} must be a subclass of dse.CostModel")
    if loaded.__dict__.get("name", name) != name:
        raise InputError(f"{origin} calls itself {loaded.name!r}; its name must be that of the entry point")
    return loaded


def cost_model(spec: str, folder: Path | None = None) -> AnyCostModel:
    """The cost model in words: its name, perhaps with settings (see `dse.core.model_settings`).

    `my_module:my_function` and `./my_file.py:my_function` are the model that prices by that function. Files
    that are in `folder`, of whoever names the model, are looked for there first.
    """
    name, settings = _named(spec)
    made = cost_model_class(name)
    where, kind = f"cost model {shorten(spec)}", made.settings_type
    if settings is None:
        if kind is None or not kind.required():
            return made()
        short = f"{name}:{kind.main.upper()}" if kind.main else f"{name}({kind.required()[0]}=...)"
        raise InputError(f"{where} needs {', '.join(kind.required())}; expected {short}")
    if kind is None:
        raise unknown_name("cost model", spec, all_models())
    found = kind.parse(settings, where) if isinstance(settings, str) else kind.from_dict(settings, where)
    return with_settings(made, found if folder is None else found.beside(folder))


def with_settings(made: type[AnyCostModel], settings: ModelSettings) -> AnyCostModel:
    """The model with settings of its `settings_type`."""
    return made(settings)  # type: ignore[call-arg]


def _named(spec: str) -> tuple[str, str | dict[str, str] | None]:
    """The model's name, and its settings in words or as a table; None if there are none."""
    found = re.fullmatch(r"([^(:]*)(\(.*\)|:.*)", spec, re.DOTALL)
    name, rest = found.groups() if found else (spec, "")
    if rest and name in _names():
        if rest.startswith("("):
            return name, rest[1:-1]
        kind = cost_model_class(name).settings_type
        if kind is not None and kind.main:
            return name, {kind.main: rest[1:].strip()}
    if names_function(spec) or spec.endswith(".py"):
        return FUNCTIONS, {"function": spec}
    if not rest:
        return spec, None
    raise unknown_name("cost model", spec, (*all_models(), "MODULE:FUNCTION", "FILE.py:FUNCTION"))


def class_of_spec(spec: str) -> type[AnyCostModel]:
    """The cost model in words as a class, whatever its settings."""
    return cost_model_class(_named(spec)[0])


def model_with(name: str, settings: str | Mapping[str, Any], folder: Path | None = None) -> AnyCostModel:
    """The cost model of that name with the settings in a TOML file, or in a table; `folder` as above."""
    made = cost_model_class(name) if name in _names() else type(cost_model(name))
    kind = made.settings_type
    if kind is None or made.name != name:
        able = " or ".join(map(repr, models_with("settings_type")))
        raise InputError(f"settings are for cost model {able}, got {name!r}")
    found = kind.load(settings) if isinstance(settings, str) else kind.from_dict(settings)
    return with_settings(made, found if folder is None else found.beside(folder))


def models_with(ability: Ability) -> tuple[str, ...]:
    """The names of the installed models that declare an ability; those that cannot be loaded have none."""
    return tuple(name for name in _names() if _declares(name, ability))


def declared_abilities(model: AnyCostModel) -> dict[str, Any]:
    """What a model declares, by name, where it is not the default; of settings their names."""
    values = {name: (getattr(model, name), getattr(AnyCostModel, name)) for name in get_args(Ability)}
    found = {name: value for name, (value, default) in values.items() if value != default}
    if model.settings_type is not None:
        found["settings_type"] = [item.name for item in fields(model.settings_type)]
    return found


def other_model(spec: str, own: str) -> str:
    """The spec of a model other than `own`, whose mappings it is to price too. InputError if it cannot."""
    if class_of_spec(spec).domain != class_of_spec(own).domain:
        raise InputError(f"cost model {shorten(spec)} does not price the designs of {own}")
    found = cost_model(spec).spec
    if found == own:
        raise InputError(f"expected another cost model than {own}, by which the campaign searches")
    return found


def unit_of(objective: str, spec: str) -> str:
    """The unit of the objective's values under a cost model, by its name or spec.

    Area and power are in whatever the model declares; of a model that is not installed, nothing is known.
    """
    found, name = objective_named(objective), spec.partition("(")[0]
    return found.unit_in(cost_model_class(name).units if name in all_models() else {})


def model_origin(name: str) -> dict[str, str]:
    """The distribution that offers the cost model `name`, with its version; empty if none is installed."""
    return origins_of_entries(name, _entries())


def says_version(model: object) -> bool:
    """Whether the class of a model sets `version` itself; if not, its package's version stands for it too."""
    return "version" in vars(type(model))


def _names() -> tuple[str, ...]:
    return names_of(_entries())


def _declares(name: str, ability: Ability) -> bool:
    return bool(_said(name, ability))


def domain_name(name: str) -> str:
    """The domain whose designs the model of that name prices; empty of one that cannot be loaded."""
    return str(_said(name, "domain") or "")


def _said(name: str, member: str) -> Any:
    """What the model of that name declares; None of one that cannot be loaded."""
    try:
        return getattr(cost_model_class(name), member, None)
    except InputError:
        return None


@cache
def _entries() -> tuple[EntryPoint, ...]:
    # Looking through all that is installed takes milliseconds, and every problem asks for its model.
    return tuple(entry_points(group=GROUP))
