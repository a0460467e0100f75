"""`zigzag-accelerator.yaml` of a machine of levels, as a mapping uses it.

A level is a memory of what the mapping has it keep; what it is spread over below is a dim of the array, `D1`
the outermost. A memory in which ZigZag would keep more loops than the mapping does is as large as the mapping
needs it. What costs an access is given for what a port moves in a cycle; a level of unlimited bandwidth has a
port for each operand and direction that is as wide as the MACs below an instance.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from dse.core.layer import COUPLED, Layer
from dse.core.zigzag_workload import array_data, held_elements, memory_data, port_data
from dse.domains.levels.formats.zigzag_machine import UNLIMITED, WORD_BITS
from dse.domains.levels.machine import TENSORS, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.nest import latency_words
from dse.support.errors import InputError

OURS = {"K": "K", "C": "C", "P": "Y", "Q": "X", "R": "R", "S": "S"}
"""The dims of a layer, by those of a workload."""
OPERANDS = {"W": "I2", "I": "I1", "O": "O"}
MOVES = {"W": ("fh", "tl"), "I": ("fh", "tl"), "O": ("fh", "tl", "fl", "th")}
"""From and to the higher and the lower memory, of each tensor."""
READS = ("tl", "th")
NAME = re.compile(r"D[1-4]")
MAX_DIMS = 4
"""Of the array, in a mapping of ZigZag's."""

Sizes = dict[int, int]
"""Words of the memories, by the levels' places."""


def array(machine: Machine) -> dict[str, int]:
    """The dims of the array, and the places of the levels below which they are.

    A machine that was read from ZigZag's file has them as levels of these names.
    """
    places = [place for place, level in enumerate(machine.levels) if level.fan_out > 1]
    names = [machine.levels[place].name for place in places]
    if not all(NAME.fullmatch(name) for name in names):
        names = [f"D{number}" for number in range(1, len(places) + 1)]
    return dict(zip(names, places, strict=True))


def accelerator_data(machine: Machine, mapping: HierarchyMapping, sizes: Sizes) -> dict[str, Any]:
    """The file's data."""
    dims = array(machine)
    memories = {}
    for place in reversed(sizes):
        level, keep = machine.levels[place], mapping.levels[place].keep
        served = [name for name, below in dims.items() if below >= place]
        memory = _memory(level, keep, sizes[place], _macs(machine, place))
        memories[level.name] = memory | {"served_dimensions": served}
    # An array has a dim at least.
    fan_outs = {name: machine.levels[place].fan_out for name, place in dims.items()} or {"D1": 1}
    if not dims:
        memories = {name: memory | {"served_dimensions": ["D1"]} for name, memory in memories.items()}
    return array_data(machine.name, memories, machine.mac_pj, fan_outs)


def _macs(machine: Machine, place: int) -> int:
    """The MACs below an instance of a level."""
    return prod(level.fan_out for level in machine.levels[place:])


def _memory(level: Level, keep: tuple[str, ...], words: int, macs: int) -> dict[str, Any]:
    tensors = [tensor for tensor in TENSORS if tensor in keep]
    widths = _widths(level, macs)
    access = level.block * WORD_BITS
    costs = (
        level.energy.read_pj * widths["read"] / access,
        level.energy.write_pj * widths["write"] / access,
    )
    operands = [OPERANDS[tensor] for tensor in tensors]
    return memory_data(words * WORD_BITS, *costs, operands, _ports(level, tensors, widths))


