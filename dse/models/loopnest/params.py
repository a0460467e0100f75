"""What the kernel knows of a layer on a machine: integers and constants, and where each of them stands."""

from __future__ import annotations

import numpy as np

from dse.core.layer import Layer
from dse.core.reads import Reads
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.models.loopnest.constants import Constants
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors, over_link
from dse.support.arrays import FloatArray, IntArray

# SIZES begins the four dims' sizes, FILTER_ROWS the filter's two; PITCHES, OVERLAPS, FIRST_REAL and END_REAL
# begin two figures each, of Y and X (docs, section 3). NOC and OFFCHIP are words a cycle, FILTER is R x S.
REASON, DEPTHWISE, SIZES, FILTER_ROWS = 0, 1, 2, 6
PITCHES, OVERLAPS, FIRST_REAL, END_REAL = 8, 10, 12, 14
PES, NOC, OFFCHIP, LATENCY, LANES, FILTER, LAYER_MACS = range(16, 23)
# What an input, the weights of a pair of channels and an output take: elements or bits.
OF_INPUT, OF_WEIGHTS, OF_OUTPUT = range(23, 26)
# The same of what has a tile in L2 and crosses the DRAM link: 0 of what stays in L2 whole.
LINK_INPUT, LINK_WEIGHTS, LINK_OUTPUT = range(26, 29)
PARAMS = 29
# Of the constants: energies of one access in pJ, MACs among them; the layer's MACs, GHz, leakage in mW, mm2;
# what a MAC takes of its L1.
MAC_PJ, L1_PJ, NOC_PJ, L2_PJ, DRAM_PJ, MACS, GHZ, LEAKAGE, AREA, L1_A_MAC = range(10)

LARGEST = 2**62
"""No count of a layer that is priced exceeds it."""


def machine_params(
    layer: Layer, accelerator: Accelerator, constants: Constants
) -> tuple[IntArray, FloatArray]:
    """What the kernel needs of a layer on an accelerator: integers (1, 29) and floats (1, 10)."""
    rows, columns = (_axis(*axis) for axis in zip(layer.output, layer.reads, strict=True))
    params = np.zeros((1, PARAMS), dtype=np.int64)
    params[0, DEPTHWISE] = layer.type == "DSCONV"
    params[0, SIZES:PITCHES] = [*(layer.loops[dim] for dim in "KCYX"), layer.R, layer.S]
    params[0, PITCHES:PES] = [value for pair in zip(rows, columns, strict=True) for value in pair]
    params[0, FILTER], params[0, LAYER_MACS] = layer.R * layer.S, min(layer.macs, LARGEST)
    params[0, OF_INPUT:LINK_INPUT] = of_tensors(layer, accelerator)
    params[0, LINK_INPUT:PARAMS] = over_link(layer, accelerator)
    per = in_units(constants, accelerator)
    energies = (per.mac_pj, per.l1_pj, per.noc_pj, per.l2_pj, per.dram_pj)
    floats = np.array([[*energies, layer.macs, 0.0, 0.0, 0.0, l1_a_mac(accelerator)]])
    return on_machines(params, floats, layer, np.array([accelerator.machine_row]), per)


def on_machines(
    params: IntArray, floats: FloatArray, layer: Layer, machines: IntArray, constants: Constants
) -> tuple[IntArray, FloatArray]:
    """The params and constants of a layer, a row of each, on the machines (n, figures): a row for each.

    The machines count what the one does that the row is of, and so do the constants (`in_units`).
    """
    pes, l1_size, l2_size, noc_bandwidth, offchip_bandwidth, latency, lanes, _ = machines.T
    outputs = layer.output[0] * layer.output[1]
    # More words than any one transition moves: a wider NoC or DRAM link is no faster.
    most = layer.K * (layer.C * layer.R * layer.S + 2 * outputs) + layer.C * (
        outputs * layer.R * layer.S + 2 * outputs
    )
    widest = int(
        max(params[0, OF_INPUT], params[0, OF_OUTPUT], -(-params[0, OF_WEIGHTS] // params[0, FILTER]))
    )
    most *= widest
    words = min(most, LARGEST)
    params, floats = (
        np.repeat(params[:1], len(machines), axis=0),
        np.repeat(floats[:1], len(machines), axis=0),
    )
    params[:, PES], params[:, LATENCY], params[:, LANES] = pes, latency, lanes
    noc, offchip = np.minimum(noc_bandwidth, words), np.minimum(offchip_bandwidth, words)
    params[:, NOC], params[:, OFFCHIP] = noc, offchip
    fastest = np.maximum(np.maximum(noc, offchip), latency + 8)
    too_large = fastest > LARGEST // (8 * layer.macs * widest + most)
    params[:, REASON] = np.where(too_large, Reason.OUT_OF_RANGE, Reason.FEASIBLE)
    floats[:, GHZ] = figure_column(machines, "clock_ghz")
    floats[:, AREA] = constants.area_of(pes, lanes, l1_size, l2_size)
    floats[:, LEAKAGE] = floats[:, AREA] * constants.leakage_mw_per_mm2
    return params, floats


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
