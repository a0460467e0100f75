"""A mapping onto a machine of any number of levels in words: as a nest of loops, and as a case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dse.core.layer import Layer
from dse.core.names import dim_names, naming_line
from dse.domains.levels.checks import DOUBLE, OVERLAPPED, SINGLE
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.tiles import boxes_of
from dse.domains.levels.workload import DIM_NAMES, Workload


def machine_nest(layer: Layer, workload: Workload, machine: Machine, mapping: HierarchyMapping) -> str:
    """The loops from the outermost in; a factor of 1 is no loop. It ends with the mapping in one line."""
    used = math.prod(n for level in mapping.levels for _, n in level.spatial)
    nests = ", uneven nests" if machine.even else ""
    name = f"{layer.name}: " if layer.name else ""
    lines = [
        f"{name}{layer}, {workload.macs:,} MACs",
        *([naming_line(layer, DIM_NAMES)] if layer.product else []),
        f"{machine.name}{nests}: {used:,} of {machine.macs:,} MACs at work",
        *(f"energy: {source}" for source in machine.sources),
        "",
        *_levels(workload, machine, mapping, dim_names(layer, DIM_NAMES)),
        "",
        f"mapping {mapping.text()}",
    ]
    return "\n".join(lines) + "\n"


def _levels(
    workload: Workload, machine: Machine, mapping: HierarchyMapping, names: Mapping[str, str]
) -> Iterator[str]:
    """A line a level that does anything, and a line a loop, whose dim has the name in `names`."""
    boxes = boxes_of(workload, mapping)
    indent = ""
    for place, (level, mapped) in enumerate(zip(machine.levels, mapping.levels, strict=True)):
        tiles = {
            tensor.name: tensor.room(boxes[2 * place])
            for tensor in workload.tensors
            if tensor.name in mapped.keep and tensor.name not in level.holds
        }
        beside = f", beside {', '.join(level.holds)} whole" if level.holds else ""
        if tiles:
            held = " + ".join(f"{words:,} {tensor}" for tensor, words in tiles.items())
            of = "" if level.room is None else f" of {level.room:,}"
            total = f"{sum(tiles.values()):,}{of}"
            yield f"{indent}{level.part_of or level.name} holds {total} {machine.unit} = {held}{beside}"
        elif beside:
            yield f"{indent}{level.name} holds {beside[2:]}"
        elif mapped.temporal or mapped.spatial:
            yield f"{indent}{level.name}"
        for slot, word, loops in ((1, "for", mapped.temporal), (2, "parallel", mapped.spatial)):
            for dim, n in loops:
                above, tile = (boxes[2 * place + inner][dim] for inner in (slot - 1, slot))
                rest = above - (n - 1) * tile
                short = f" tiles of {tile}, the last of {rest}" if 0 < rest < tile else ""
                yield f"{indent}{word} {names.get(dim, dim)} in {n}{short}"
                indent += "  "
        if mapped.spatial:
            wide = math.prod(n for _, n in mapped.spatial)
            below = machine.levels[place + 1].name if place + 1 < len(machine.levels) else "MAC"
            yield f"{indent}on {wide:,} of {level.fan_out:,} instances of {below}"
    yield f"{indent}MAC"


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
            **({"fill_and_drain": True} if machine.fill_and_drain else {}),
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
        "part_of": level.part_of or None,
        "buffering": None if level.buffering == OVERLAPPED else level.buffering,
    }
    return {key: value for key, value in entry.items() if value is not None}


def latency_words(machine: Machine) -> list[str]:
    """What a machine says of latency beyond a roofline, in the words of its file."""
    halved = any(level.buffering == DOUBLE for level in machine.levels)
    return [*waiting_words(machine), *([f'buffering = "{DOUBLE}"'] if halved else [])]


def waiting_words(machine: Machine) -> list[str]:
    """Those of them by which all else waits for some transfers."""
    alone = any(level.buffering == SINGLE for level in machine.levels)
    words = ["fill_and_drain"] if machine.fill_and_drain else []
    return [*words, *([f'buffering = "{SINGLE}"'] if alone else [])]
