"""ZigZag (zigzag-dse 3.9) of a machine of levels: accelerator, workload and mapping, in words of 8 bits.

The mapping has the spatial loops, on the dims of `zigzag_accelerator`, and a complete temporal ordering,
innermost first; ZigZag decides by itself which of these stay in which memory: as many as fit. Notes have the
machine, the layer and the mapping themselves. Run the files with `temporal_mapping_type="even"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.core.zigzag_workload import DIMS, LINKS, layer_data
from dse.domains.levels.formats import Written
from dse.domains.levels.formats.zigzag_accelerator import (
    MAX_DIMS,
    OURS,
    accelerator_data,
    array,
    memory_sizes,
    what_zigzag_lacks,
)
from dse.domains.levels.formats.zigzag_machine import WORD_BITS
from dse.domains.levels.machine import TENSORS, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop, read_mapping
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.strict_yaml import dump_yaml, noted_data, with_note
from dse.support.validation import whole_number

ACCELERATOR, WORKLOAD, MAPPING = "zigzag-accelerator.yaml", "zigzag-workload.yaml", "zigzag-mapping.yaml"
READ = ("name", "spatial_mapping", "temporal_ordering", "memory_operand_links")
NO_CHANGE = ("spatial_mapping_hint", "core_allocation")
"""Keys of a mapping that change nothing where the spatial mapping is said: what ZigZag or Stream would choose
from."""
NAMES = {dim: DIMS[ours] for dim, ours in OURS.items()}
"""ZigZag's dims, by those of a workload."""
DIM_OF = {name: dim for dim, name in NAMES.items()}


def refuse(machine: Machine) -> None:
    """InputError for a machine that is spread at more levels than ZigZag has dims of an array."""
    if len(array(machine)) > MAX_DIMS:
        raise InputError(
            f"format zigzag: its mappings have {MAX_DIMS} dims of an array, the machine is spread at "
            f"{len(array(machine))} levels"
        )


def write(problem: Any, mapping: HierarchyMapping) -> Written:
    """The three files. InputError for loops that ZigZag would keep elsewhere, or cannot spread."""
    machine, layer = problem.accelerator, problem.layer
    sizes = memory_sizes(layer, machine, mapping)
    about = f"{layer.name or 'layer'}: {layer}"
    accelerator = dump_yaml(
        f"{machine.name}, in words of {WORD_BITS} bits", accelerator_data(machine, mapping, sizes)
    )
    workload = dump_yaml(about, [layer_data(layer, WORD_BITS) | {"operator_type": "Conv"}])
    loops = dump_yaml(f"A mapping of {about}\ninnermost loops first", [_mapping(machine, mapping)])
    return {
        ACCELERATOR: with_note(accelerator, "machine", machine.to_dict()),
        WORKLOAD: with_note(workload, "layer", {**layer.to_dict(), "name": layer.name}),
        MAPPING: with_note(loops, "mapping", mapping.to_list()),
    }, what_zigzag_lacks(machine, sizes)


def _mapping(machine: Machine, mapping: HierarchyMapping) -> dict[str, Any]:
    spatial = {
        name: [f"{NAMES[dim]}, {n}" for dim, n in mapping.levels[place].spatial]
        # Where nothing is spread, ZigZag is told so: it would choose an unrolling itself.
        or [f"{DIMS['C']}, 1"]
        for name, place in array(machine).items()
    }
    ordering = [[NAMES[dim], n] for level in reversed(mapping.levels) for dim, n in reversed(level.temporal)]
    return {
        "name": "default",
        "spatial_mapping": spatial or {"D1": [f"{DIMS['C']}, 1"]},
        "temporal_ordering": ordering,
        "memory_operand_links": dict(LINKS),
    }


# Reading


def read(text: str, data: Any, where: str, problem: Any) -> HierarchyMapping:
    """The mapping of a file: that of its note, or else with as many loops in each level as fit.

    Levels then keep what they must, and nothing besides.

    InputError where it says none that is complete.
    """
    layout = problem.space.layout
    exact = noted_data(text, data, "mapping", where)
    if exact is not None:
        return read_mapping(exact, layout.dims, layout.tensors, where)
    entry = _entry(data, problem.layer.name, where)
    machine: Machine = problem.accelerator
    spatial = _spatial(entry.get("spatial_mapping"), machine, f"{where}: spatial_mapping")
    loops = _ordering(entry.get("temporal_ordering"), f"{where}: temporal_ordering")
    return _filled(problem, loops, spatial, f"{where}: temporal_ordering")


