"""A user's own network from a TOML file, checked strictly.

name = "tiny"
source = "optional: where the sizes come from"
[[layers]]                  # as dse.spec.layer.Layer.from_dict takes it
name = "conv1"              # optional: "layer0" for the first entry, and so on
type = "CONV"
...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dse.spec.layer import Layer
from dse.support.errors import InputError, shorten
from dse.support.toml import read_toml
from dse.support.validation import keys
from workloads.network import INDEX, Network, unpadded


def read_network(path: str, convention: str) -> Network:
    """The network in the TOML file at `path`; raises InputError naming the file, the place and a remedy."""
    where = f"network file {path!r}"
    data = read_toml(path, where)
    keys(data, where, required=("name", "layers"), optional=("source",))
    name = _text(data["name"], f"{where}: name")
    source = _text(data["source"], f"{where}: source") if "source" in data else path
    entries = data["layers"]
    if not isinstance(entries, list):
        raise InputError(f"{where}: layers must be [[layers]] tables, got {shorten(entries)}")
    if not entries:
        raise InputError(f"{where} has no layers; add at least one [[layers]] table")
    layers = _named(entries, where)
    try:
        if convention == "gamma":
            layers = [unpadded(layer) for layer in layers]
        return Network.of(name, source, layers)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _named(entries: Iterable[object], where: str) -> list[Layer]:
    """The layers of all entries, each with a name of its own."""
    places: dict[str, str] = {}
    layers = []
    for index, entry in enumerate(entries):
        place = f"{where}: layers[{index}]"
        label = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(label, str) and label:
            place += f" {shorten(label)}"
        layer = Layer.from_dict(entry, place)
        name = _layer_name(layer.name or f"layer{index}", place)
        if name in places:
            raise InputError(f"{place}: the name {shorten(name)} is taken by {places[name]}; rename one")
        places[name] = f"layers[{index}]"
        layers.append(replace(layer, name=name))
    return layers


def _layer_name(name: str, place: str) -> str:
    """A name by which `FILE.toml:name` finds the layer."""
    _text(name, f"{place}: name")
    if ":" in name or INDEX.fullmatch(name):
        raise InputError(
            f"{place}: name must not be a number or hold ':', since FILE.toml:3 is the layer at 3"
        )
    return name


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{what} must be a line of text, got {shorten(value)}")
    return value
