"""Hidden problems, drawn: layers and machines of sizes as networks and chips have, chains, open machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dse.core.cost_models import class_of_spec
from dse.core.domains import hardware_from_dict, load_hardware
from dse.core.edges import Edge, WholeNetwork
from dse.core.layer import Layer
from dse.domains.codesign.reading import space_from_dict
from dse.domains.codesign.space import HardwareSpace
from dse.support.errors import InputError

OBJECTIVES = ("latency", "energy", "edp")
LARGE = 4096
"""Words of a memory of a machine of levels that may be drawn smaller or larger."""
CHAINS, CODESIGN = "chains", "codesign"


@dataclass(frozen=True)
class Drawn:
    """What a problem is made of: its layer, or chain, or network; its hardware; and what else."""

    layer: Any
    hardware: Any
    objective: str
    tiles: str = "factors"
    kind: str = "layer"


def draw_problem(rng: np.random.Generator, place: int, cost_model: str) -> Drawn:
    """The problem at a place of a suite, whose kind is that of its cost model."""
    model, made = class_of_spec(cost_model), partial(hardware_from_dict, cost_model=cost_model)
    if model.name == CHAINS:
        return Drawn(_chain(rng), made(_roomy_machine(rng, cost_model)), "edp", kind="chain")
    if model.name == CODESIGN:
        return Drawn(_network(rng, place), _open_machine(rng), "edp", kind="network")
    if model.prices_networks:
        known = "loopnest, maestro, timeloop, chains, codesign and the like"
        raise InputError(f"problems are drawn under {known}, got {cost_model!r}")
    objective = OBJECTIVES[place % len(OBJECTIVES)]
    layer = _layer(rng, place)
    if hasattr(model, "load_machine"):
        return Drawn(layer, made(_machine_of_levels(rng, cost_model)), objective)
    return Drawn(layer, made(_machine(rng)), objective, "any" if place % 4 == 3 else "factors")


def _chain(rng: np.random.Generator) -> WholeNetwork:
    """Two or three products, each of which reads what the one before it makes."""
    rows = int(rng.choice([64, 128, 256, 512]))
    widths = [int(width) for width in rng.choice([64, 128, 256, 320, 512, 768], int(rng.integers(3, 5)))]
    layers = tuple(
        replace(Layer.gemm(rows, wide, deep), name=f"product{number}")
        for number, (deep, wide) in enumerate(pairwise(widths), 1)
    )
    edges = tuple(Edge(one.name, two.name) for one, two in pairwise(layers))
    return WholeNetwork("chain", layers, edges)


def _network(rng: np.random.Generator, place: int) -> WholeNetwork:
    """Two layers of other kinds."""
    return WholeNetwork("network", tuple(_layer(rng, place + kind) for kind in range(2)))


def _roomy_machine(rng: np.random.Generator, cost_model: str) -> dict[str, Any]:
    """A machine whose outermost buffer takes everything: words can stay on chip. As plain data."""
    found = _machine_of_levels(rng, cost_model)
    outside, buffer = next(rows for rows in found.values() if isinstance(rows, list))[:2]
    buffer["keeps"], buffer["may_keep"] = outside["keeps"], []
    return found | {"name": "roomy"}


def _open_machine(rng: np.random.Generator) -> HardwareSpace:
    """A machine whose PEs and buffers are open, and whose area has a limit."""
    return space_from_dict(
        {
            "name": "open",
            "base": "edge",
            "cost_model": "loopnest",
            "hardware": {
                "num_pes": [32, 64, 128, 256],
                "l1_size": [32, 64, 128, 256],
                "l2_size": [4096 * 2**step for step in range(4)],
            },
            "constraints": {"area_mm2": float(rng.choice([0.3, 0.5, 0.8, 1.2]))},
        }
    )


def _layer(rng: np.random.Generator, place: int) -> Layer:
    """A convolution, a depthwise one, a pointwise one or a product, in turns, of sizes as networks have."""

    def one_of(*sizes: int) -> int:
        return int(rng.choice(sizes))

    channels = (24, 32, 48, 64, 96, 112, 128, 160, 192, 256, 320, 384, 512)
    side = one_of(7, 13, 14, 19, 20, 26, 28, 38, 40, 52, 56)
    kind = place % 4
    if kind == 0:
        window = one_of(3, 3, 5, 7)
        pad = window // 2
        outputs, inputs = one_of(*channels), one_of(3, *channels)
        return Layer("CONV", outputs, inputs, side, side, window, window, (1, 1), (pad, pad))
    if kind == 1:
        return Layer(
            "DSCONV", 1, one_of(*channels), side, side, 3, 3, (2, 2) if side > 20 else (1, 1), (1, 1)
        )
    if kind == 2:
        return Layer("CONV", one_of(*channels), one_of(*channels), side, side, 1, 1)
    rows, columns = one_of(1, 16, 49, 64, 128, 197, 384), one_of(64, 320, 768, 1024)
    return Layer.gemm(rows, columns, one_of(64, 256, 768, 1280))


def _machine(rng: np.random.Generator) -> dict[str, int]:
    """A machine between a small and a large one, its buffers tight or loose, as plain data."""
    pes = int(rng.choice([128, 168, 192, 256, 336, 384, 512, 768, 1024]))
    tight = bool(rng.integers(2))
    noc = int(rng.choice([8, 16, 32, 64]))
    return {
        "num_pes": pes,
        "l1_size": int(rng.choice([96, 128, 192] if tight else [512, 1024])),
        "l2_size": pes * int(rng.choice([64, 96] if tight else [384, 768])),
        "noc_bandwidth": noc,
        "offchip_bandwidth": max(2, noc // int(rng.choice([2, 4, 8]))),
    }


def _machine_of_levels(rng: np.random.Generator, cost_model: str) -> dict[str, Any]:
    """One that comes along, its memories above the PEs smaller or larger, as plain data."""
    side, rows = int(rng.choice([8, 16, 32])), int(rng.choice([2048, 4096, 8192, 16384]))
    gemmini = f"gemmini-{side}-{rows}-{int(rng.choice([256, 512, 1024]))}"
    name = str(rng.choice([gemmini, "eyeriss_like", "simple_weight_stationary", "simple_output_stationary"]))
    found: dict[str, Any] = load_hardware(name, cost_model).to_dict()
    for memory in next(rows for rows in found.values() if isinstance(rows, list)):
        if memory.get("size", 0) >= LARGE:
            memory["size"] = int(memory["size"] * rng.choice([0.5, 1, 2]))
    return found
