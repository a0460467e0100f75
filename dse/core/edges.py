"""Which layer reads what another one makes, and the chains that layers are in; whole networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from dse.core.layer import Layer
from dse.support.errors import InputError, unknown_name
from dse.support.validation import check_table

INPUT, WEIGHT, BESIDE = "I", "W", ""
OUTPUT = "O"

ROWS = "K"
"""What an operator needs that needs all columns of a row, or all channels of a place."""
EVERYTHING = "BKYX"
"""What an operator needs that needs all of a tensor, or of which nobody knows what it needs."""


@dataclass(frozen=True)
class Edge:
    """The layer `reader` reads what `source` makes, as its `operand`: INPUT, or WEIGHT of a product.

    BESIDE is of what is no layer: an operator such as a sum, done as `reader` makes its own output.

    `whole` are the dims of what `source` makes, in the order of EVERYTHING, that operators between have to
    see whole before they can make any part of what is read: K (its channels or columns), Y and X (its rows
    and columns of places; a product has its rows in Y), B (its runs: samples, heads, groups). It is empty
    for an operator element by element, ROWS for a softmax over a row, EVERYTHING for a transposition, for a
    window of pooling, and for what is not declared.
    """

    source: str
    reader: str
    operand: str = INPUT
    whole: str = ""

    @property
    def whole_rows(self) -> bool:
        """Whether all columns of a row are needed."""
        return "K" in self.whole

    def to_list(self) -> list[Any]:
        """It as plain data. What needs nothing whole, or rows, says so as records have always said it."""
        whole = self.whole if self.whole not in ("", ROWS) else self.whole_rows
        return [self.source, self.reader, self.operand, whole]

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> Edge:
        """The edge in the plain data of `to_list`."""
        source, reader, operand, whole = data
        named = ROWS if whole is True else whole or ""
        return cls(str(source), str(reader), str(operand), str(named))


@dataclass(frozen=True)
class Chain:
    """Layers that read each other's outputs, in running order.

    All of it is run `times`; of one such run, a layer is run as often as its `repeats` say.

    `edges` are all that read a layer's output, but for what `also_read` says: names of layers whose output
    something else needs off the chip too, each with what that is, in words for a user: an output of the
    model, a state that outlives the run, an operator or a layer that no edge names, or that nobody knows.
    """

    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    times: int = 1
    also_read: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The layers' names."""
        return tuple(layer.name for layer in self.layers)

    def place(self, name: str) -> int:
        """Where in the chain the layer of that name is."""
        return self.names.index(name)

    def read_by(self, reader: str) -> tuple[Edge, ...]:
        """What a layer reads."""
        return tuple(edge for edge in self.edges if edge.reader == reader)

    def readers_of(self, source: str) -> tuple[Edge, ...]:
        """What reads a layer's output."""
        return tuple(edge for edge in self.edges if edge.source == source)


def ordered_dims(dims: str) -> str:
    """Dims once each, in the order of EVERYTHING."""
    return "".join(dim for dim in EVERYTHING if dim in dims)


def see_edges(edges: Iterable[Edge], names: Sequence[str], where: str) -> None:
    """InputError unless every edge goes from a layer to a later one, which has one tensor an operand."""
    taken: set[tuple[str, str]] = set()
    for edge in edges:
        if edge.source not in names:
            raise unknown_name("layer", edge.source, names, f"{where}: {edge.reader} reads")
        if names.index(edge.source) >= names.index(edge.reader):
            raise InputError(
                f"{where}: {edge.reader} reads {edge.source}, which must stand before it: layers are in the "
                "order in which they run"
            )
        place = (edge.reader, edge.operand)
        if edge.operand != BESIDE and place in taken:
            raise InputError(f"{where}: {edge.reader} reads two layers as one operand; name one of them")
        taken.add(place)


def has_runs_of_groups(layer: Layer) -> bool:
    """Whether a layer's groups become runs, which no run of a layer without them answers to.

    Groups of one channel in and one out are all done in one run.
    """
    return layer.groups > 1 and not layer.groups == layer.C == layer.K


def chains_of(
    layers: Sequence[Layer],
    edges: Sequence[Edge],
    also_read: Iterable[tuple[str, str]] = (),
    times: int = 1,
) -> tuple[Chain, ...]:
    """The chains of named layers in running order: those that edges connect, with two layers or more.

    The runs that layers have in common are apart from each other, each a run of the chain. Where an operator
    between needs all runs of a layer, only `times` are known to be: a model's equal blocks, one by one.
    """
    also_read = tuple(also_read)
    group = {layer.name: place for place, layer in enumerate(layers)}
    for edge in edges:
        old, new = group[edge.reader], group[edge.source]
        group = {name: new if one == old else one for name, one in group.items()}
    found = []
    for number in dict.fromkeys(group.values()):
        inside = [layer for layer in layers if group[layer.name] == number]
        if len(inside) > 1:
            names = {layer.name for layer in inside}
            read = tuple(edge for edge in edges if edge.reader in names)
            apart = 0 if not any("B" in edge.whole for edge in read) else times
            each = gcd(apart, *(layer.repeats for layer in inside))
            others = tuple((name, why) for name, why in also_read if name in names)
            found.append(Chain(tuple(inside), read, each, others))
    return tuple(found)


@dataclass(frozen=True)
class WholeNetwork:
    """Layers with their repeats, in the place of a layer."""

    name: str
    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...] = ()
    """Which of them reads what another makes, of a chain: its layers are in running order."""
    also_read: tuple[tuple[str, str], ...] = ()
    """Whose output something else reads too, and what that is: see dse.core.edges.Chain."""

    repeats = 1
    """Of the whole: those of the layers are theirs."""

    def __str__(self) -> str:
        return f"{len(self.layers):,} {'layers in a chain' if self.edges else 'distinct layers'}"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run, repeats included."""
        return sum(layer.macs * layer.repeats for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """The layers as plain data; names are of no figure, but for edges."""
        layers = [layer.to_dict() | {"repeats": layer.repeats} for layer in self.layers]
        if not self.edges:
            return {"layers": layers}
        named = [one | {"name": layer.name} for one, layer in zip(layers, self.layers, strict=True)]
        found = {"layers": named, "edges": [edge.to_list() for edge in self.edges]}
        return found | ({"also_read": [list(one) for one in self.also_read]} if self.also_read else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WholeNetwork:
        """The network in the plain data of `to_dict`."""
        layers = data["layers"]
        if not isinstance(layers, list) or not layers:
            raise InputError("network: it has no layers")
        found = (Layer.from_dict(one, f"network: layers[{place}]") for place, one in enumerate(layers))
        edges = (Edge.from_list(edge) for edge in data.get("edges", ()))
        others = tuple((str(name), str(why)) for name, why in data.get("also_read", ()))
        return cls(str(data.get("name", "network")), tuple(found), tuple(edges), others)


def layer_from_dict(data: object) -> Any:
    """What a problem has for its layer, in plain data: a Layer, or a WholeNetwork."""
    entry = check_table(data, "layer")
    return WholeNetwork.from_dict(entry) if "layers" in entry else Layer.from_dict(entry)
