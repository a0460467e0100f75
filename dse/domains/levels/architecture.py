"""A machine as its TOML file describes it, level by level from the outermost in, read strictly."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from dse.core.widths import Widths
from dse.domains.levels.checks import MAX_LETTERS, OVERLAPPED, names_among, not_negative
from dse.domains.levels.energies import BY_TABLE, ERT, Energies
from dse.domains.levels.machine import (
    EVEN,
    MAX_INSTANCES,
    MAX_WORDS,
    TENSORS,
    Bandwidth,
    Energy,
    Level,
    Machine,
    sram_pj,
)
from dse.domains.levels.uneven import with_nests
from dse.domains.levels.workload import CONV_DIMS, GROUPS, MATRIX_DIMS
from dse.support.errors import InputError, errors_within, one_line, shorten
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import read_toml

DIMS = tuple(dict.fromkeys((*CONV_DIMS, *MATRIX_DIMS, GROUPS)))
BY_SIZE = "by size"

_Text = Annotated[str, Limits("text", min_length=1)]
_Bits = Annotated[int, Limits(ge=1, le=2**16)]
_Words = Annotated[int, Limits(ge=1, le=MAX_WORDS)]
_Count = Annotated[int, Limits(ge=1, le=MAX_INSTANCES)]
_Rate = Annotated[float, Limits("a finite number above 0", gt=0, allow_inf_nan=False)]
_Picojoules = Annotated[float, Limits("a finite number of 0 or more", ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class _LevelTable(Schema):
    """The keys of one [[levels]] table; what is None is not there."""

    name: _Text
    keeps: list[str] | None = None
    may_keep: list[str] = field(default_factory=list)
    size: _Words | None = None
    size_bytes: _Words | None = None
    word_bits: _Bits | None = None
    fan_out: _Count = 1
    spread: list[str] | None = None
    loops: list[str] | None = None
    multicast: bool = True
    reduction: bool = True
    bandwidth: _Rate | None = None
    read_bandwidth: _Rate | None = None
    write_bandwidth: _Rate | None = None
    bandwidth_bytes: _Rate | None = None
    read_bandwidth_bytes: _Rate | None = None
    write_bandwidth_bytes: _Rate | None = None
    block: _Count = 1
    cluster: _Count = 1
    access_pj: Any = None
    read_pj: _Picojoules | None = None
    write_pj: _Picojoules | None = None
    update_pj: _Picojoules | None = None
    leak_pj: _Picojoules = 0.0
    holds: list[str] = field(default_factory=list)
    buffering: str = OVERLAPPED


@dataclass(frozen=True)
class _MachineFile(Schema):
    name: _Text
    levels: Annotated[list[_LevelTable], Limits("one or more [[levels]] tables", min_length=1)]
    mac_pj: _Picojoules | None = None
    technology: _Text | None = None
    process_nm: _Rate | None = None
    volts: _Rate | None = None
    first_fill: str = "elided"
    clock_ghz: _Rate = 1.0
    word_bits: _Bits = 8
    bits: Any = None
    nests: str | None = None
    fill_and_drain: bool = False


def read_machine(path: str) -> Machine:
    """The machine in the TOML file at `path`; InputError in one line where it is not right."""
    where = f"machine file {path!r}"
    return machine_from_dict(read_toml(path, where), where)


def machine_from_dict(data: object, where: str) -> Machine:
    """The machine that parsed TOML describes; `where` names the place in messages."""
    file = read_schema(_MachineFile, data, where)
    with errors_within(where):
        energies = Energies(file.technology, file.mac_pj, file.word_bits, (file.process_nm, file.volts))
    _see_energies(file, where)
    levels = tuple(
        _level(table, file.word_bits, f"{where}: levels[{place}]", energies, outermost=place == 0)
        for place, table in enumerate(file.levels)
    )
    try:
        widths = Widths.read(file.bits, "bits")
        clock, bits = file.clock_ghz, file.word_bits
        made = Machine(file.name, levels, energies.mac_pj, file.first_fill, clock, bits, widths)
        made = replace(made, sources=tuple(energies.sources), fill_and_drain=file.fill_and_drain)
        return made if file.nests is None else with_nests(made, file.nests)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def machine_as_written(data: Any, where: str) -> Machine:
    """The machine whose `to_dict` the data are: whole numbers stay so, for fingerprints to agree.

    Where they say nothing of nests, these are even.
    """
    nests = data.get("nests", EVEN)
    machine = machine_from_dict({**data, "nests": EVEN}, where)
    levels = []
    for level, entry in zip(machine.levels, data["levels"], strict=True):
        rates = (entry.get(key) for key in ("read_bandwidth", "write_bandwidth", "bandwidth"))
        energy = {key: entry.get(key, pj) for key, pj in vars(level.energy).items()}
        leak_pj = entry.get("leak_pj", level.leak_pj)
        levels.append(replace(level, bandwidth=Bandwidth(*rates), energy=Energy(**energy), leak_pj=leak_pj))
    rest = {key: data.get(key, getattr(machine, key)) for key in ("mac_pj", "clock_ghz")}
    return with_nests(replace(machine, levels=tuple(levels), **rest), nests)


def _level(table: _LevelTable, word_bits: int, where: str, energies: Energies, *, outermost: bool) -> Level:
    where = f"{where} ({one_line(table.name)[:MAX_LETTERS]})"
    keeps, may_keep = _kept(table, where, outermost=outermost)
    bits = table.word_bits or word_bits
    capacity = _capacity(table, bits, where)
    spread, loops = (
        None if dims is None else names_among(dims, DIMS, "dim", f"{where}: {key}")
        for key, dims in (("spread", table.spread), ("loops", table.loops))
    )
    bandwidth, energy = _bandwidth(table, bits, where), _energy(table, capacity, bits, where, energies)
    with errors_within(where):
        return Level(
            name=table.name,
            capacity=capacity,
            fan_out=table.fan_out,
            keeps=keeps,
            may_keep=may_keep,
            spread=spread,
            loops=loops,
            multicast=table.multicast,
            reduction=table.reduction,
            bandwidth=bandwidth,
            energy=energy,
            block=table.block,
            leak_pj=table.leak_pj,
            cluster=table.cluster,
            word_bits=bits,
            holds=names_among(table.holds, TENSORS, "tensor", f"{where}: holds"),
            buffering=table.buffering,
        )


def _has_energy(table: _LevelTable) -> bool:
    """Whether a level says what any access takes."""
    return any(one is not None for one in (table.access_pj, table.read_pj, table.write_pj, table.update_pj))


def _see_energies(file: _MachineFile, where: str) -> None:
    """InputError of a level whose energies are missing, where others have theirs: none is no 0."""
    if not any(map(_has_energy, file.levels)):
        return
    for place, table in enumerate(file.levels):
        at = f"{where}: levels[{place}] ({one_line(table.name)[:MAX_LETTERS]})"
        keeps, may_keep = _kept(table, at, outermost=place == 0)
        if (keeps or may_keep or table.holds) and not _has_energy(table):
            raise InputError(f"{at} lacks access_pj, or read_pj and write_pj: say 0 if it takes nothing")


def _kept(table: _LevelTable, where: str, *, outermost: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tensors that the level keeps, and those that it may keep besides.

    One of which nothing is said keeps all, if it is a storage: a level that only spreads has neither a size
    nor energies.
    """
    stores = outermost or table.size is not None or table.size_bytes is not None or _has_energy(table)
    default = list(TENSORS) if stores and not table.may_keep else []
    keeps = names_among(default if table.keeps is None else table.keeps, TENSORS, "tensor", f"{where}: keeps")
    may_keep = names_among(table.may_keep, TENSORS, "tensor", f"{where}: may_keep")
    for name in keeps:
        if name in may_keep:
            raise InputError(f"{where}: {name} is in keeps and in may_keep; name it in one of them")
    if outermost and len(keeps) < len(TENSORS):
        raise InputError(f"{where}: the outermost level keeps all of {', '.join(TENSORS)}, got {list(keeps)}")
    return keeps, may_keep


