"""ZigZag's cost model (Mei et al., IEEE Trans. Computers 2021; zigzag-dse) on our machine and our mappings.

The machine is `loopnest`'s: one L1 a PE, an L2, a DRAM, each holding all three tensors, of the same sizes and
with the same energies an element. Each memory has one width, so that an element costs the same on all of its
ports: L1 and L2 that of the NoC, DRAM that of its link. A PE reaches its L1 through ports of their own.

A mapping's tiles, orders and parallel dims become ZigZag's temporal loops of L1, L2 and DRAM and its spatial
loops between L1 and L2. ZigZag has no edges: a dim of 7 on 4 PEs takes two steps of 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from zigzag.cost_model.cost_model import CostModelEvaluation
from zigzag.datatypes import LayerDim, LayerOperand, MemoryOperand
from zigzag.hardware.architecture.accelerator import Accelerator as ZigZagAccelerator
from zigzag.mapping.data_movement import DataDirection, DataMoveAttr
from zigzag.mapping.spatial_mapping import SpatialMapping, SpatialMappingHint
from zigzag.mapping.spatial_mapping_internal import SpatialMappingInternal
from zigzag.mapping.temporal_mapping import TemporalMapping, TemporalMappingType
from zigzag.parser.accelerator_factory import AcceleratorFactory
from zigzag.parser.workload_factory import LayerNodeFactory
from zigzag.workload.layer_attributes import LayerTemporalOrdering, MemoryOperandLinks
from zigzag.workload.layer_node import LayerNode, MappingAttributes

from dse.core.layer import Layer
from dse.core.zigzag_workload import DIMS, LINKS, layer_data
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.formats.zigzag_machine import machine_data
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import Nest, nest
from dse.models.zigzag.constants import Constants

L1, L2, DRAM = range(3)

Loop = tuple[LayerDim, float]


@dataclass(frozen=True)
class ZigZagCosts:
    """What ZigZag says of a mapping: cycles, pJ, and words by the names that loopnest's counts have.

    `pe_output_down` are the sums that PEs get back, `macs` the accesses of L1 by the MACs. `even` says that
    in every step as many PEs work as in the first, `doubled` that ZigZag double buffers every memory.
    """

    cycles: float
    compute: float
    onload: float
    offload: float
    energy_pj: float
    words: dict[str, float]
    even: bool
    doubled: bool


def price_mapping(
    layer: Layer,
    accelerator: Accelerator,
    mapping: Mapping,
    constants: Constants,
    *,
    quiet_macs: bool = False,
    ticks: int = 1,
) -> ZigZagCosts:
    """ZigZag's costs of a mapping of `layer` with its stride and padding, without NoC energy and latency.

    With `quiet_macs` (ZigZag's own default) an operand that the MAC has just used is not read again.
    With `ticks`, a MAC takes so many ticks and memories move so much less in each: the same machine, but what
    ZigZag rounds up to whole cycles is rounded up to ticks. Cycles are then true, energies are not.
    """
    node, machine = zigzag_layer(layer), zigzag_machine(accelerator, constants, ticks)
    loops = nest(layer, accelerator, mapping)
    temporal, spatial = _loops(layer, mapping, loops)
    spread = {op: [[], spatial, [], []] for op in node.layer_operands}
    whole = {op: [[], [(dim, int(size)) for dim, size in spatial], [], []] for op in node.layer_operands}
    found = CostModelEvaluation(
        accelerator=machine,
        layer=node,
        spatial_mapping=SpatialMappingInternal(spread, node),
        spatial_mapping_int=SpatialMappingInternal(whole, node),
        temporal_mapping=TemporalMapping(
            {op: [list(level) for level in temporal] for op in node.layer_operands},
            node,
            TemporalMappingType.UNEVEN,
        ),
        access_same_data_considered_as_no_access=quiet_macs,
        cycles_per_op=ticks,
    )
    return ZigZagCosts(
        cycles=found.latency_total2 / ticks,
        compute=found.ideal_temporal_cycle / ticks,
        onload=found.data_onloading_cycle / ticks,
        offload=found.data_offloading_cycle / ticks,
        energy_pj=found.energy_total,
        words=_words(found),
        even=loops.even,
        doubled=all(all(flags[1:]) for flags in found.double_buffer_true.values()),
    )


def _loops(layer: Layer, mapping: Mapping, found: Nest) -> tuple[list[list[Loop]], list[Loop]]:
    """ZigZag's temporal loops of L1, L2 and DRAM, which it wants innermost first, and its spatial loops."""
    inside = [("S", layer.S), ("R", layer.R), *found.tile.items()]
    inner = [(dim, found.inner[dim]) for dim in reversed(mapping.inner.order) if dim in found.inner]
    outer = [(dim, found.outer[dim]) for dim in reversed(mapping.outer.order) if dim in found.outer]
    temporal = [[_loop(*loop) for loop in loops if loop[1] > 1] for loops in (inside, inner, outer)]
    return temporal, [_loop(*loop) for loop in found.pes.items() if loop[1] > 1]


def _loop(dim: str, count: float) -> Loop:
    # ZigZag's integers are exact, so only what must be a float is one.
    return LayerDim(DIMS[dim]), int(count) if count == int(count) else count


def _words(found: CostModelEvaluation) -> dict[str, float]:
    """Words moved: what a period moves times the periods, for all copies of a memory."""

    def moved(op: str, level: int, direction: DataDirection) -> float:
        operand = LayerOperand(op)
        pattern = found.mapping.unit_mem_data_movement[operand][level]
        amount = pattern.get_attribute(DataMoveAttr.DATA_TRANS_AMOUNT_PER_PERIOD).get(direction)
        periods = pattern.get_attribute(DataMoveAttr.DATA_TRANS_PERIOD_COUNT).get(direction)
        return float(amount * periods * found.mapping.spatial_mapping.unit_count[operand][level + 1])

    up, down = DataDirection.WR_IN_BY_LOW, DataDirection.RD_OUT_TO_LOW
    words = {}
    for op, name in (("I", "input"), ("W", "weight")):
        words[f"pe_{name}"] = moved(op, L1, DataDirection.WR_IN_BY_HIGH)
        words[f"l2_{name}"] = moved(op, L2, down)
        words[f"dram_{name}"] = moved(op, DRAM, down)
    words["pe_output_up"] = moved("O", L1, DataDirection.RD_OUT_TO_HIGH)
    words["pe_output_down"] = moved("O", L1, DataDirection.WR_IN_BY_HIGH)
    for level, store in ((L2, "l2"), (DRAM, "dram")):
        words[f"{store}_output_up"] = moved("O", level, up)
        words[f"{store}_output_down"] = moved("O", level, down)
    words["macs"] = sum(moved(op, L1, direction) for op in "IWO" for direction in (up, down))
    return words


@lru_cache(maxsize=64)
def zigzag_layer(layer: Layer) -> LayerNode:
    """The layer as ZigZag describes it, with its stride, dilation and padding."""
    mapping = MappingAttributes(
        SpatialMapping({}),
        SpatialMappingHint.empty(),
        MemoryOperandLinks({LayerOperand(op): MemoryOperand(memory) for op, memory in LINKS.items()}),
        LayerTemporalOrdering.empty(),
    )
    return LayerNode(0, layer.name, LayerNodeFactory(layer_data(layer), None).create_node_attr(), mapping)


@lru_cache(maxsize=64)
def zigzag_machine(accelerator: Accelerator, constants: Constants, ticks: int) -> ZigZagAccelerator:
    """The machine: L1s, L2, DRAM and PEs."""
    return AcceleratorFactory(machine_data(accelerator, constants, ticks)).create()
