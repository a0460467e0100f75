"""A machine as ZigZag's files describe it: plain data, for which ZigZag need not be there."""

from __future__ import annotations

from typing import Any

from dse.core.zigzag_workload import WORD, array_data, memory_data, port_data
from dse.domains.clustered.accelerator import Accelerator

MOVES = ("I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th")
"""Operands and directions: from and to the higher and the lower memory."""
MAC_ACCESSES = ("I1, tl", "I2, tl", "O, tl", "O, fl")


def machine_data(accelerator: Accelerator, energies: Any, ticks: int = 1) -> dict[str, Any]:
    """The machine: L1s, L2, DRAM and PEs; `energies` are the constants of cost model `zigzag`."""
    below, above = ("tl", "fl"), ("fh", "th")
    noc = accelerator.noc_bandwidth * WORD // ticks
    link = accelerator.offchip_bandwidth * WORD // ticks
    memories = {
        "l1": _memory(accelerator.l1_size, noc, energies.l1_pj, [], [below, above]),
        "l2": _memory(accelerator.l2_size, noc, energies.l2_pj, ["D1"], [below, above]),
        "dram": _memory(2**40, link, energies.dram_pj, ["D1"], [(*below, *above)]),
    }
    # A PE's own accesses never make it wait: 2 reads, a read and a write of a word each have a port.
    memories["l1"]["ports"] = [
        *(_port(2 + index, noc, [move]) for index, move in enumerate(MAC_ACCESSES)),
        memories["l1"]["ports"][1],
    ]
    return array_data("machine", memories, energies.mac_pj, {"D1": accelerator.num_pes})


def _port(index: int, width: int, allocation: list[str]) -> dict[str, Any]:
    """A port of `width` bits that moves whole words."""
    return port_data(f"rw_port_{index}", "read_write", min(WORD, width), width, allocation)


def _memory(
    elements: int, width: int, element_pj: float, served: list[str], ports: list[tuple[str, ...]]
) -> dict[str, Any]:
    """A memory of all tensors, each of whose ports serves some directions of all."""
    access_pj = element_pj * width / WORD
    doors = [
        _port(index, width, [move for move in MOVES if move.endswith(served_by)])
        for index, served_by in enumerate(ports)
    ]
    found = memory_data(elements * WORD, access_pj, access_pj, ("I1", "I2", "O"), doors)
    return found | {"served_dimensions": served}
