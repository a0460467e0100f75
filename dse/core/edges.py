"""Which layer reads what another one makes, and the chains that layers are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from dse.core.layer import Layer
from dse.support.errors import InputError, unknown

INPUT, WEIGHT, BESIDE = "I", "W", ""
OUTPUT = "O"


@dataclass(frozen=True)
class Edge:
    """The layer `reader` reads what `source` makes, as its `operand`: INPUT, or WEIGHT of a product.

    BESIDE is of what is no layer: an operator such as a sum, done as `reader` makes its own output. With
    `whole_rows` there is an operator between that needs all columns of a row, such as a softmax or a norm.
    """

    source: str
    reader: str
    operand: str = INPUT
    whole_rows: bool = False


@dataclass(frozen=True)
class Chain:
    """Layers that read each other's outputs, in running order.

    All of it is run `times`; of one such run, a layer is run as often as its `repeats` say.
    """

    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    times: int = 1

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


def see_edges(edges: Iterable[Edge], names: Sequence[str], where: str) -> None:
    """InputError unless every edge goes from a layer to a later one, which has one tensor an operand."""
    taken: set[tuple[str, str]] = set()
    for edge in edges:
        if edge.source not in names:
            raise unknown("layer", edge.source, names, f"{where}: {edge.reader} reads")
        if names.index(edge.source) >= names.index(edge.reader):
            raise InputError(
                f"{where}: {edge.reader} reads {edge.source}, which must stand before it: layers are in the "
                "order in which they run"
            )
        place = (edge.reader, edge.operand)
        if edge.operand != BESIDE and place in taken:
            raise InputError(f"{where}: {edge.reader} reads two layers as one operand; name one of them")
        taken.add(place)


def chains_of(layers: Sequence[Layer], edges: Sequence[Edge]) -> tuple[Chain, ...]:
    """The chains of named layers in running order: those that edges connect, with two layers or more."""
    group = {layer.name: place for place, layer in enumerate(layers)}
    for edge in edges:
        old, new = group[edge.reader], group[edge.source]
        group = {name: new if one == old else one for name, one in group.items()}
    found = []
    for number in dict.fromkeys(group.values()):
        inside = [layer for layer in layers if group[layer.name] == number]
        if len(inside) > 1:
            names = {layer.name for layer in inside}
            times = gcd(*(layer.repeats for layer in inside))
            found.append(Chain(tuple(inside), tuple(edge for edge in edges if edge.reader in names), times))
    return tuple(found)