def _capacity(table: _LevelTable, bits: int, where: str) -> int | None:
    """The level's words: `size`, or as many as `size_bytes` hold; None if neither is there."""
    if table.size is not None and table.size_bytes is not None:
        raise InputError(f"{where}: size and size_bytes are both there; give the size in words or in bytes")
    if table.size_bytes is None:
        return table.size
    words = table.size_bytes * 8 // bits
    if not words:
        raise InputError(f"{where}: size_bytes must hold a word of {bits} bits, got {table.size_bytes}")
    return words


def _bandwidth(table: _LevelTable, bits: int, where: str) -> Bandwidth:
    """The level's words a cycle, as they are or as many as so many bytes are."""
    found = []
    for key in ("read_bandwidth", "write_bandwidth", "bandwidth"):
        words, octets = getattr(table, key), getattr(table, f"{key}_bytes")
        if words is not None and octets is not None:
            raise InputError(f"{where}: {key} and {key}_bytes are both there; give it in words or in bytes")
        found.append(words if octets is None else octets * 8 / bits)
    return Bandwidth(*found)


def _energy(table: _LevelTable, capacity: int | None, bits: int, where: str, energies: Energies) -> Energy:
    """What accesses take: one figure for all kinds, one each (an update is a write), or by the size."""
    each = {"read_pj": table.read_pj, "write_pj": table.write_pj, "update_pj": table.update_pj}
    given = {key: pj for key, pj in each.items() if pj is not None}
    if table.access_pj is None:
        for key, pj in given.items():
            not_negative(pj, f"{where}: {key}")
        lacking = [key for key in ("read_pj", "write_pj") if given and key not in given]
        if lacking:
            has = next(iter(given))
            raise InputError(
                f"{where}: it has {has} and lacks {', '.join(lacking)}: say 0 if it takes nothing"
            )
        if given:
            given.setdefault("update_pj", given["write_pj"])
        for key, pj in given.items():
            energies.own(f"{table.name}, {key}", pj)
        return Energy(**given)
    if given:
        raise InputError(
            f"{where}: access_pj and {next(iter(given))} are both there; give one for all or one each"
        )
    if table.access_pj in BY_TABLE:
        with errors_within(where):
            return Energy(**energies.access(table.access_pj, table.name, capacity, table.block, bits))
    if table.access_pj == ERT:
        with errors_within(where):
            return Energy(**energies.of_component(table.name))
    if table.access_pj != BY_SIZE:
        if isinstance(table.access_pj, str):
            wanted = f"a number, {BY_SIZE!r}, or {', '.join(BY_TABLE)} of a technology, or {ERT!r}"
            raise InputError(f"{where}: access_pj must be {wanted}, got {shorten(table.access_pj)}")
        pj = not_negative(table.access_pj, f"{where}: access_pj")
        energies.own(f"{table.name}, an access", pj)
        return Energy.of_any(pj)
    if capacity is None:
        raise InputError(f"{where}: access_pj is {BY_SIZE!r}, but there is no size; give size or size_bytes")
    pj = sram_pj(capacity / table.block, table.block * bits)
    energies.own(f"{table.name}, an access", pj, "by size, after Eyeriss's table")
    return Energy.of_any(pj)
