"""Which cost models there are, and what those that are not made yet can do.

Models are found by entry points: ours are registered like anybody's.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from dse.cost.protocol import CostModel
from dse.spec.objective import objective_named
from dse.support.errors import InputError, unknown
from dse.support.plugins import entry_named, load_entry, names_of, origins

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "dse.cost_models"
"""The entry-point group under which any installed package offers cost models."""

OURS = {
    "loopnest": "dse.cost.loopnest:LoopNest",
    "maestro": "dse.cost.maestro:Maestro",
    "timeloop": "dse.cost.timeloop.model:Timeloop",
}
"""Our own entry points, for a checkout that was installed before it had them."""

DEFAULT_COST_MODEL = "loopnest"
"""The model of a Problem, and of every command that prices mappings, unless told otherwise."""

Ability = Literal["prices_strides", "prices_cases", "explains", "provable", "constants_type", "hierarchical"]
"""What a model declares: see CostModel."""


def cost_models() -> tuple[str, ...]:
    """The installed cost models of mappings onto an accelerator, by name, ours and others', in order."""
    return tuple(name for name in _names() if not _declares(name, "hierarchical"))


def hierarchy_models() -> tuple[str, ...]:
    """The installed cost models of machines of any number of levels, by name, in order."""
    return models_with("hierarchical")


def cost_model_class(name: str) -> type[CostModel]:
    """The cost model of that name; InputError if there is none, or if it cannot be loaded."""
    loaded, origin = load_entry(entry_named(name, _entries(), "cost model"), "cost model")
    if not (isinstance(loaded, type) and issubclass(loaded, CostModel)):
        raise InputError(f"{origin} must be a subclass of dse.cost.CostModel")
    if loaded.__dict__.get("name", name) != name:
        raise InputError(f"{origin} calls itself {loaded.name!r}; its name must be that of the entry point")
    return loaded


def cost_model(spec: str) -> CostModel:
    """The cost model of that name; `loopnest(dram_pj=640)` is `loopnest` with constants of one's own."""
    name, bracket, rest = spec.partition("(")
    named = not bracket or (name in _names() and rest.endswith(")"))
    made = cost_model_class(name) if named else None
    if made is not None and made.hierarchical:
        able = ", ".join(cost_models())
        raise InputError(f"cost model {name!r} prices cases of its own only; expected one of {able} here")
    if made is not None and not bracket:
        return made()
    if made is None or made.constants_type is None:
        raise unknown("cost model", spec, cost_models())
    return made().with_constants(made.constants_type.parse(rest[:-1], f"cost model {spec!r}"))


def model_with(name: str, constants: str) -> CostModel:
    """The cost model of that name with the constants in a TOML file; InputError if it has none."""
    made = cost_model_class(name) if name in cost_models() else type(cost_model(name))
    if made.constants_type is None or made.name != name:
        able = " or ".join(map(repr, models_with("constants_type")))
        raise InputError(f"constants are for cost model {able}, got {name!r}")
    return made().with_constants(made.constants_type.load(constants))


def models_with(ability: Ability) -> tuple[str, ...]:
    """The names of the installed models that declare an ability; those that cannot be loaded have none."""
    return tuple(name for name in _names() if _declares(name, ability))


def other_models(spec: str) -> tuple[str, ...]:
    """The names of the installed models but the one of that spec (`loopnest(dram_pj=640)` is `loopnest`)."""
    return tuple(name for name in cost_models() if name != spec.partition("(")[0])


def unit_of(objective: str, spec: str) -> str:
    """The unit of the objective's values under a cost model, by its name or spec.

    Area and power are in whatever the model declares; of a model that is not installed, nothing is known.
    """
    unit, name = objective_named(objective).unit, spec.partition("(")[0]
    return cost_model_class(name).units.get(objective, unit) if name in cost_models() else unit


def model_origin(name: str) -> dict[str, str]:
    """The distribution that offers the cost model `name`, with its version; empty if none is installed."""
    return origins(name, _entries())


def _names() -> tuple[str, ...]:
    return names_of(_entries())


def _declares(name: str, ability: Ability) -> bool:
    try:
        return bool(getattr(cost_model_class(name), ability))
    except InputError:
        return False


@cache
def _entries() -> tuple[EntryPoint, ...]:
    # Looking through all that is installed takes milliseconds, and every problem asks for its model.
    from importlib.metadata import EntryPoint, entry_points

    found = tuple(entry_points(group=GROUP))
    known = {entry.name for entry in found}
    return (*found, *(EntryPoint(name, at, GROUP) for name, at in OURS.items() if name not in known))
