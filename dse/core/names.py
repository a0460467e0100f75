"""How users name what they bring.

Networks and their layers: `vgg16`, `FILE.toml`, `FILE.onnx`, and a layer behind a colon; `FILE.yaml` is a
problem of Timeloop's or a workload of ZigZag's. Functions: of a module, `my_costs:price`, or of a file,
`./my_costs.py:price`. The dims of a matrix product: M, N and K, where mappings have a convolution's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dse.core.layer import PRODUCT_DIMS, Layer
from dse.support.errors import InputError

IN_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
IN_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_][\w.]*)", re.DOTALL)
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


def names_function(text: str) -> bool:
    """Whether a text is a function's name."""
    return bool(IN_MODULE.fullmatch(text) or IN_FILE.fullmatch(text))


def file_of(name: str) -> str | None:
    """The path in a function's name; None if it is of a module."""
    found = IN_FILE.fullmatch(name)
    return found["path"] if found else None


def name_beside(name: str, folder: Path) -> str:
    """A function's name as seen from a file in `folder`: a path there, if there is such a file."""
    path = file_of(name)
    if path is None or not os.path.isfile(folder / path):
        return name
    return str(folder / path) + name.removeprefix(path)


def without_folders(name: str) -> str:
    """The name with the file's own instead of its path: where a file lies says nothing of its figures."""
    path = file_of(name)
    return name if path is None else Path(path).name + name.removeprefix(path)


def dim_names(layer: Layer, called: Mapping[str, str] | None = None) -> dict[str, str]:
    """By the dims of mappings, their names; none of other layers. `called` are dims that a domain renames."""
    if layer.product is None:
        return {}
    return {(called or {}).get(dim, dim): name for dim, name in PRODUCT_DIMS.items()}


def naming_line(layer: Layer, called: Mapping[str, str] | None = None) -> str:
    """How mapping files, genes and --fix name the dims of a matrix product; "" of any other layer."""
    names = ", ".join(f"{name} is {dim}" for dim, name in dim_names(layer, called).items())
    return names and f"in mapping files, genes and --fix: {names}"


@contextmanager
def refused_with(hint: str) -> Iterator[None]:
    """Within, an InputError ends with the hint, in brackets; "" is none."""
    try:
        yield
    except InputError as error:
        if not hint:
            raise
        raise InputError(f"{error} ({hint})") from None
