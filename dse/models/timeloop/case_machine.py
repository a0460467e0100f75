"""The machine of a case line: instances of every level, and figures of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.domains.levels.machine import FIRST_FILLS, RETURNED, Bandwidth, Energy, Level, Machine
from dse.domains.levels.workload import checked_integer
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table

WORDS = ("capacity",)
COUNTS = ("block", "cluster")
BANDWIDTHS = ("read_bw", "write_bw", "shared_bw")
ENERGIES = ("read_pj", "write_pj", "update_pj")
NUMBERS = (*BANDWIDTHS, *ENERGIES, "leak_pj")
FLAGS = ("multicast", "reduction")


def read_hardware(data: object, where: str) -> dict[str, Any]:
    """The entry, once its keys and the types of its values are found to be right; values may be any."""
    entry = check_table(data, where)
    optional = ("name", "first_fill", "fill_and_drain")
    check_keys(entry, where, required=("macs", "mac_pj", "levels"), optional=optional)
    checked_integer(entry["macs"], f"{where}.macs")
    _number(entry["mac_pj"], f"{where}.mac_pj")
    if entry.get("first_fill", FIRST_FILLS[0]) not in (*FIRST_FILLS, RETURNED):
        raise unknown_name("first_fill", entry["first_fill"], FIRST_FILLS, where)
    _flag(entry, "fill_and_drain", where)
    if not isinstance(entry.get("name", ""), str):
        raise InputError(f"{where}.name must be text, got {shorten(entry['name'])}")
    if not isinstance(entry["levels"], list):
        raise InputError(f"{where}.levels must be a list, got {shorten(entry['levels'])}")
    for place, level in enumerate(entry["levels"]):
        _check_level(level, f"{where}.levels[{place}]")
    return dict(entry)


def _check_level(data: object, where: str) -> None:
    level = check_table(data, where)
    optional = (*WORDS, *COUNTS, *NUMBERS, *FLAGS, "holds", "part_of", "buffering")
    check_keys(level, where, required=("name", "instances"), optional=optional)
    for key in ("name", "part_of", "buffering"):
        if not isinstance(level.get(key, ""), str):
            raise InputError(f"{where}.{key} must be text, got {shorten(level[key])}")
    checked_integer(level["instances"], f"{where}.instances")
    for key in (*WORDS, *COUNTS):
        if level.get(key) is not None:
            checked_integer(level[key], f"{where}.{key}")
    for key in NUMBERS:
        if level.get(key) is not None:
            _number(level[key], f"{where}.{key}")
    lacking = [key for key in ENERGIES if level.get(key) is None]
    if 0 < len(lacking) < len(ENERGIES):
        raise InputError(f"{where} lacks {', '.join(lacking)} beside the others: say 0 if it takes nothing")
    held = level.get("holds", [])
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        raise InputError(f"{where}.holds must be a list of tensors, got {shorten(held)}")
    for key in FLAGS:
        _flag(level, key, where)


def _flag(entry: Mapping[str, Any], key: str, where: str) -> None:
    if not isinstance(entry.get(key, True), bool):
        raise InputError(f"{where}.{key} must be true or false, got {shorten(entry[key])}")


def _number(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number, got {shorten(value)}")


def build_machine(entry: dict[str, Any]) -> Machine:
    """The machine that a checked entry describes; InputError where its values can be no machine's."""
    levels = entry["levels"]
    instances = [*(level["instances"] for level in levels), entry["macs"]]
    if not levels:
        raise InputError("hardware: no levels; it needs at least one")
    if instances[0] != 1:
        raise InputError(f"hardware: there must be one instance of the outermost level, got {instances[0]}")
    built = tuple(
        _level(level, above, below)
        for level, above, below in zip(levels, instances, instances[1:], strict=False)
    )
    _see_parts(levels)
    first_fill = entry.get("first_fill", FIRST_FILLS[0])
    named, fills = entry.get("name", "") or "machine", entry.get("fill_and_drain", False)
    return Machine(named, built, entry["mac_pj"], first_fill, fill_and_drain=fills)


def _see_parts(levels: list[dict[str, Any]]) -> None:
    """InputError where a level is a part of none outside of it that there are as many instances of."""
    instances: dict[str, int] = {}
    for level in levels:
        whole = level.get("part_of")
        if whole and instances.get(whole) != level["instances"]:
            raise InputError(
                f"hardware: {level['name']}: part_of must name a level outside of it with as many instances, "
                f"got {shorten(whole)}"
            )
        instances[level["name"]] = level["instances"]


def _level(data: dict[str, Any], instances: int, below: int) -> Level:
    if below < 1 or below % instances:
        raise InputError(
            f"hardware: {data['name']}: below its {instances} instances there must be a multiple of them,"
            f" got {below}"
        )
    known = {key: value for key, value in data.items() if key != "instances" and value is not None}
    bandwidth = Bandwidth(*(known.pop(key, None) for key in BANDWIDTHS))
    energy = Energy(*(known.pop(key, 0.0) for key in ENERGIES))
    known["holds"] = tuple(known.pop("holds", ()))
    return Level(fan_out=below // instances, bandwidth=bandwidth, energy=energy, **known)
