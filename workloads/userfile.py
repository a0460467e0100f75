"""A user's own network from a TOML file, checked strictly.

name = "tiny"
source = "optional: where the sizes come from"
readers = "all"             # optional: "some" if tables do not say all that reads a layer's output
times = 32                  # optional: equal blocks that run one by one, all of them in the layers' repeats
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
that is no layer, such as a sum, as the layer makes its output. `whole = "K"` says that an operator before the
layer needs that of what it reads as a whole, such as a softmax over rows (`whole_rows = true` says the same):
some of B (samples, heads), K (columns, channels), Y and X (rows and columns of places), or "everything"; a
list has an entry for each layer of `reads` and then of `beside`.
`also_read = "an output of the model"` says what else reads a layer's output: it is written off the chip.

A file says all readers, but for one with `readers = "some"`, or one made of a model that says nothing of
`readers`, as earlier versions made them: then what else reads a layer's output is not known, and none stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge, ordered_dims
from dse.core.layer import Layer
from dse.support.errors import InputError, errors_within, shorten
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import read_toml
from dse.support.validation import INT64_MAX
from workloads.network import INDEX, LeftOut, Network

LINE = Limits("a line of text")
SAID = ("reads", "beside", "whole", "whole_rows", "also_read")
"""What a layer's table says besides the layer: what it reads, and what reads it."""


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
    readers: Literal["all", "some"] | None = None
    times: Annotated[int, Limits(ge=1, le=INT64_MAX)] = 1
    left_out: list[_LeftOutEntry] = field(default_factory=list)


def read_network(path: str, convention: str) -> Network:
    """The network in the TOML file at `path`; raises InputError naming the file, the place and a remedy."""
    where = f"network file {path!r}"
    file = read_schema(_NetworkFile, read_toml(path, where), where)
    name = _line(file.name, f"{where}: name")
    source = path if file.source is None else _line(file.source, f"{where}: source")
    edges: list[Edge] = []
    elsewhere: dict[str, str] = {}
    layers = _named(file.layers, where, edges, elsewhere)
    left_out = [LeftOut(**vars(entry)) for entry in file.left_out]
    for place, entry in enumerate(file.left_out):
        _line(entry.operator, f"{where}: left_out[{place}].operator")
    made_of_model = source.lower().endswith(".onnx") or source.startswith("torch module ")
    if file.readers == "some" or (file.readers is None and made_of_model):
        why = "the file says some of its readers" if file.readers else "the file does not say all its readers"
        elsewhere = {edge.source: elsewhere.get(edge.source, why) for edge in edges} | elsewhere
    with errors_within(where):
        network = Network.of(name, source, layers, left_out, edges, elsewhere.items(), file.times)
        _see_times(network)
        return network.in_convention(convention)


def _see_times(network: Network) -> None:
    """InputError where layers whose runs are not apart otherwise are not run in so many blocks."""
    for chain in network.chains:
        odd = next((layer for layer in chain.layers if layer.repeats % network.times), None)
        if odd and any("B" in edge.whole for edge in chain.edges):
            raise InputError(
                f"times = {network.times} does not divide the {odd.repeats} runs of {odd.name}, which counts "
                "those of all blocks"
            )


def _named(
    entries: Iterable[object], where: str, edges: list[Edge], elsewhere: dict[str, str]
) -> list[Layer]:
    """The layers of all entries, each with a name of its own; what they read is added to the edges, and what
    else reads them to `elsewhere`.
    """
    places: dict[str, str] = {}
    layers = []
    for index, entry in enumerate(entries):
        place = f"{where}: layers[{index}]"
        label = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(label, str) and label:
            place += f" {shorten(label)}"
        said, entry = _said_of_edges(entry)
        layer = Layer.from_dict(entry, place, SAID)
        name = _layer_name(layer.name or f"layer{index}", place)
        if name in places:
            raise InputError(f"{place}: the name {shorten(name)} is taken by {places[name]}; rename one")
        places[name] = f"layers[{index}]"
        layers.append(replace(layer, name=name))
        edges += _edges(name, said, place)
        if "also_read" in said:
            if not isinstance(said["also_read"], str):
                why = shorten(said["also_read"])
                raise InputError(f"{place}: also_read must say in words what else reads it, got {why}")
            elsewhere[name] = _line(said["also_read"], f"{place}: also_read")
    return layers


def _said_of_edges(entry: object) -> tuple[dict[str, Any], object]:
    """What a layer's table says of what it reads, and the rest of the table."""
    if not isinstance(entry, dict):
        return {}, entry
    said = {key: value for key, value in entry.items() if key in SAID}
    return said, {key: value for key, value in entry.items() if key not in said}


def _edges(name: str, said: dict[str, Any], place: str) -> list[Edge]:
    """The edges to a layer, of what its table says."""
    read = _layers_named(said.get("reads", []), f"{place}: reads")
    if len(read) > 2:
        raise InputError(
            f"{place}: reads names {len(read)} layers; a product has two operands, others beside"
        )
    beside = _layers_named(said.get("beside", []), f"{place}: beside")
    named = [*zip(read, (INPUT, WEIGHT), strict=False), *((source, BESIDE) for source in beside)]
    whole = _wholes(said, len(read), len(beside), place)
    return [
        Edge(source, name, operand, dims)
        for (source, operand), dims in zip(named, whole, strict=True)
        if source
    ]


def _wholes(said: dict[str, Any], read: int, beside: int, place: str) -> list[str]:
    """What operators before a layer need whole of each layer that it reads, and then of each beside."""
    rows, whole = said.get("whole_rows", False), said.get("whole", "")
    if not isinstance(rows, bool):
        raise InputError(f"{place}: whole_rows must be true or false, got {shorten(rows)}")
    if "whole" in said and "whole_rows" in said:
        raise InputError(f'{place}: whole_rows = true is whole = "{ROWS}"; give one of both')
    if (whole or rows) and not isinstance(whole, list) and not read:
        raise InputError(f"{place}: whole is of what a layer reads; name that in reads, or give a list")
    if isinstance(whole, list):
        if len(whole) != read + beside:
            raise InputError(
                f"{place}: whole has {len(whole)} entries for {read + beside} layers of reads and beside"
            )
        return [_whole(one, place) for one in whole]
    dims = _whole(whole, place)
    return [ROWS if rows else dims] * read + [""] * beside


def _whole(whole: object, place: str) -> str:
    if whole == "everything":
        return EVERYTHING
    if not isinstance(whole, str) or set(whole) - set(EVERYTHING):
        raise InputError(
            f'{place}: whole must be "everything" or some of the dims {EVERYTHING}, got {shorten(whole)}'
        )
    return ordered_dims(whole)


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
