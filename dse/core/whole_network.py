"""A network as one thing to be mapped: where a problem has a layer, some have all of a network's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.core.edges import Edge
from dse.core.layer import Layer
from dse.support.errors import InputError
from dse.support.validation import table


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
    entry = table(data, "layer")
    return WholeNetwork.from_dict(entry) if "layers" in entry else Layer.from_dict(entry)
