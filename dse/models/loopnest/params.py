"""What the kernel knows of a layer on a machine, as records of integers and of energies."""

from __future__ import annotations

import math

import numpy as np

from dse.core.layer import Layer
from dse.core.reads import Reads
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.models.loopnest.constants import Constants
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors, over_link
from dse.support.arrays import INT, IntArray, RecordArray, float_fields, integer_fields, record_type

# What an input, the weights of a pair of channels and an output take: elements or bits.
TENSORS = record_type(*integer_fields("input weights output"))
LAYER = record_type(
    # K, C, Y and X; R and S; input rows and columns from one output to the next, those that neighbours
    # share, and the first and end of those that are real (docs/loopnest.md, section 3).
    ("depthwise", INT),
    ("sizes", INT, (4,)),
    ("filter", INT, (2,)),
    ("pitches", INT, (2,)),
    ("overlaps", INT, (2,)),
    ("first_real", INT, (2,)),
    ("end_real", INT, (2,)),
    # R x S, and all MACs.
    *integer_fields("taps macs"),
    # In L1s and over the NoC; in L2's tiles and on the DRAM link: 0 of what stays in L2 whole.
    ("of", TENSORS),
    ("link", TENSORS),
)
# The NoC and the link in words a cycle.
MACHINE = record_type(*integer_fields("pes noc offchip latency lanes"))
PROBLEM = record_type(("reason", INT), ("layer", LAYER), ("machine", MACHINE))
# Energies of an access in pJ; what a MAC takes of its L1; the layer's MACs.
ENERGIES = record_type(
    *float_fields("mac_pj l1_pj noc_pj l2_pj dram_pj l1_a_mac macs ghz leakage_mw area_mm2")
)

LARGEST = 2**62
"""No count of a layer that is priced exceeds it."""


def machine_params(
    layer: Layer, accelerator: Accelerator, constants: Constants
) -> tuple[RecordArray, RecordArray]:
    """What the kernel needs of a layer on an accelerator: a PROBLEM and its ENERGIES, one of each."""
    problems, energies = np.zeros(1, PROBLEM), np.zeros(1, ENERGIES)
    of = problems["layer"]
    of["depthwise"], of["filter"] = layer.type == "DSCONV", (layer.R, layer.S)
    of["sizes"] = [layer.loops[dim] for dim in "KCYX"]
    axes = [_axis(*axis) for axis in zip(layer.output, layer.reads, strict=True)]
    for name, pair in zip(
        ("pitches", "overlaps", "first_real", "end_real"), zip(*axes, strict=True), strict=True
    ):
        of[name] = pair
    of["taps"], of["macs"] = layer.R * layer.S, min(layer.macs, LARGEST)
    of["of"], of["link"] = of_tensors(layer, accelerator), over_link(layer, accelerator)
    per = in_units(constants, accelerator)
    for name in ("mac_pj", "l1_pj", "noc_pj", "l2_pj", "dram_pj"):
        energies[name] = getattr(per, name)
    energies["l1_a_mac"], energies["macs"] = l1_a_mac(accelerator), layer.macs
    return on_machines(problems, energies, layer, np.array([accelerator.machine_row]), per)


def on_machines(
    problems: RecordArray, energies: RecordArray, layer: Layer, machines: IntArray, constants: Constants
) -> tuple[RecordArray, RecordArray]:
    """The records of a layer, one of each, on the machines (n, figures): n of each.

    The machines count what the one does that the record is of, and so do the constants (`in_units`).
    """
    pes, l1_size, l2_size, noc_bandwidth, offchip_bandwidth, latency, lanes, _ = machines.T
    outputs, taps = layer.output[0] * layer.output[1], layer.R * layer.S
    # An output needs its whole window, of which a dilated filter reads some rows and columns only.
    window = math.prod(axis.window for axis in layer.reads)
    # More words than any one transition moves: a wider NoC or DRAM link is no faster.
    most = layer.K * (layer.C * taps + 2 * outputs) + layer.C * (outputs * window + 2 * outputs)
    inputs, weights, sums = problems["layer"]["of"][0].tolist()
    widest = max(inputs, sums, -(-weights // taps))
    most *= widest
    words = min(most, LARGEST)
    problems, energies = np.repeat(problems, len(machines)), np.repeat(energies, len(machines))
    machine = problems["machine"]
    noc, offchip = np.minimum(noc_bandwidth, words), np.minimum(offchip_bandwidth, words)
    machine["pes"], machine["noc"], machine["offchip"] = pes, noc, offchip
    machine["latency"], machine["lanes"] = latency, lanes
    fastest = np.maximum(np.maximum(noc, offchip), latency + 8)
    too_large = fastest > LARGEST // (8 * (layer.macs // taps) * window * widest + most)
    problems["reason"] = np.where(too_large, Reason.OUT_OF_RANGE, Reason.FEASIBLE)
    energies["ghz"] = figure_column(machines, "clock_ghz")
    energies["area_mm2"] = constants.area_of(pes, lanes, l1_size, l2_size)
    energies["leakage_mw"] = energies["area_mm2"] * constants.leakage_mw_per_mm2
    return problems, energies


def _axis(outputs: int, reads: Reads) -> tuple[int, int, int, int]:
    """Of the input rows (or columns) that are used: from output to output, overlap, first and end real.

    Rows that no output uses (where the stride exceeds the filter) are left out.
    """
    stride, window, first, end = reads
    total = outputs * reads.pitch + reads.overlap

    def used_below(row: int) -> int:
        if stride < window:
            return min(row, total)
        whole, part = divmod(row, stride)
        return min(whole * window + min(part, window), total)

    return reads.pitch, reads.overlap, used_below(first), used_below(end)
