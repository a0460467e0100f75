"""A user's own network from a TOML file, checked strictly.

name = "tiny"
source = "optional: where the sizes come from"
[[layers]]                  # as dse.core.layer.Layer.from_dict takes it
name = "conv1"              # optional: "layer0" for the first entry, and so on
type = "CONV"
...
[[left_out]]                # optional: operators of the model it was made from that are no layers
operator = "Softmax"
count = 12
macs = 0                    # left out where they are not known

A layer that reads what another one makes says so: `reads = "scores"`, or of a product of two layers'
outputs `reads = ["queries", "keys"]`, of which one may be "". `beside = ["shortcut"]` is read by an operator
that is no layer, such as a sum, as the layer makes its output; `whole_rows = true` says that an operator
before the layer needs whole rows, such as a softmax.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from dse.core.edges import BESIDE, INPUT, ROWS, WEIGHT, Edge
from dse.core.layer import Layer
from dse.support.errors import InputError, shorten, within
from dse.support.schema import Limits, Schema, read
from dse.support.toml import read_toml
from dse.support.validation import INT64_MAX
from workloads.network import INDEX, LeftOut, Network

LINE = Limits("a line of text")


@dataclass(frozen=True)
class _LeftOutEntry(Schema):
    operator: Annotated[str, LINE]
    count: Annotated[int, Limits(ge=1, le=INT64_MAX)]
    macs: Annotated[int | None, Limits(ge=0, le=INT64_MAX)] = None
    reason: str = ""


@dataclass(frozen=True)
class _NetworkFile(Schema):
    name: Annotated[str, LINE]
    layers: Annotated[list[Any], Limits("one or more [[layers]] tables", min_length=1)]
    source: Annotated[str | None, LINE] = None
    left_out: list[_LeftOutEntry] = field(default_factory=list)


def read_network(path: str, convention: str) -> Network:
    """The network in the TOML file at `path`; raises InputError naming the file, the place and a remedy."""
    where = f"network file {path!r}"
    file = read(_NetworkFile, read_toml(path, where), where)
    name = _line(file.name, f"{where}: name")
    source = path if file.source is None else _line(file.source, f"{where}: source")
    edges: list[Edge] = []
    layers = _named(file.layers, where, edges)
    left_out = [LeftOut(**vars(entry)) for entry in file.left_out]
    with within(where):
        return Network.of(name, source, layers, left_out, edges).in_convention(convention)


def _named(entries: Iterable[object], where: str, edges: list[Edge]) -> list[Layer]:
    """The layers of all entries, each with a name of its own; what they read is added to the edges."""
    places: dict[str, str] = {}
    layers = []
    for index, entry in enumerate(entries):
        place = f"{where}: layers[{index}]"
        label = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(label, str) and label:
            place += f" {shorten(label)}"
        said, entry = _said_of_edges(entry)
        layer = Layer.from_dict(entry, place)
        name = _layer_name(layer.name or f"layer{index}", place)
        if name in places:
            raise InputError(f"{place}: the name {shorten(name)} is taken by {places[name]}; rename one")
        places[name] = f"layers[{index}]"
        layers.append(replace(layer, name=name))
        edges += _edges(name, said, place)
    return layers


def _said_of_edges(entry: object) -> tuple[dict[str, Any], object]:
    """What a layer's table says of what it reads, and the rest of the table."""
    if not isinstance(entry, dict):
        return {}, entry
    said = {key: value for key, value in entry.items() if key in ("reads", "beside", "whole_rows")}
    return said, {key: value for key, value in entry.items() if key not in said}


def _edges(name: str, said: dict[str, Any], place: str) -> list[Edge]:
    """The edges to a layer, of what its table says."""
    rows = said.get("whole_rows", False)
    if not isinstance(rows, bool):
        raise InputError(f"{place}: whole_rows must be true or false, got {shorten(rows)}")
    read = _layers_named(said.get("reads", []), f"{place}: reads")
    if len(read) > 2:
        raise InputError(
            f"{place}: reads names {len(read)} layers; a product has two operands, others beside"
        )
    beside = _layers_named(said.get("beside", []), f"{place}: beside")
    operands = zip(read, (INPUT, WEIGHT), strict=False)
    found = [Edge(source, name, operand, ROWS if rows else "") for source, operand in operands if source]
    return [*found, *(Edge(source, name, BESIDE) for source in beside)]


def _layers_named(value: object, what: str) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InputError(f"{what} must be the name of a layer or a list of names, got {shorten(value)}")
    return names


def _layer_name(name: str, place: str) -> str:
    """A name by which `FILE.toml:name` finds the layer."""
    _line(name, f"{place}: name")
    if ":" in name or INDEX.fullmatch(name):
        raise InputError(
            f"{place}: name must not be a number or hold ':', since FILE.toml:3 is the layer at 3"
        )
    return name


def _line(text: str, what: str) -> str:
    if not text.strip() or not text.isprintable():
        raise InputError(f"{what} must be {LINE.words}, got {shorten(text)}")
    return text
