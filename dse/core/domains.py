"""The kinds of designs, each found by an entry point; and problems by what a user names, whatever their kind.

The cost model decides: it declares the domain whose designs it prices. Nobody else asks which domain it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from dse.core.cost_model import AnyCostModel, Timed
from dse.core.cost_models import DEFAULT_COST_MODEL, class_of_spec
from dse.core.edges import WholeNetwork, layer_from_dict
from dse.core.hardware import parse_hardware
from dse.core.hardware_figures import HardwareFigures
from dse.core.layer import Layer
from dse.core.problem import AnyProblem, Hardware
from dse.core.proofs import Prover
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.plugins import entry_named, load_entry, names_of
from dse.support.toml import is_toml, read_toml

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "dse.domains"
"""The entry-point group under which any installed package offers a kind of designs."""

OURS = {
    "chains": "dse.optimum.chains.searched.domain:Chains",
    "clustered": "dse.domains.clustered.domain:Clustered",
    "codesign": "dse.optimum.codesign.domain:Codesigns",
    "levels": "dse.domains.levels.domain:Levels",
}
"""Our own entry points, for a checkout that was installed before it had them."""


class Domain(Protocol):
    """A kind of designs: how its hardware, spaces and problems are made of what a user names.

    A class that is made without arguments, under its name in the entry-point group `dse.domains`. Layers are
    those of networks, whatever the kind. `read_space` gives what `make_problem` takes as `space`: anything
    with a `name`, `default` of what a user gets who names none.
    """

    name: str
    hardware_kind: str
    """What `dse list` calls its hardware, such as `accelerators`."""
    formats: Mapping[str, str]
    """The formats that its designs are written in: by name, what each is."""
    case_figures: Mapping[str, str]
    """The figures of a case's result, and how a table calls them."""
    hardware_figures: HardwareFigures | None
    """The figures that a space of hardware may choose; None where that is not known."""
    proof_seconds: float | None
    """How long `dse certify` proves if it is not told; None without a limit."""
    proves_any_tiles: bool
    """Whether proofs are over tiles of any size where nothing is said and they can be."""
    bench_hardware: tuple[str, ...]
    """The presets that `dse bench cost` prices designs on if it is not told."""

    def make_problem(
        self,
        layer: Layer,
        hardware: Any,
        objective: str,
        cost_model: str | AnyCostModel,
        tiles: str,
        fixed: Mapping[str, Any],
        space: Any,
        area_budget: float | None,
    ) -> AnyProblem:
        """The problem of a layer on hardware of the domain. InputError for what does not go together."""

    def load_hardware(self, name: str, cost_model: str | AnyCostModel) -> Hardware:
        """The hardware that a name stands for, a preset or a file, under a cost model of the domain."""

    def hardware_from_dict(self, data: Any) -> Hardware:
        """The hardware in plain data; InputError where it is not right."""

    def hardware(self) -> list[dict[str, Any]]:
        """The presets: `name`, `sentence`, and whatever else there is to say of each."""

    def read_space(self, given: Any, hardware: Mapping[str, Any], where: str) -> Any:
        """What `make_problem` takes as `space`: a name or a table, and figures of the hardware besides.

        `where` names the space in messages.
        """

    def parse_fixed(self, texts: Iterable[str], space: Any) -> dict[str, Any]:
        """What texts such as `outer.parallel=K` fix of a space."""

    def price_cases(self, model: str, path: str, *, detail: bool) -> list[dict[str, Any]]:
        """The results of the cases in a file of JSON lines, as plain data in their order."""

    def timed(self, problem: Any, genes: IntArray) -> Timed:
        """What prices the designs of some points on a number of threads, for `dse bench cost`."""

    def prover(self, problem: Any) -> Prover:
        """What proves the problem's optimum; InputError where its cost model brings nothing to proofs."""


def installed_domains() -> tuple[str, ...]:
    """The installed kinds of designs, by name, in order."""
    return names_of(_entries())


@cache
def domain_named(name: str) -> Domain:
    """The kind of designs of that name; InputError if there is none, or if it cannot be loaded."""
    loaded, origin = load_entry(entry_named(name, _entries(), "domain"), "domain")
    made: Domain = loaded()
    if made.name != name:
        raise InputError(f"{origin} calls itself {made.name!r}; its name must be that of the entry point")
    return made


def domain_of(cost_model: str | AnyCostModel | object) -> Domain:
    """The kind of designs that a cost model prices, given in words or made."""
    found = class_of_spec(cost_model) if isinstance(cost_model, str) else cost_model
    return domain_named(getattr(found, "domain", domain_of_default()))


@cache
def domain_of_default() -> str:
    """The kind of designs of whatever prices and declares none: an object or a function of a user's own."""
    return class_of_spec(DEFAULT_COST_MODEL).domain


