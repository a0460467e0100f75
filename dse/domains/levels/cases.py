"""A mapping onto a machine of any number of levels as a case: a line of JSON that costs the same."""

from __future__ import annotations

from typing import Any

from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Workload


def machine_case(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> dict[str, Any]:
    """The case: `layer` as dims and tensors, `hardware` level by level, `mapping`."""
    return {
        "layer": {
            "dims": workload.sizes,
            "tensors": {
                tensor.name: {
                    "axes": [dict(axis) for axis in tensor.axes],
                    **({"output": True} if tensor.output else {}),
                    **({"bits": tensor.bits} if tensor.bits > 1 else {}),
                }
                for tensor in workload.tensors
            },
        },
        "hardware": {
            "name": machine.name,
            "macs": machine.macs,
            "mac_pj": machine.mac_pj,
            "first_fill": machine.first_fill,
            "levels": [_level(machine, place) for place in range(len(machine.levels))],
        },
        "mapping": mapping.to_list(),
    }


def _level(machine: Machine, place: int) -> dict[str, Any]:
    level = machine.levels[place]
    entry = {
        "name": level.name,
        "instances": machine.instances[place],
        "capacity": level.capacity,
        "read_bw": level.bandwidth.read,
        "write_bw": level.bandwidth.write,
        "shared_bw": level.bandwidth.shared,
        "block": level.block,
        "cluster": level.cluster,
        **vars(level.energy),
        "leak_pj": level.leak_pj,
        "multicast": level.multicast,
        "reduction": level.reduction,
        "holds": list(level.holds) or None,
    }
    return {key: value for key, value in entry.items() if value is not None}