def _entry(data: list[Any], layer: str, where: str) -> Mapping[str, Any]:
    """The entry of the layer's name, or `default`, or the only one; InputError for unknown keys."""
    for place, entry in enumerate(data):
        if not isinstance(entry, Mapping) or "name" not in entry:
            raise InputError(
                f"{where}[{place}] must be a table with name, spatial_mapping and temporal_ordering"
            )
        for key in entry:
            if key not in (*READ, *NO_CHANGE):
                raise unknown_name("key", key, (*READ, *NO_CHANGE), f"{where}[{place}]")
    named = {str(entry["name"]): entry for entry in data}
    if len(named) < len(data):
        raise InputError(f"{where} has two mappings of one name")
    found: Mapping[str, Any] | None = named.get(layer) or named.get("default")
    if found is None and len(data) == 1:
        found = data[0]
    if found is None:
        names = ", ".join(named) or "none"
        raise InputError(f"{where} lacks a mapping of layer {layer!r}, or 'default'; it has {names}")
    links = found.get("memory_operand_links", dict(LINKS))
    if links != dict(LINKS):
        raise InputError(f"{where}: memory_operand_links must be {dict(LINKS)}, got {shorten(links)}")
    return found


def _spatial(given: Any, machine: Machine, where: str) -> list[tuple[Loop, ...]]:
    """The spatial loops of each level, of a table such as `{D1: ["K, 4"]}`."""
    if not isinstance(given, Mapping):
        raise InputError(f'{where} must be a table such as {{D1: ["K, 4"]}}, got {shorten(given)}')
    places = array(machine)
    found: list[tuple[Loop, ...]] = [()] * len(machine.levels)
    for name, texts in given.items():
        if not isinstance(texts, list):
            raise InputError(f'{where}.{name} must be a list such as ["K, 4"], got {shorten(texts)}')
        loops = tuple(_loop(str(text).split(","), f"{where}.{name}") for text in texts)
        loops = tuple(loop for loop in loops if loop[1] > 1)
        if loops and name not in places:
            raise unknown_name("dimension", str(name), list(places), where)
        if loops:
            found[places[name]] = loops
    return found


def _ordering(given: Any, where: str) -> list[Loop]:
    """The temporal loops, the innermost first."""
    if not isinstance(given, list):
        raise InputError(f"{where} must be a list of loops such as [K, 4], got {shorten(given)}")
    loops = [_loop(loop if isinstance(loop, list) else [loop], where) for loop in given]
    return [loop for loop in loops if loop[1] > 1]


def _loop(parts: list[Any], where: str) -> Loop:
    if len(parts) != 2:
        raise InputError(
            f"{where}: a loop must be a dim and how often it runs, such as K, 4; got {shorten(parts)}"
        )
    name, count = str(parts[0]).strip(), parts[1]
    if name not in DIM_OF:
        raise unknown_name("dim", name, list(DIM_OF), where)
    if isinstance(count, str) and count.strip().isdecimal() and len(count) < 20:
        count = int(count)
    return DIM_OF[name], whole_number(count, f"{where}: {name}")


def _filled(problem: Any, loops: list[Loop], spatial: list[tuple[Loop, ...]], where: str) -> HierarchyMapping:
    """The loops in levels, from the innermost on: in each as many as it has room for, as ZigZag does it."""
    workload, levels = problem.space.workload, problem.accelerator.levels
    box, left = dict.fromkeys(workload.names, 1), list(loops)
    mapped: list[LevelMapping] = []
    for place in reversed(range(len(levels))):
        level = levels[place]
        for dim, n in spatial[place]:
            box[dim] = box.get(dim, 1) * n
        keep = level.keeps if place else TENSORS
        kept = [tensor for tensor in workload.tensors if tensor.name in keep]
        inside: dict[str, int] = {}
        while left and kept:
            dim, n = left[0]
            grown = box | {dim: box.get(dim, 1) * n}
            full = level.room is not None and sum(tensor.room(grown) for tensor in kept) > level.room
            if (dim in inside and dim != next(reversed(inside))) or (place and full):
                break
            box, inside[dim] = grown, n * inside.get(dim, 1)
            left.pop(0)
        names = tuple(name for name in TENSORS if name in keep)
        mapped.insert(0, LevelMapping(names, tuple(reversed(inside.items())), spatial[place]))
    if left:
        raise InputError(
            f"{where}: {left[0][0]} has two loops at {levels[0].name}; a level here has one of each dim"
        )
    return HierarchyMapping(tuple(mapped))
