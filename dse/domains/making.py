"""Problems by what a user names: whatever the cost model, a layer on its hardware becomes the problem.

Nobody else has to know that models of machines of any number of levels have problems of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dse.core.cost_model import CostModel
from dse.core.cost_models import DEFAULT_COST_MODEL, hierarchy_model, is_hierarchical
from dse.core.hardware import parse_hardware
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import parse_fixed
from dse.domains.clustered.space.parts import SPACES, Parts, read_parts, with_hardware
from dse.domains.levels.architecture import machine_from_dict
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.support.errors import InputError, shorten
from dse.support.toml import is_toml, read_toml

Hardware = Accelerator | Machine


def make_problem(
    layer: Layer,
    hardware: str | Hardware,
    objective: str = "latency",
    cost_model: str | CostModel = DEFAULT_COST_MODEL,
    tiles: str = "factors",
    fixed: Mapping[str, Any] | None = None,
    space: str | Mapping[str, Any] | Parts = "default",
    area_budget: float | None = None,
) -> Problem:
    """The problem of a layer on `hardware`, which is it, or names it by a preset or a file."""
    made: type[Any] = MachineProblem if _of_levels(cost_model) else Problem
    machine: Any = load_hardware(hardware, cost_model) if isinstance(hardware, str) else hardware
    problem: Problem = made(layer, machine, objective, cost_model, tiles, fixed or {}, space, area_budget)
    return problem


def problem_from_identity(identity: Mapping[str, Any]) -> Problem:
    """The problem that a record names, by its identity's part `problem`; InputError where it is not right."""
    space = identity["space"]
    return make_problem(
        Layer.from_dict(layer_of_identity(identity)),
        hardware_from_dict(space["accelerator"], identity["cost_model"]),
        identity["objective"],
        identity["cost_model"],
        space["tiles"],
        space["fixed"],
        space.get("parts") or "default",
        identity.get("area_budget"),
    )


def layer_of_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """A problem's layer: as it is, where the cost model prices it so, else the lowered one of the space."""
    layer: dict[str, Any] = identity["layer"]
    return layer if "stride" in layer else identity["space"]["layer"]


def load_hardware(name: str, cost_model: str | CostModel) -> Hardware:
    """The accelerator, or the machine of levels, that a name stands for under a cost model."""
    if not _of_levels(cost_model):
        return load_accelerator(name)
    model = hierarchy_model(cost_model) if isinstance(cost_model, str) else cost_model
    return model.load_machine(name)


def load_space(name: str, cost_model: str, hardware: Iterable[str] = ()) -> Any:
    """What a Problem takes for its space: by its name or its TOML file, and figures of the hardware to open.

    A figure is told as `l1_size=128,256`, see `dse.core.hardware`.
    """
    where = f"space file {name!r}" if is_toml(name) else "space"
    given = read_toml(name, where) if is_toml(name) else name
    return read_space(given, cost_model, parse_hardware(hardware), where)


def read_space(
    given: object, cost_model: str | CostModel, hardware: Mapping[str, Any], where: str = "space"
) -> Any:
    """What a Problem takes for its space: a name or a table, and figures of the hardware opened besides.

    `where` names the space in messages.
    """
    return with_hardware(read_parts(given, where), hardware)


def hardware_from_dict(data: Any, cost_model: str) -> Hardware:
    """The hardware in the plain data of a problem's identity; InputError where it is not right."""
    if isinstance(data, dict) and "levels" in data:
        return machine_from_dict(data, "machine")
    if is_hierarchical(cost_model):
        raise InputError("accelerator: it has no levels, and the cost model is of machines that have")
    return Accelerator.from_dict(data)


def parse_constraints(
    texts: Iterable[str], cost_model: str, parts: Parts = SPACES["default"]
) -> dict[str, Any]:
    """What texts such as `outer.parallel=K` or `Buffer.keep=W` fix, for a problem under the cost model."""
    if not is_hierarchical(cost_model):
        return dict(parse_fixed(texts, parts))
    fixed: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise InputError(
                f"a constraint must read NAME=VALUE, like DRAM.temporal.K=4, got {shorten(text)}"
            )
        if name in fixed:
            raise InputError(f"{name} is fixed twice, at {shorten(fixed[name])} and at {shorten(value)}")
        fixed[name] = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else value
    return fixed


def _of_levels(cost_model: str | CostModel) -> bool:
    if isinstance(cost_model, str):
        return is_hierarchical(cost_model)
    return isinstance(cost_model, CostModel) and cost_model.hierarchical
