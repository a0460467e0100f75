"""ZigZag: `zigzag-accelerator.yaml`, `zigzag-workload.yaml` and `zigzag-mapping.yaml` (zigzag-dse 3.9).

The machine is that of the cost model `zigzag`, with its default energies. The mapping has the spatial loops
and a complete temporal ordering, innermost first. ZigZag decides by itself which of these loops stay in which
memory: as many as fit. So L1 and L2 are as large as this mapping's tiles need them, and the next loop would
not fit; the accelerator's own sizes stand in the comment. Run it with `temporal_mapping_type="even"`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dse.core.cost_models import cost_model_class
from dse.core.layer import Layer
from dse.core.zigzag_workload import DIMS, LINKS, WORD, held_elements, layer_data
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.formats.zigzag_machine import machine_data
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import Nest, nest
from dse.support.errors import InputError
from dse.support.strict_yaml import dump_yaml

Loops = list[tuple[str, int]]
"""Dims and how often their loops run, innermost first."""


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The three files. InputError where tiles do not divide what they cut, or PEs idle in some steps."""
    loops = nest(layer, accelerator, mapping)
    if not loops.divides:
        raise InputError("format zigzag: each tile must divide what it cuts, for ZigZag has no edges")
    if not loops.even:
        raise InputError("format zigzag: PEs idle in some steps, which ZigZag's whole unrollings cannot say")
    levels = _levels(layer, mapping, loops)
    energies: Any = cost_model_class("zigzag").settings_type
    machine = machine_data(accelerator, energies())
    for name, elements in _sizes(layer, accelerator, loops, levels).items():
        machine["memories"][name] |= {"size": elements * WORD, "force_double_buffering": True}
    head = f"{accelerator.num_pes} PEs; L1 of {accelerator.l1_size}, L2 of {accelerator.l2_size} elements"
    workload = [layer_data(layer) | {"operator_type": "Conv"}]
    return {
        "zigzag-accelerator.yaml": dump_yaml(f"{head}: here as large as the mapping needs", machine),
        "zigzag-workload.yaml": dump_yaml(f"{layer.name or 'layer'}: {layer}", workload),
        "zigzag-mapping.yaml": dump_yaml("Innermost loops first", [_mapping(loops, levels)]),
    }


def _levels(layer: Layer, mapping: Mapping, loops: Nest) -> tuple[Loops, Loops, Loops]:
    """The temporal loops of L1, L2 and DRAM that run more than once."""
    inside = [("S", layer.S), ("R", layer.R), *loops.tile.items()]
    inner = [(dim, loops.inner[dim]) for dim in reversed(mapping.inner.order) if dim in loops.inner]
    outer = [(dim, loops.outer[dim]) for dim in reversed(mapping.outer.order) if dim in loops.outer]
    found = [[(dim, count) for dim, count in level if count > 1] for level in (inside, inner, outer)]
    return found[0], found[1], found[2]


def _mapping(loops: Nest, levels: tuple[Loops, Loops, Loops]) -> dict[str, Any]:
    spatial = [f"{DIMS[dim]}, {round(count)}" for dim, count in loops.pes.items() if count > 1]
    # Where one PE works, ZigZag is told so: it would choose an unrolling itself.
    spatial = spatial or [f"{DIMS['C']}, 1"]
    return {
        "name": "default",
        "spatial_mapping": {"D1": spatial},
        "temporal_ordering": [[DIMS[dim], count] for level in levels for dim, count in level],
        "memory_operand_links": dict(LINKS),
    }


def _sizes(
    layer: Layer, accelerator: Accelerator, loops: Nest, levels: tuple[Loops, Loops, Loops]
) -> dict[str, int]:
    """Elements of L1 and L2 such that ZigZag keeps just the loops of that level and those inside in each."""
    temporal = [loop for level in levels for loop in level]
    spread = {dim: round(count) for dim, count in loops.pes.items()}
    found = {}
    for name, count, spatial, most in (
        ("l1", len(levels[0]), {}, accelerator.l1_size),
        ("l2", len(levels[0]) + len(levels[1]), spread, accelerator.l2_size),
    ):
        needs = [_needed(layer, temporal, many, spatial) for many in range(len(temporal) + 1)]
        least = max(needs[: count + 1])
        beyond = min(needs[count + 1 :], default=None)
        if beyond is not None and beyond <= needs[count]:
            raise InputError(
                f"format zigzag: ZigZag would keep more loops in {name.upper()} than the mapping does"
            )
        found[name] = max(least, most if beyond is None else min(most, beyond - 1))
    return found


def _needed(layer: Layer, temporal: Loops, count: int, spatial: dict[str, int]) -> int:
    """What ZigZag holds of all operands with the innermost `count` loops: twice, if there is more to come."""

    def spans(loops: Loops) -> dict[str, int]:
        return {
            dim: spatial.get(dim, 1) * prod(number for name, number in loops if name == dim) for dim in DIMS
        }

    some, whole = held_elements(layer, spans(temporal[:count])), held_elements(layer, spans(temporal))
    return sum(2 * size if size < whole[name] else size for name, size in some.items())
