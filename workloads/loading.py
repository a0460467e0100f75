"""Finding networks and layers by what the user calls them."""

from __future__ import annotations

from functools import cache
from os import PathLike, fspath

from dse.core.layer import Layer
from dse.core.names import YAML_FILES, is_network_file, split_name
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.toml import is_toml
from workloads.network import CONVENTIONS, Network
from workloads.tables import NETWORKS
from workloads.userfile import read_network


def load(name: str | PathLike[str], convention: str = "true") -> Network:
    """The network of a name in NETWORKS, or the one in the TOML, ONNX or YAML file at the path `name`.

    A transformer's name says behind an @ how it is run: `llama3-8b@decode=1,kv=32768,batch=16`.

    `convention="gamma"` gives sizes as GAMMA's and ArchGym's tables write them: unpadded inputs and
    stride 1, so that outputs differ from the true ones, and no classifier behind convolutions.
    """
    text = fspath(name)
    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS)
    if text.partition("@")[0] in NETWORKS:
        return _table(text, convention)
    if is_toml(text):
        return read_network(text, convention)
    if text.lower().endswith(YAML_FILES):
        from workloads.models.yaml_file import from_yaml

        return from_yaml(text).in_convention(convention)
    if is_network_file(text):
        from workloads.models.onnx_file import from_onnx

        return from_onnx(text).in_convention(convention)
    raise unknown_name("network", text.partition("@")[0], [*NETWORKS, "FILE.toml", "FILE.onnx", "FILE.yaml"])


def find(spec: str, convention: str = "true") -> tuple[Network, Layer | None]:
    """The network of "vgg16" or "vgg16:1", and the layer, if one is named."""
    name, key = split_name(spec)
    network = load(name, convention)
    if key == "":
        raise _no_layer(network, name, spec)
    return network, None if key is None else _pick(network, key, spec)


def load_layer(spec: str, convention: str = "true") -> Layer:
    """The layer of "vgg16:1" (counted from 0 among the distinct ones), "vgg16:conv1_2" or "FILE.toml:1".

    A network of a single layer needs no more than its name, as a problem of Timeloop's does.
    """
    network, layer = find(spec, convention)
    if layer is None and len(network.layers) == 1:
        return network.layers[0]
    if layer is None:
        raise _no_layer(network, spec, spec)
    return layer


def load_layers(spec: str, convention: str = "true") -> tuple[Layer, ...]:
    """Every distinct layer of "vgg16" or "FILE.toml", or the one of "vgg16:1"."""
    network, layer = find(spec, convention)
    return network.layers if layer is None else (layer,)


def load_part(spec: str) -> Network:
    """The network of "vgg16", or of "vgg16:conv1_2" one of that layer alone, run as often as it is there."""
    network, layer = find(spec)
    return network if layer is None else Network.of(spec, network.source, [layer])


def layer_specs(spec: str, convention: str = "true") -> tuple[str, ...]:
    """The layers of `load_layers(spec)` by name, as "vgg16:conv1_2": what `load_layer` takes."""
    name, _ = split_name(spec)
    return tuple(f"{name}:{layer.name}" for layer in load_layers(spec, convention))


@cache
def _table(name: str, convention: str) -> Network:
    return NETWORKS[name.partition("@")[0]].network(name, convention)


def _no_layer(network: Network, name: str, spec: str) -> InputError:
    return InputError(
        f"{spec!r} names no single layer; add one of its {len(network.layers)} as "
        f"{name}:0 or {name}:{network.layers[0].name}"
    )


def _pick(network: Network, key: str, spec: str) -> Layer:
    # A user's network goes by the name in its file; the spec says which file.
    with errors_within(shorten(spec, 200)):
        found: Layer = network.layer(key)
        return found
