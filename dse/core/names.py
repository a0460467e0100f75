"""How networks and their layers are named: `vgg16`, `FILE.toml`, `FILE.onnx` and a layer behind a colon.

`FILE.yaml` is a problem of Timeloop's or a workload of ZigZag's.
"""

from __future__ import annotations

YAML_FILES = (".yaml", ".yml")
NETWORK_FILES = (".toml", ".onnx", *YAML_FILES)
"""What the names of files that hold networks end in."""


def is_network_file(name: str) -> bool:
    """Whether a network's name is meant as a file's path."""
    return name.lower().endswith(NETWORK_FILES)


def split_name(spec: str) -> tuple[str, str | None]:
    """The network and, behind the last colon, the layer; a path may hold colons too."""
    network, colon, layer = spec.rpartition(":")
    if not colon or (is_network_file(spec) and not is_network_file(network)):
        return spec, None
    return network, layer
