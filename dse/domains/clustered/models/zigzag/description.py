"""A layer and a machine as ZigZag's files describe them: plain data, for which ZigZag need not be there."""

from __future__ import annotations

from math import gcd
from typing import Any

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.models.zigzag.constants import Constants

WORD = 16
"""Bits of an element."""

DIMS = {"K": "K", "C": "C", "Y": "OY", "X": "OX", "R": "FY", "S": "FX"}
LINKS = {"O": "O", "W": "I2", "I": "I1"}
EQUATIONS = {
    "CONV": "O[k][oy][ox]+=W[k][c][fy][fx]*I[c][iy][ix]",
    "DSCONV": "O[c][oy][ox]+=W[c][fy][fx]*I[c][iy][ix]",
}

MOVES = ("I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th")
"""Operands and directions: from and to the higher and the lower memory."""
MAC_ACCESSES = ("I1, tl", "I2, tl", "O, tl", "O, fl")


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


def machine_data(accelerator: Accelerator, constants: Constants, ticks: int = 1) -> dict[str, Any]:
    """The machine: L1s, L2, DRAM and PEs."""
    below, above = ("tl", "fl"), ("fh", "th")
    noc = accelerator.noc_bandwidth * WORD // ticks
    link = accelerator.offchip_bandwidth * WORD // ticks
    memories = {
        "l1": _memory(accelerator.l1_size, noc, constants.l1_pj, [], [below, above]),
        "l2": _memory(accelerator.l2_size, noc, constants.l2_pj, ["D1"], [below, above]),
        "dram": _memory(2**40, link, constants.dram_pj, ["D1"], [(*below, *above)]),
    }
    # A PE's own accesses never make it wait: 2 reads, a read and a write of a word each have a port.
    memories["l1"]["ports"] = [
        *(_port(2 + index, noc, [move]) for index, move in enumerate(MAC_ACCESSES)),
        memories["l1"]["ports"][1],
    ]
    return {
        "name": "machine",
        "memories": memories,
        "operational_array": {
            "is_imc": False,
            "unit_energy": constants.mac_pj,
            "unit_area": 0,
            "dimensions": ["D1"],
            "sizes": [accelerator.num_pes],
            "systolic_dimensions": [],
        },
    }


def _padding(layer: Layer) -> list[list[int]]:
    """Of rows and columns, the padding before and after, as far as any output uses it."""
    pairs = []
    for axis, (size, window) in enumerate(((layer.Y, layer.R), (layer.X, layer.S))):
        used = (layer.output[axis] - 1) * layer.stride[axis] + (window - 1) * layer.dilation[axis] + 1
        pairs.append([layer.padding[axis], max(0, used - layer.padding[axis] - size)])
    return pairs


def _port(index: int, width: int, allocation: list[str]) -> dict[str, Any]:
    """A port of `width` bits that moves whole words."""
    return {
        "name": f"rw_port_{index}",
        "type": "read_write",
        "bandwidth_min": min(WORD, width),
        "bandwidth_max": width,
        "allocation": allocation,
    }


def _memory(
    elements: int, width: int, element_pj: float, served: list[str], ports: list[tuple[str, ...]]
) -> dict[str, Any]:
    """A memory of all tensors, each of whose ports serves some directions of all."""
    access_pj = element_pj * width / WORD
    return {
        "size": elements * WORD,
        "r_cost": access_pj,
        "w_cost": access_pj,
        "area": 0,
        "latency": 1,
        "mem_type": "sram",
        "auto_cost_extraction": False,
        "force_double_buffering": False,
        "operands": ["I1", "I2", "O"],
        "ports": [
            _port(index, width, [move for move in MOVES if move.endswith(served_by)])
            for index, served_by in enumerate(ports)
        ],
        "served_dimensions": served,
    }


def held(layer: Layer, spans: dict[str, int]) -> dict[str, int]:
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
