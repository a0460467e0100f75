"""A machine as its TOML file describes it, level by level from the outermost in, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.cost.timeloop.machine import FIRST_FILLS, MOST_WORDS, Level, Machine, not_negative, sram_pj
from dse.cost.timeloop.workload import CONV_DIMS, MATRIX_DIMS
from dse.support.errors import InputError, shorten, unknown
from dse.support.toml import read_toml
from dse.support.validation import keys, positive_number, table, whole_number

TENSORS = ("W", "I", "O")
DIMS = tuple(dict.fromkeys((*CONV_DIMS, *MATRIX_DIMS)))
BY_SIZE = "by size"
WORD_BITS = 8

_LEVEL_KEYS = (
    *("keeps", "may_keep", "size", "size_bytes", "word_bits", "fan_out", "spread", "multicast", "reduction"),
    *("bandwidth", "read_bandwidth", "write_bandwidth", "block", "cluster"),
    *("access_pj", "read_pj", "write_pj", "update_pj", "leak_pj"),
)
_ENERGIES = ("read_pj", "write_pj", "update_pj")
_BANDWIDTHS = {
    "bandwidth": "shared_bandwidth",
    "read_bandwidth": "read_bandwidth",
    "write_bandwidth": "write_bandwidth",
}


def read_machine(path: str) -> Machine:
    """The machine in the TOML file at `path`; InputError in one line where it is not right."""
    where = f"machine file {path!r}"
    return machine_from_dict(read_toml(path, where), where)


def machine_from_dict(data: object, where: str) -> Machine:
    """The machine that parsed TOML describes; `where` names the place in messages."""
    entry = table(data, where)
    keys(entry, where, required=("name", "mac_pj", "levels"), optional=("first_fill", "clock_ghz", "word_bits"))
    _text(entry["name"], f"{where}: name")
    not_negative(entry["mac_pj"], f"{where}: mac_pj")
    clock = positive_number(entry.get("clock_ghz", 1.0), f"{where}: clock_ghz")
    bits = whole_number(entry.get("word_bits", WORD_BITS), f"{where}: word_bits", most=2**16)
    first_fill = entry.get("first_fill", "elided")
    if first_fill not in FIRST_FILLS:
        raise unknown("first_fill", first_fill, FIRST_FILLS, where)
    if not isinstance(entry["levels"], list) or not entry["levels"]:
        raise InputError(f"{where}: levels must be tables headed [[levels]], the outermost first")
    levels = tuple(
        _read_level(level, f"{where}: levels[{place}]", bits, outermost=place == 0)
        for place, level in enumerate(entry["levels"])
    )
    try:
        return Machine(entry["name"], levels, entry["mac_pj"], first_fill, clock)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _read_level(data: object, where: str, bits: int, *, outermost: bool) -> Level:
    entry = table(data, where)
    keys(entry, where, required=("name",), optional=_LEVEL_KEYS)
    _text(entry["name"], f"{where}: name")
    where = f"{where} ({entry['name']})"
    keeps, may_keep = _kept(entry, where, outermost=outermost)
    bits = whole_number(entry.get("word_bits", bits), f"{where}: word_bits", most=2**16)
    counts = {
        key: whole_number(entry.get(key, 1), f"{where}: {key}", most=2**31 - 1)
        for key in ("block", "cluster", "fan_out")
    }
    bandwidths = {
        field: positive_number(entry[key], f"{where}: {key}")
        for key, field in _BANDWIDTHS.items()
        if key in entry
    }
    capacity = _capacity(entry, where, bits)
    return Level(
        name=entry["name"],
        capacity=capacity,
        keeps=keeps,
        may_keep=may_keep,
        spread=_names(entry["spread"], DIMS, "dim", f"{where}: spread") if "spread" in entry else None,
        multicast=_flag(entry, "multicast", where),
        reduction=_flag(entry, "reduction", where),
        leak_pj=not_negative(entry.get("leak_pj", 0), f"{where}: leak_pj"),
        **counts,
        **bandwidths,
        **_energies(entry, where, capacity, counts["block"], bits),
    )


def _kept(
    entry: Mapping[str, Any], where: str, *, outermost: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tensors that the level keeps, and those that it may keep besides."""
    keeps = _names(entry.get("keeps", list(TENSORS) if outermost else []), TENSORS, "tensor", f"{where}: keeps")
    may_keep = _names(entry.get("may_keep", []), TENSORS, "tensor", f"{where}: may_keep")
    twice = [name for name in keeps if name in may_keep]
    if twice:
        raise InputError(f"{where}: {twice[0]} is in keeps and in may_keep; name it in one of them")
    if outermost and set(keeps) != set(TENSORS):
        raise InputError(f"{where}: the outermost level keeps all of {', '.join(TENSORS)}; got {list(keeps)}")
    return keeps, may_keep


def _capacity(entry: Mapping[str, Any], where: str, bits: int) -> int | None:
    """The level's words: `size`, or as many as `size_bytes` hold; None if neither is there."""
    if "size" in entry and "size_bytes" in entry:
        raise InputError(f"{where}: size and size_bytes are both there; give the size in words or in bytes")
    if "size_bytes" in entry:
        size = whole_number(entry["size_bytes"], f"{where}: size_bytes", most=MOST_WORDS)
        if size * 8 < bits:
            raise InputError(f"{where}: size_bytes must hold a word of {bits} bits, got {size}")
        return size * 8 // bits
    return whole_number(entry["size"], f"{where}: size", most=MOST_WORDS) if "size" in entry else None


def _energies(
    entry: Mapping[str, Any], where: str, capacity: int | None, block: int, bits: int
) -> dict[str, float]:
    """The energy of a read, a fill and an update: one for all, one each, or by the size of the memory."""
    named = [key for key in _ENERGIES if key in entry]
    if "access_pj" not in entry:
        return {key: not_negative(entry.get(key, 0), f"{where}: {key}") for key in _ENERGIES}
    if named:
        raise InputError(f"{where}: access_pj and {named[0]} are both there; give one for all or one each")
    access = entry["access_pj"]
    if access != BY_SIZE:
        if isinstance(access, str):
            raise InputError(f"{where}: access_pj must be a number or {BY_SIZE!r}, got {shorten(access)}")
        return dict.fromkeys(_ENERGIES, not_negative(access, f"{where}: access_pj"))
    if capacity is None:
        raise InputError(f"{where}: access_pj is {BY_SIZE!r}, but there is no size; give size or size_bytes")
    return dict.fromkeys(_ENERGIES, sram_pj(capacity / block, block * bits))


def _names(value: object, known: tuple[str, ...], kind: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{where} must be a list of names, got {shorten(value)}")
    for name in value:
        if name not in known:
            raise unknown(kind, name, known, where)
        if value.count(name) > 1:
            raise InputError(f"{where}: {name} is there twice")
    return tuple(value)


def _text(value: object, where: str) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where} must be text, got {shorten(value)}")


def _flag(entry: Mapping[str, Any], key: str, where: str) -> bool:
    value = entry.get(key, True)
    if not isinstance(value, bool):
        raise InputError(f"{where}: {key} must be true or false, got {shorten(value)}")
    return value