def _widths(level: Level, macs: int) -> dict[str, int]:
    """Bits that a port for reads, for writes or both moves in a cycle: those for which costs are given."""
    rates, enough = level.bandwidth, level.block * -(-macs // level.block)
    words = {"read": rates.shared or rates.read, "write": rates.shared or rates.write}
    return {kind: max(1, round((some or enough) * WORD_BITS)) for kind, some in words.items()}


def _ports(level: Level, tensors: list[str], widths: dict[str, int]) -> list[dict[str, Any]]:
    """One port for all where the bandwidth is shared, one for reads and one for writes, or one a move."""
    moves = [(tensor, move) for tensor in tensors for move in MOVES[tensor]]
    reads = [(tensor, move) for tensor, move in moves if move in READS]
    writes = [(tensor, move) for tensor, move in moves if move not in READS]
    if level.bandwidth.shared is not None:
        groups = [("read_write", "read", moves)]
    else:
        groups = []
        for kind, limit, some in (
            ("read", level.bandwidth.read, reads),
            ("write", level.bandwidth.write, writes),
        ):
            groups += [(kind, kind, some)] if limit is not None else [(kind, kind, [move]) for move in some]
    letters = {"read": "r", "write": "w", "read_write": "rw"}
    # Costs go by words, as blocks of all that is moved would have them, not of each period.
    return [
        port_data(
            f"{letters[kind]}_port_{number}",
            kind,
            min(WORD_BITS, widths[width]),
            widths[width],
            [f"{OPERANDS[tensor]}, {move}" for tensor, move in some],
        )
        for number, (kind, width, some) in enumerate(groups, 1)
    ]


def memory_sizes(layer: Layer, machine: Machine, mapping: HierarchyMapping) -> Sizes:
    """Words of each memory such that ZigZag keeps the mapping's loops in it, the outermost first.

    Its own capacity, if it does so with that. Loops that move nothing of what a memory keeps may be in it or
    right outside it: that is the same to ZigZag.
    """
    loops = [(OURS[dim], n) for level in reversed(mapping.levels) for dim, n in reversed(level.temporal)]
    found: Sizes = {}
    for place, (level, mapped) in enumerate(zip(machine.levels, mapping.levels, strict=True)):
        if mapped.spatial and level.fan_out == 1:
            raise InputError(f"format zigzag: {level.name} spreads loops over the one instance below it")
        if not mapped.keep:
            continue
        capacity = UNLIMITED if level.room is None else level.room
        inside = sum(len(one.temporal) for one in mapping.levels[place:])
        moving = _moving(layer, mapped.keep)
        while inside < len(loops) and loops[inside][0] not in moving:
            inside += 1
        spread = _spread(mapping, place)
        needs = [_needed(layer, mapped.keep, loops[:count], spread) for count in range(len(loops) + 1)]
        least, beyond = max(needs[: inside + 1]), min(needs[inside + 1 :], default=None)
        if least > capacity:
            raise InputError(f"format zigzag: {level.name} needs {least} of {capacity} words")
        if place and beyond is not None and beyond <= least:
            raise InputError(
                f"format zigzag: ZigZag would keep more loops in {level.name} than the mapping does"
            )
        found[place] = min(capacity, beyond - 1) if place and beyond is not None else capacity
    for place in found:
        _see_fed(layer, machine, mapping, place, found[place])
    return found


def _see_fed(layer: Layer, machine: Machine, mapping: HierarchyMapping, place: int, words: int) -> None:
    """InputError for loops that ZigZag would spread less: a memory right above the MACs has to feed all."""
    keep = mapping.levels[place].keep
    if any(tensor in level.keep for level in mapping.levels[place + 1 :] for tensor in keep):
        return
    name, widths = machine.levels[place].name, _widths(machine.levels[place], _macs(machine, place))
    spatial = [loop for level in mapping.levels[place:] for loop in level.spatial]
    for tensor in keep:
        fed = widths["write" if tensor == "O" else "read"] // WORD_BITS
        moving = [(dim, n) for dim, n in spatial if OURS[dim] in _moving(layer, (tensor,))]
        for dim, n in moving:
            if n > fed:
                raise InputError(
                    f"format zigzag: {name} feeds {fed} words of {tensor} a cycle, so ZigZag would not "
                    f"spread {dim} over {n}"
                )
        if prod(n for _, n in moving) > words:
            raise InputError(
                f"format zigzag: ZigZag would spread less below {name}, which holds {words} words"
            )


def _moving(layer: Layer, keep: tuple[str, ...]) -> set[str]:
    """The dims whose loops move any of these tensors."""
    inputs, weights, outputs = (set(dims) for dims in COUPLED[layer.type])
    dims = {"I": inputs | {"R", "S"}, "W": weights, "O": outputs}
    return set().union(*(dims[tensor] for tensor in keep))


def _spread(mapping: HierarchyMapping, place: int) -> dict[str, int]:
    """By dim, over how many the spatial loops below an instance of a level are spread."""
    found = dict.fromkeys(OURS.values(), 1)
    for level in mapping.levels[place:]:
        for dim, n in level.spatial:
            found[OURS[dim]] *= n
    return found


def _needed(layer: Layer, keep: tuple[str, ...], loops: list[tuple[str, int]], spread: dict[str, int]) -> int:
    """Words that ZigZag holds of these tensors with these loops inside."""
    spans = dict(spread)
    for dim, n in loops:
        spans[dim] *= n
    words = held_elements(layer, spans)
    return sum(words[tensor] for tensor in keep)


def what_zigzag_lacks(machine: Machine, sizes: Sizes) -> list[str]:
    """What ZigZag does not get to know of the machine, in a sentence; none if it gets all."""
    levels = machine.levels
    by_level = {
        "leakage": [level for level in levels if level.leak_pj],
        "shared rows (cluster)": [level for level in levels if level.cluster > 1],
        "updates that cost other than fills": [
            level for level in levels if level.energy.update_pj != level.energy.write_pj
        ],
        "accesses of whole blocks": [level for level in levels if level.block > 1],
        "a limit of reads or writes beside another one": [
            level for level in levels if sum(rate is not None for rate in vars(level.bandwidth).values()) > 1
        ],
        "copies for each, where nothing is multicast or added up": [
            level for level in levels if not (level.multicast and level.reduction)
        ],
        "loops, spreads and tensors that are open or closed": [
            level for level in levels if level.loops is not None or level.spread is not None or level.may_keep
        ],
    }
    found = [f"{what} ({', '.join(level.name for level in some)})" for what, some in by_level.items() if some]
    found += ['first_fill = "counted"'] if machine.first_fill != "elided" else []
    found += latency_words(machine)
    found += [f"{machine.clock_ghz:g} GHz"] if machine.clock_ghz != 1 else []
    smaller = [
        f"{levels[place].name} {words:,} words"
        for place, words in sizes.items()
        if words < (levels[place].room or UNLIMITED)
    ]
    found += [f"sizes, as it fills memories with loops ({', '.join(smaller)})"] if smaller else []
    return [f"zigzag has no words for: {'; '.join(found)}"] if found else []
