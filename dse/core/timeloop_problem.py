"""Timeloop's problem file: `timeloop-problem.yaml`, a convolution or a depthwise one, version 0.4.

K, Y and X are its M, P and Q. Padding and the rows that no filter reaches have no words there: a note has the
layer itself.
"""

from __future__ import annotations

from typing import Any

from dse.core.layer import Layer
from dse.support.strict_yaml import dump, with_note

NAMES = {"K": "M", "C": "C", "Y": "P", "X": "Q", "R": "R", "S": "S"}
"""How Timeloop's published problems call each dim."""
TENSORS = ["Weights", "Inputs", "Outputs"]
PROBLEM = "timeloop-problem.yaml"


def problem_text(layer: Layer, *, batch: bool = False) -> str:
    """The file; with `batch` there is a dim N of 1, as machines of levels have it."""
    about = f"{layer.name or 'layer'}: {layer}"
    text = dump(about, {"problem": _problem(layer, ["N"] if batch else [])})
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
