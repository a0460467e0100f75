"""A machine as ZigZag's files describe it: plain data, for which ZigZag need not be there."""

from __future__ import annotations

from typing import Any

from dse.core.zigzag_workload import WORD
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
    return {
        "name": "machine",
        "memories": memories,
        "operational_array": {
            "is_imc": False,
            "unit_energy": energies.mac_pj,
            "unit_area": 0,
            "dimensions": ["D1"],
            "sizes": [accelerator.num_pes],
            "systolic_dimensions": [],
        },
    }


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
