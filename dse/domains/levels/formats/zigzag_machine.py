"""A machine in a ZigZag accelerator file: `memories`, the lowest first, and an `operational_array`.

Levels are one below another: of two memories that share an operand, the lower one must be spread over all
dims that the higher one is spread over; of two that do not, the file's order says nothing. A word has 8 bits.
A physical access moves a port's least bandwidth; memories keep their operands. A dim of the array is a level
of its own that keeps nothing. Loops and spreads are open, for ZigZag leaves them to its mapping.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.domains.levels.checks import not_negative
from dse.domains.levels.machine import MAX_WORDS, Bandwidth, Energy, Level, Machine
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.strict_yaml import line_of
from dse.support.validation import check_table, whole_number

WORD_BITS = 8
TENSOR_OF = {"I1": "I", "I2": "W", "O": "O"}
KINDS = ("read", "write", "read_write")
UNLIMITED = 2**40
"""Words of a memory from which on it has room for everything."""


def zigzag_machine(data: Mapping[str, Any], name: str, where: str) -> Machine:
    """The machine that the file's data describe; InputError in a line where it is not right."""
    array = check_table(data.get("operational_array"), f"{where}: operational_array")
    if array.get("is_imc"):
        raise InputError(f"{where}: an array that computes in its memory (is_imc) is not read")
    dims = _dims(array, f"{where}: operational_array")
    memories = check_table(data["memories"], f"{where}: memories")
    if not memories:
        raise InputError(f"{where}: memories must be one or more")
    _see("the file", data, where)
    _see("operational_array", array, f"{where}: operational_array")
    if array.get("systolic_dimensions"):
        raise InputError(f"{where}: systolic_dimensions are not read: no cycles of filling are counted here")
    found = _nested(
        [
            (str(memory), *_memory(entry, dims, f"{where}: memories.{shorten(memory, 40)}"))
            for memory, entry in reversed(list(memories.items()))
        ]
    )
    last, whole, outermost = found[0]
    if several := [dim for dim in dims if dim not in whole]:
        raise InputError(
            f"{where}: the last memory, {shorten(last)}, does not serve {', '.join(several)}, so there are "
            "several of it; the outermost level here is a single one"
        )
    if len(outermost["keeps"]) < len(TENSOR_OF):
        raise InputError(f"{where}: the last memory, {shorten(last)}, must hold I1, I2 and O")
    levels = []
    for place, (memory, own, figures) in enumerate(found):
        below = found[place + 1][1] if place + 1 < len(found) else set()
        if below - own:
            raise InputError(
                f"{where}: memories {shorten(memory)} and {shorten(found[place + 1][0])} serve dims of their "
                "own; levels here are one below another"
            )
        levels.append(Level(memory, may_keep=(), **figures))
        levels += [Level(dim, fan_out=dims[dim], may_keep=()) for dim in sorted(own - below)]
    title = data.get("name")
    energies = {name: array[name] for name in ("unit_energy", "multiplier_energy") if name in array}
    if len(energies) != 1:
        said = " and ".join(energies) or "nothing"
        raise InputError(
            f"{where}: operational_array: unit_energy (multiplier_energy in older files) is what a MAC "
            f"takes, and must be there once: there is {said}"
        )
    mac_pj = not_negative(next(iter(energies.values())), f"{where}: operational_array.{next(iter(energies))}")
    return Machine(title if isinstance(title, str) and title else name, tuple(levels), mac_pj)


_Memory = tuple[str, set[str], dict[str, Any]]


def _nested(memories: list[_Memory]) -> list[_Memory]:
    """The memories, the outermost first, so that those that serve more dims come first where they may.

    Two neighbours that share no operand say nothing of each other: ZigZag's hierarchy is that of an operand.
    """
    found = list(memories)
    for last in range(len(found) - 1, 0, -1):
        for place in range(last):
            (_, own, figures), (_, below, inner) = found[place], found[place + 1]
            if own < below and not {*figures["keeps"]} & {*inner["keeps"]}:
                found[place], found[place + 1] = found[place + 1], found[place]
    return found


