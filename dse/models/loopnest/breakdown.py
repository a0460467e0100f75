"""Where a mapping's cycles, energy and words go, from its counts."""

from __future__ import annotations

from dse.core.cost_model import Detail
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping
from dse.models.loopnest.constants import Constants
from dse.models.loopnest.counts import Counts
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors, over_link

COMPUTE, NOC, DRAM = "compute", "NoC", "DRAM"


def detail_of(
    layer: Layer, accelerator: Accelerator, mapping: Mapping, counts: Counts, constants: Constants
) -> Detail:
    """The detail of a valid mapping's costs, from its counts."""
    noc_wait = counts.cycles - counts.filling - counts.compute - counts.dram_wait - counts.drain
    energy = energy_parts(counts, layer.macs, in_units(constants, accelerator), l1_a_mac(accelerator))
    return Detail(
        cycles={
            "compute": counts.compute,
            "waiting for the NoC": noc_wait,
            "waiting for DRAM": counts.dram_wait,
            "fill": counts.filling,
            "drain": counts.drain,
        },
        energy_nj={name: part * 1e-3 for name, part in energy.items()},
        words={
            "DRAM": _words(counts, "dram"),
            "L2": _words(counts, "l2"),
            "PEs": {**_words(counts, "pe"), "sums back": counts.l2_output_down},
        },
        buffers=_buffers(layer, accelerator, mapping),
        bound=_bound(counts, noc_wait),
    )


def energy_parts(counts: Counts, macs: int, constants: Constants, l1_a_mac: int = 4) -> dict[str, float]:
    """Energy in pJ by where it is spent (docs, section 6); their sum, in this order, is the model's.

    The constants are of what the counts are in; `l1_a_mac` is what a MAC takes of its L1.
    """
    delivered = counts.pe_input + counts.pe_weight + counts.pe_output_up + counts.l2_output_down
    l2 = counts.l2_input + counts.l2_weight + counts.l2_output_up + counts.l2_output_down
    dram = counts.dram_input + counts.dram_weight + counts.dram_output_up + counts.dram_output_down
    return {
        "MACs": macs * constants.mac_pj,
        "L1": (float(l1_a_mac) * macs + delivered) * constants.l1_pj,
        "NoC": delivered * constants.noc_pj,
        "L2": (l2 + dram) * constants.l2_pj,
        "DRAM": dram * constants.dram_pj,
    }


def _buffers(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, dict[str, int]]:
    """What the first step needs of each tensor, doubled (docs, section 7)."""
    clusters, parallel = accelerator.num_pes // mapping.cluster_size, mapping.outer.parallel
    if layer.type == "DSCONV" and parallel == "K":
        parallel = "C"
    outer = {dim: min(max(mapping.outer[dim], 1), layer.loops[dim]) for dim in "KCYX"}
    inner = {dim: min(max(mapping.inner[dim], 1), tile) for dim, tile in outer.items()}
    outer[parallel] = min(outer[parallel] * clusters, layer.loops[parallel])
    each = {"L1": of_tensors(layer, accelerator), "L2": over_link(layer, accelerator)}
    return {"L1": _boxes(layer, inner, each["L1"]), "L2": _boxes(layer, outer, each["L2"])}


def _boxes(layer: Layer, sizes: dict[str, int], of: tuple[int, int, int]) -> dict[str, int]:
    """What a box of these sizes needs of each tensor, doubled."""
    of_input, of_weights, of_output = of
    windows = of_input
    for dim, reads in zip("YX", layer.reads, strict=True):
        windows *= sizes[dim] * reads.pitch + reads.overlap
    weights = of_weights * sizes["K"] * sizes["C"]
    outputs = of_output * sizes["C" if layer.type == "DSCONV" else "K"] * sizes["Y"] * sizes["X"]
    return {"input": 2 * sizes["C"] * windows, "weight": 2 * weights, "output": 2 * outputs}


def _words(counts: Counts, boundary: str) -> dict[str, int]:
    names = {"inputs": "input", "weights": "weight", "sums away": "output_up", "sums back": "output_down"}
    return {
        name: getattr(counts, f"{boundary}_{field}")
        for name, field in names.items()
        if hasattr(counts, f"{boundary}_{field}")
    }


def _bound(counts: Counts, noc_wait: int) -> str:
    """On what most cycles go: computing, or else what is waited for the longest."""
    if 2 * counts.compute >= counts.cycles:
        return COMPUTE
    return max(((counts.compute, COMPUTE), (noc_wait, NOC), (counts.dram_wait, DRAM)))[1]
