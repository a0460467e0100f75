"""Timeloop's files as both kinds of machines have them: the problem, and the directives of a mapping.

A directive says of its loops factors and a permutation.

Each key of a directive is read, or changes nothing, or is refused by name, as are two directives of a kind
for one target. Keys are those of Timeloop's `mapping/parser.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.core.layer import Layer
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.strict_yaml import dump_yaml, line_of, with_note

NAMES = {"K": "M", "C": "C", "Y": "P", "X": "Q", "R": "R", "S": "S"}
"""How Timeloop's published problems call each dim."""
TENSORS = ["Weights", "Inputs", "Outputs"]
PROBLEM = "timeloop-problem.yaml"
Counts = dict[str, tuple[int, int]]
"""By dim, how often a loop runs, and how often in the last round."""

READ = {
    "the file": ("mapping",),
    "temporal": ("target", "type", "factors", "permutation"),
    "spatial": ("target", "type", "factors", "permutation"),
    "dataspace": ("target", "type", "keep", "bypass"),
}
"""The keys that are read, by the type of the directive; a file's first."""
NO_CHANGE = {
    "the file": (
        "version",
        "architecture",
        "problem",
        "mapper",
        "components",
        "ERT",
        "ART",
        "globals",
        "variables",
    ),
    "temporal": (),
    "spatial": ("split",),
    "dataspace": (),
}
"""Keys known to change nothing: machine, layer and energies are those that are asked for beside the mapping,
and instances in a row or in a mesh cost the same."""
KEPT = ("dataspace", "datatype", "bypass")
"""The types of directives that say what a level keeps, in this version and in older ones."""
UNSAID_DIMS = ("N", "G", "H")
"""Dims of batches, groups and heads, which a permutation may have where the layer has them not."""

MAX_LETTERS = 400
"""Of the factors of a directive."""
_FACTOR = re.compile(r"([A-Za-z]+)\s*=?\s*([0-9]{1,10})(?:,([0-9]{1,10}))?")


def read_directives(data: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any], str, str]]:
    """The directives of a mapping file: where each stands, the directive, its target and its type.

    Types of older versions that say what a level keeps are `dataspace`. InputError for what is no mapping,
    for a key that is not known, and for two directives of one type and target.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("mapping"), list):
        raise InputError(f"{where} lacks 'mapping', a list of directives as Timeloop has it")
    _refuse_keys(data, "the file", where)
    seen: dict[tuple[str, str], str] = {}
    for place, entry in enumerate(data["mapping"]):
        at = f"{where}: mapping[{place}]"
        if not isinstance(entry, Mapping):
            raise InputError(f"{at} must be a table with target, type, factors and permutation")
        if lacks := [key for key in ("target", "type") if key not in entry]:
            raise InputError(f"{at} lacks {' and '.join(map(repr, lacks))}")
        target, kind = str(entry["target"]), str(entry["type"])
        kind = "dataspace" if kind in KEPT else kind
        if kind not in READ or kind == "the file":
            raise unknown_name("type", kind, ("temporal", "spatial", "dataspace"), at)
        _refuse_keys(entry, kind, at)
        if (target, kind) in seen:
            raise InputError(
                f"{at}: {target} has a {kind} directive already, {seen[target, kind]}; write one"
            )
        seen[target, kind] = f"mapping[{place}]"
        yield at, entry, target, kind


def _refuse_keys(table: Mapping[str, Any], kind: str, at: str) -> None:
    known = (*READ[kind], *NO_CHANGE[kind])
    for key in table:
        if key not in known:
            line = line_of(table, [key])
            raise unknown_name("key", key, known, at if line is None else f"{at}, line {line}")


def read_factors(given: Any, at: str, names: Mapping[str, str]) -> Counts:
    """`[M=4, C=2]`, or as one text, by our dims, whose `names` in the file say which; left out are 1s."""
    found: Counts = {}
    text = ",".join(map(str, given)) if isinstance(given, list) else str(given)
    if len(text) > MAX_LETTERS:
        raise InputError(f"{at}.factors must be at most {MAX_LETTERS} letters, got {shorten(given)}")
    for name, count, last in _FACTOR.findall(text):
        if name in names:
            found[names[name]] = (int(count), int(last or count))
        elif (int(count), last) != (1, ""):
            raise unknown_name("dim", name, names, f"{at}.factors")
    if _FACTOR.sub("", text).strip(", ") or any(
        min(pair) < 1 or pair[1] > pair[0] for pair in found.values()
    ):
        raise InputError(f"{at}.factors must be as in [M=4, C=2] or M=4,3, got {shorten(given)}")
    return found


def read_order(given: Any, at: str, names: Mapping[str, str], every: Sequence[str]) -> tuple[str, ...]:
    """A permutation, innermost first; those of `every` dim that it leaves out are outermost."""
    listed = [str(name) for name in given] if isinstance(given, list) else re.findall(r"[A-Za-z]", str(given))
    for name in listed:
        if name not in names and name not in UNSAID_DIMS:
            raise unknown_name("dim", name, names, f"{at}.permutation")
    dims = [names[name] for name in listed if name in names]
    if len(dims) != len(set(dims)):
        raise InputError(f"{at}.permutation must hold each dim once, got {shorten(given)}")
    return (*dims, *(dim for dim in every if dim not in dims))


def problem_text(layer: Layer, *, batch: bool = False) -> str:
    """The file PROBLEM, a convolution or a depthwise one, version 0.4; with `batch` a dim N of 1 too.

    K, Y and X are its M, P and Q. Padding and the rows that no filter reaches have no words there: a note has
    the layer itself.
    """
    about = f"{layer.name or 'layer'}: {layer}"
    text = dump_yaml(about, {"problem": _problem(layer, ["N"] if batch else [])})
    return with_note(text, "layer", {**layer.to_dict(), "name": layer.name})


def _problem(layer: Layer, batch: list[str]) -> dict[str, Any]:
    rows, columns = [["P", "Wstride"], ["R", "Wdilation"]], [["Q", "Hstride"], ["S", "Hdilation"]]
    samples = [[[dim]] for dim in batch]
    channels = ["M", "C"] if layer.type == "CONV" else ["C", "M"]
    # A depthwise layer's outputs have its channels, and M is 1.
    outputs = ["M"] if layer.type == "CONV" else ["C", "M"]
    spaces = {
        "Weights": [[[dim]] for dim in (*channels, "R", "S")],
        "Inputs": [*samples, [["C"]], rows, columns],
        "Outputs": [*samples, *([[dim]] for dim in (*outputs, "P", "Q"))],
    }
    steps = {
        "Wstride": layer.stride[0],
        "Hstride": layer.stride[1],
        "Wdilation": layer.dilation[0],
        "Hdilation": layer.dilation[1],
    }
    return {
        "version": 0.4,
        "shape": {
            "name": "CNN_Layer" if layer.type == "CONV" else "Depthwise_Layer",
            "dimensions": [*NAMES.values(), *batch],
            "coefficients": [{"name": name, "default": 1} for name in steps],
            "data_spaces": [
                {
                    "name": name,
                    "projection": projection,
                    **({"read_write": True} if name == "Outputs" else {}),
                }
                for name, projection in spaces.items()
            ],
        },
        "instance": {NAMES[dim]: size for dim, size in layer.loops.items()} | dict.fromkeys(batch, 1) | steps,
    }