READ = {
    "the file": ("name", "memories", "operational_array"),
    "operational_array": ("unit_energy", "multiplier_energy", "dimensions", "sizes"),
    "memory": ("size", "r_cost", "w_cost", "operands", "ports", "served_dimensions"),
    "port": ("type", "bandwidth_min", "bandwidth_max"),
}
NO_CHANGE: dict[str, tuple[str, ...]] = {
    "the file": ("dataflows",),
    "operational_array": ("unit_area", "multiplier_area", "imc_type", "bit_serial_precision",
                          "adc_resolution", "input_precision"),
    "memory": ("area", "latency", "mem_type"),
    "port": ("name", "allocation"),
}  # fmt: skip
"""Areas, latencies, types and names change no energy and no cycles here, nor does which port moves what: all
of a level's ports are shared. What is of arrays that compute in memory says nothing where `is_imc` is
refused."""
REFUSED = {
    **dict.fromkeys(
        ("double_buffering_support", "force_double_buffering"),
        "a memory that is there twice has half its size here: say so by its size",
    ),
    "min_r_granularity": "an access moves a port's least bandwidth: say it as bandwidth_min",
    "min_w_granularity": "an access moves a port's least bandwidth: say it as bandwidth_min",
    **dict.fromkeys(("r_bw", "w_bw", "r_port", "w_port", "rw_port"), "say it by ports, as today's files do"),
}
"""Keys of a memory that are refused, and what to do."""
SEEN = {
    "the file": (),
    "operational_array": ("is_imc", "systolic_dimensions"),
    "memory": (*REFUSED, "auto_cost_extraction"),
    "port": (),
}
"""Keys that are refused where they say anything."""
KEYS = {kind: (*READ[kind], *NO_CHANGE[kind], *SEEN[kind]) for kind in READ}


def _see(kind: str, data: Mapping[str, Any], where: str) -> None:
    """InputError of a key that is not known, with its line."""
    for key in data:
        if key not in KEYS[kind]:
            line = line_of(data, (key,))
            raise unknown_name("key", key, KEYS[kind], f"{where}, line {line}" if line else where)


def _dims(array: Mapping[str, Any], where: str) -> dict[str, int]:
    names, sizes = array.get("dimensions"), array.get("sizes")
    if not isinstance(names, list) or not isinstance(sizes, list) or len(names) != len(sizes):
        raise InputError(f"{where} must have dimensions, such as [D1, D2], and as many sizes")
    return {str(name): whole_number(size, f"{where}.sizes") for name, size in zip(names, sizes, strict=True)}


def _memory(data: Any, dims: Mapping[str, int], where: str) -> tuple[set[str], dict[str, Any]]:
    """The dims of the array that one memory serves, and the figures of its level."""
    entry = check_table(data, where)
    _see("memory", entry, where)
    for key, why in REFUSED.items():
        if entry.get(key):
            raise InputError(f"{where}: {key} is not read ({shorten(entry[key])}): {why}")
    if entry.get("auto_cost_extraction"):
        raise InputError(
            f"{where}: its costs are to come from CACTI, which is not run; give r_cost and w_cost"
        )
    own = [str(dim) for dim in _list(entry, "served_dimensions", where)]
    for dim in own:
        if dim not in dims:
            raise unknown_name("dimension", dim, list(dims), f"{where}.served_dimensions")
    keeps = [str(operand) for operand in _list(entry, "operands", where)]
    for operand in keeps:
        if operand not in TENSOR_OF:
            raise unknown_name("operand", operand, list(TENSOR_OF), where)
    words = whole_number(entry.get("size"), f"{where}.size") // WORD_BITS
    if not 1 <= words <= MAX_WORDS:
        raise InputError(f"{where}.size must be bits of 1 to {MAX_WORDS} words, got {entry['size']}")
    bandwidth, block, share = _ports(_list(entry, "ports", where), f"{where}.ports")
    read, write = (share * not_negative(entry.get(key), f"{where}.{key}") for key in ("r_cost", "w_cost"))
    return set(own), {
        "capacity": None if words >= UNLIMITED else words,
        "keeps": tuple(tensor for tensor in ("W", "I", "O") if tensor in {TENSOR_OF[one] for one in keeps}),
        "bandwidth": bandwidth,
        "block": block,
        "energy": Energy(read, write, write),
    }


def _ports(ports: list[Any], where: str) -> tuple[Bandwidth, int, float]:
    """Words a cycle by kind, the words of an access, and its share of what a port moves for one cost."""
    words = dict.fromkeys(KINDS, 0.0)
    least, most = math.inf, 0
    for place, data in enumerate(ports):
        port = check_table(data, f"{where}[{place}]")
        _see("port", port, f"{where}[{place}]")
        if port.get("type") not in KINDS:
            raise unknown_name("type", str(port.get("type")), KINDS, f"{where}[{place}]")
        widest = whole_number(port.get("bandwidth_max"), f"{where}[{place}].bandwidth_max")
        words[port["type"]] += widest / WORD_BITS
        if not most:
            most = widest
            least = whole_number(port.get("bandwidth_min"), f"{where}[{place}].bandwidth_min", most=widest)
    if not most:
        raise InputError(f"{where} must be one or more")
    bandwidth = Bandwidth(words["read"] or None, words["write"] or None, words["read_write"] or None)
    block = max(1, int(least) // WORD_BITS)
    return bandwidth, block, block * WORD_BITS / most


def _list(entry: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = entry.get(key)
    if not isinstance(found, list):
        raise InputError(f"{where}.{key} must be a list, got {shorten(found)}")
    return found
