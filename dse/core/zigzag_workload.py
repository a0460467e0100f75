"""A layer and a machine as ZigZag's files describe them: plain data, for which ZigZag need not be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from dse.core.layer import Layer

WORD = 16
"""Bits of an element."""

DIMS = {"K": "K", "C": "C", "Y": "OY", "X": "OX", "R": "FY", "S": "FX"}
LINKS = {"O": "O", "W": "I2", "I": "I1"}
EQUATIONS = {
    "CONV": "O[k][oy][ox]+=W[k][c][fy][fx]*I[c][iy][ix]",
    "DSCONV": "O[c][oy][ox]+=W[c][fy][fx]*I[c][iy][ix]",
}


def layer_data(layer: Layer, word: int = WORD) -> dict[str, Any]:
    """The layer with its stride, dilation and padding, in words of so many bits."""
    sizes = layer.loops
    names = [dim for dim in DIMS if layer.type == "CONV" or dim != "K"]
    return {
        "id": 0,
        "name": layer.name or "layer",
        "operator_type": "layer",
        "equation": EQUATIONS[layer.type],
        "loop_dims": [DIMS[dim] for dim in names],
        "loop_sizes": [sizes[dim] for dim in names],
        "dimension_relations": [
            f"{inputs}={stride}*{outputs}+{dilation}*{window}"
            for inputs, outputs, window, stride, dilation in zip(
                ("iy", "ix"), ("oy", "ox"), ("fy", "fx"), layer.stride, layer.dilation, strict=True
            )
        ],
        "operand_precision": dict.fromkeys(("O", "O_final", "W", "I"), word),
        "operand_source": {"I": 0, "W": 0},
        "pr_loop_dims": ["IY", "IX"],
        "padding": _padding(layer),
        "pr_loop_sizes": None,
    }


def array_data(
    name: str, memories: Mapping[str, Any], mac_pj: float, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """A machine of these memories, and an array of MACs of these `sizes`, by dim."""
    return {
        "name": name,
        "memories": memories,
        "operational_array": {
            "is_imc": False,
            "unit_energy": mac_pj,
            "unit_area": 0,
            "dimensions": list(sizes),
            "sizes": list(sizes.values()),
            "systolic_dimensions": [],
        },
    }


def memory_data(
    bits: int, read_pj: float, write_pj: float, operands: Sequence[str], ports: Sequence[Any]
) -> dict[str, Any]:
    """A memory; energies are those of what a port moves in a cycle."""
    return {
        "size": bits,
        "r_cost": read_pj,
        "w_cost": write_pj,
        "area": 0,
        "latency": 1,
        "mem_type": "sram",
        "auto_cost_extraction": False,
        "force_double_buffering": False,
        "operands": list(operands),
        "ports": list(ports),
    }


def port_data(name: str, kind: str, least: int, most: int, allocation: Sequence[str]) -> dict[str, Any]:
    """A port that moves so many bits in a cycle."""
    found = {"name": name, "type": kind, "bandwidth_min": least, "bandwidth_max": most}
    return {**found, "allocation": list(allocation)}


def _padding(layer: Layer) -> list[list[int]]:
    """Of rows and columns, the padding before and after, as far as any output uses it."""
    pairs = []
    for axis, (size, window) in enumerate(((layer.Y, layer.R), (layer.X, layer.S))):
        used = (layer.output[axis] - 1) * layer.stride[axis] + (window - 1) * layer.dilation[axis] + 1
        pairs.append([layer.padding[axis], max(0, used - layer.padding[axis] - size)])
    return pairs


def held_elements(layer: Layer, spans: dict[str, int]) -> dict[str, int]:
    """Elements of each operand in a tile of these spans, by dim, as ZigZag counts them."""
    inputs = spans["C"]
    for axis, (dim, window) in enumerate((("Y", "R"), ("X", "S"))):
        whole = _reach(layer, axis, layer.output[axis], layer.loops[window]) - sum(_padding(layer)[axis])
        inputs *= min(whole, _reach(layer, axis, spans[dim], spans[window]))
    channels = spans["K"] * spans["C"]
    outputs = spans["K"] if layer.type == "CONV" else spans["C"]
    return {"I": inputs, "W": channels * spans["R"] * spans["S"], "O": outputs * spans["Y"] * spans["X"]}


def _reach(layer: Layer, axis: int, outputs: int, window: int) -> int:
    """Rows (or columns) of inputs that so many outputs read with so many rows of the filter."""
    stride, dilation = layer.stride[axis], layer.dilation[axis]
    common = gcd(stride, dilation)
    return outputs * window - max(0, window - stride // common) * (outputs - dilation // common)