def make_problem(
    layer: Layer,
    hardware: str | Any,
    objective: str = "latency",
    cost_model: str | AnyCostModel = DEFAULT_COST_MODEL,
    tiles: str = "factors",
    fixed: Mapping[str, Any] | None = None,
    space: Any = "default",
    area_budget: float | None = None,
    limits: Sequence[str] = (),
) -> AnyProblem:
    """The problem of a layer on `hardware`, which is it, or names it by a preset or a file.

    `limits` are texts such as `l2_use <= 0.8`: see `dse.core.limits`.
    """
    kind = domain_of(cost_model)
    found = class_of_spec(cost_model) if isinstance(cost_model, str) else cost_model
    given: Any = layer
    if isinstance(given, WholeNetwork) and not found.prices_networks:
        raise InputError(f"{given.name} is {given}: cost model {found.name!r} prices one layer")
    machine = kind.load_hardware(hardware, cost_model) if isinstance(hardware, str) else hardware
    made = kind.make_problem(layer, machine, objective, cost_model, tiles, fixed or {}, space, area_budget)
    if not limits:
        return made
    if not hasattr(made, "limits"):
        raise InputError(f"cost model {found.name!r} is of designs without limits: leave {limits[0]!r} out")
    return made.with_changes(limits=limits)


def problem_from_identity(identity: Mapping[str, Any]) -> AnyProblem:
    """The problem that a record names, by its identity's part `problem`; InputError where it is not right."""
    space = identity["space"]
    parts = {"layer": layer_of_identity(identity), "accelerator": space["accelerator"]}
    return problem_from_definition({**space, **identity, **parts}, identity["cost_model"])


def problem_from_definition(
    definition: Mapping[str, Any], cost_model: str, layer: str | None = None
) -> AnyProblem:
    """The problem of a `definition_of`, under a cost model; `layer` is what its layer is called then.

    A domain that has got other defaults since the first definitions has `fixed_as_written`, which says what
    these meant.
    """
    named = {} if layer is None else {"name": layer}
    fixed_as_written = getattr(domain_of(cost_model), "fixed_as_written", dict)
    return make_problem(
        layer_from_dict({**definition["layer"], **named}),
        hardware_from_dict(definition["accelerator"], cost_model),
        definition["objective"],
        cost_model,
        definition["tiles"],
        fixed_as_written(definition["fixed"]),
        definition.get("parts") or "default",
        definition.get("area_budget"),
        definition.get("limits") or (),
    )


def prover_of(problem: AnyProblem) -> Prover:
    """What proves the problem's optimum; InputError where its cost model brings nothing to proofs."""
    return domain_of(problem.model).prover(problem)


def calibration_of(model: str) -> Any:
    """The module that calibrates by samples of a cost model's domain; InputError if none does."""
    name = getattr(domain_of(model), "calibration_module", "")
    if not name:
        raise InputError(
            f"to machines of cost model {model!r} nothing is fitted; to those of 'loopnest' it is"
        )
    from importlib import import_module

    return import_module(name)


def preset_of(problem: AnyProblem) -> str | None:
    """The name of the preset that the problem's hardware is, if it is one."""
    given = problem.accelerator.to_dict()
    presets = domain_of(problem.model).hardware()
    return next((str(one["name"]) for one in presets if given.items() <= one.items()), None)


def definition_of(problem: AnyProblem) -> dict[str, Any]:
    """All that is needed to make the problem again under its cost model, as plain data."""
    return {
        "layer": problem.layer.to_dict(),
        "accelerator": problem.accelerator.to_dict(),
        "objective": problem.objective,
        **problem.options,
    }


def layer_of_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """A problem's layer: as it is, where the cost model prices it so, else the lowered one of the space."""
    layer: dict[str, Any] = identity["layer"]
    return layer if "stride" in layer else identity["space"]["layer"]


def load_hardware(name: str, cost_model: str | AnyCostModel) -> Hardware:
    """The hardware that a name stands for under a cost model."""
    return domain_of(cost_model).load_hardware(name, cost_model)


def load_space(name: str, cost_model: str, hardware: Iterable[str] = ()) -> Any:
    """What a Problem takes for its space: by its name or its TOML file, and figures of the hardware to open.

    A figure is told as `l1_size=128,256`, see `dse.core.hardware`.
    """
    where = f"space file {name!r}" if is_toml(name) else "space"
    given = read_toml(name, where) if is_toml(name) else name
    if given == {}:
        raise InputError(f"{where} is empty: say what differs from 'default', as in dims = \"KC\"")
    return read_space(given, cost_model, parse_hardware(hardware), where)


def read_space(
    given: object, cost_model: str | AnyCostModel, hardware: Mapping[str, Any], where: str = "space"
) -> Any:
    """What a Problem takes for its space: a name or a table, and figures of the hardware opened besides.

    `where` names the space in messages.
    """
    return domain_of(cost_model).read_space(given, hardware, where)


def hardware_from_dict(data: Any, cost_model: str) -> Hardware:
    """The hardware in the plain data of a problem's identity; InputError where it is not right."""
    return domain_of(cost_model).hardware_from_dict(data)


@cache
def _entries() -> tuple[EntryPoint, ...]:
    from importlib.metadata import EntryPoint, entry_points

    found = tuple(entry_points(group=GROUP))
    known = {entry.name for entry in found}
    return (*found, *(EntryPoint(name, at, GROUP) for name, at in OURS.items() if name not in known))
