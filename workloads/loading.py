"""Finding networks and layers by what the user calls them."""

from __future__ import annotations

from functools import cache
from os import PathLike, fspath

from dse.spec.layer import Layer
from dse.support.errors import InputError, shorten, unknown, within
from dse.support.toml import is_toml
from workloads.network import CONVENTIONS, Network
from workloads.tables import NETWORKS
from workloads.userfile import read_network


def load(name: str | PathLike[str], convention: str = "true") -> Network:
    """The network of a name in NETWORKS, or the one in the TOML file at the path `name`.

    `convention="gamma"` gives sizes as GAMMA's and ArchGym's tables write them: unpadded inputs and
    stride 1, so that outputs differ from the true ones, and no classifier behind convolutions.
    """
    text = fspath(name)
    if convention not in CONVENTIONS:
        raise unknown("convention", convention, CONVENTIONS)
    if text in NETWORKS:
        return _table(text, convention)
    if is_toml(text):
        return read_network(text, convention)
    raise unknown("network", text, [*NETWORKS, "FILE.toml"])


def load_layer(spec: str, convention: str = "true") -> Layer:
    """The layer of "vgg16:1" (counted from 0 among the distinct ones), "vgg16:conv1_2" or "FILE.toml:1"."""
    name, key = _split(spec)
    network = load(name, convention)
    if key:
        return _pick(network, key, spec)
    raise InputError(
        f"{spec!r} names no single layer; add one of its {len(network.layers)} as "
        f"{name}:0 or {name}:{network.layers[0].name}"
    )


def load_layers(spec: str, convention: str = "true") -> tuple[Layer, ...]:
    """Every distinct layer of "vgg16" or "FILE.toml", or the one of "vgg16:1"."""
    name, key = _split(spec)
    if key is None:
        return load(name, convention).layers
    return (load_layer(spec, convention),)


def layer_specs(spec: str, convention: str = "true") -> tuple[str, ...]:
    """The layers of `load_layers(spec)` by name, as "vgg16:conv1_2": what `load_layer` takes."""
    name, _ = _split(spec)
    return tuple(f"{name}:{layer.name}" for layer in load_layers(spec, convention))


@cache
def _table(name: str, convention: str) -> Network:
    return NETWORKS[name].network(name, convention)


def _pick(network: Network, key: str, spec: str) -> Layer:
    # A user's network goes by the name in its file; the spec says which file.
    with within(shorten(spec, 200)):
        return network.layer(key)


def _split(spec: str) -> tuple[str, str | None]:
    """The network and, behind the last colon, the layer; a path may hold colons too."""
    network, colon, layer = spec.rpartition(":")
    if not colon or (is_toml(spec) and not is_toml(network)):
        return spec, None
    return network, layer
