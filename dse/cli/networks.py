"""What commands and reports ask of networks: only the command line knows workloads; and their problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.core.problem import AnyProblem


def merged_layers(spec: str) -> dict[str, tuple[str, ...]]:
    """Of a network, or a layer's network, the layers that stand for others as well, with those.

    Of a single layer that is asked for by the name of another only that one: all else has its own name.
    """
    from workloads import find

    network, layer = find(spec)
    if layer is None:
        return network.merged
    others = network.merged.get(layer.name, ())
    return {layer.name: others} if spec.rpartition(":")[2] in others else {}


def note_merged(spec: str) -> None:
    """Say on stderr which layers are one, if any are, so that nobody looks for a name in vain."""
    text = merged_text(merged_layers(spec))
    if text:
        typer.echo(f"{spec}: {text}", err=True)


def merged_text(merged: Mapping[str, Sequence[str]]) -> str:
    """`equal layers are one, with the repeats of all: query is also key and value`; "" without any."""
    stand = [f"{name} is also {', '.join(others)}" for name, others in merged.items()]
    return f"equal layers are one, with the repeats of all: {'; '.join(stand)}" if stand else ""


def layers_asked(command: str, layer: str | None, network: str | None) -> dict[str, Layer]:
    """The layer that a command is for, or those of a network, by their full names."""
    from workloads import load, load_layer

    if layer is not None and network is None:
        return {layer: load_layer(layer)}
    if network is not None and layer is None:
        return {f"{network}:{found.name}": found for found in load(network).layers}
    raise InputError(f"{command} needs --layer LAYER or --network NETWORK, one of them")


@dataclass(frozen=True)
class ProblemOptions:
    """What options say of a problem beside its layer, machine and objective; None where one is not given."""

    tiles: str = "factors"
    space: str = "default"
    hardware: Iterable[str] | None = None
    fix: Iterable[str] | None = None
    area_budget: float | None = None
    limits: Sequence[str] | None = None


PLAIN = ProblemOptions()


def problems_asked(
    layers: Mapping[str, Layer],
    accelerator: str,
    objective: str,
    model: str,
    options: ProblemOptions = PLAIN,
    *,
    refuse: Callable[[AnyProblem], object] = lambda problem: None,
    named: bool = False,
) -> dict[str, AnyProblem]:
    """The problems of layers as options name them; what is wrong with one is said of the layer if `named`."""
    from dse.core.domains import domain_of, load_space, make_problem

    kind = domain_of(model)
    machine, parts = (
        kind.load_hardware(accelerator, model),
        load_space(options.space, model, options.hardware or []),
    )
    given: dict[str, Any] = {
        "tiles": options.tiles,
        "fixed": kind.parse_fixed(options.fix or [], parts),
        "space": parts,
        "area_budget": options.area_budget,
        "limits": options.limits or (),
    }
    problems = {}
    for spec, found in layers.items():
        try:
            problems[spec] = make_problem(found, machine, objective, model, **given)
            refuse(problems[spec])
        except InputError as error:
            raise InputError(f"{spec}: {error}" if named else str(error)) from None
    return problems


def problem_asked(
    layer: str, accelerator: str, objective: str, model: str, options: ProblemOptions = PLAIN
) -> AnyProblem:
    """The problem of one layer: see `problems_asked`."""
    from workloads import load_layer

    return problems_asked({layer: load_layer(layer)}, accelerator, objective, model, options)[layer]
