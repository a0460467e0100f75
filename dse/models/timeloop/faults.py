"""Why a mapping has no price: codes for arrays, and the sentences that they stand for."""

from __future__ import annotations

from enum import IntEnum

from dse.domains.levels.machine import Machine
from dse.domains.levels.uneven import stored_by_level
from dse.domains.levels.workload import Workload


class Fault(IntEnum):
    """0 is none. `where` is a level's place, or for FACTORS a dim's; `need` is what is asked of it."""

    NONE = 0
    FACTORS = 1
    ORDER = 2
    KEEP = 3
    SPREAD = 4
    FAN_OUT = 5
    CAPACITY = 6
    CYCLES = 7


def fault_text(fault: Fault, where: int, need: int, workload: Workload, machine: Machine) -> str:
    """The fault in words, with what is needed and what there is."""
    if fault == Fault.FACTORS:
        dim, size = workload.dims[where]
        return f"the factors of {dim} must be at least 1 and multiply to {size}"
    if fault == Fault.CYCLES:
        return "the cycles do not fit in 64 bits"
    level = machine.levels[where]
    name, unit = level.name, machine.unit
    if fault == Fault.ORDER:
        return f"{name}: the order of its loops must name each dim once"
    if fault == Fault.KEEP:
        text = f"{name}: must keep {_list(required_tensors(workload, machine, where))}"
        if level.may_keep is None and not machine.homes:
            return text
        may = level.may_keep if not machine.homes else machine.may_keep(where, workload.tensor_names)
        return f"{text} and may keep {_list(may or ())} besides"
    if fault == Fault.SPREAD:
        return f"{name}: {_list(level.spread or ())} may be spread below it, and no other dim"
    if fault == Fault.FAN_OUT:
        return f"{name}: spreads over {need} of {level.fan_out} instances below it"
    return f"{name}: needs {need} of {level.room} {unit}"


def required_tensors(workload: Workload, machine: Machine, place: int) -> tuple[str, ...]:
    """The tensors that a level has to keep: the outermost one keeps all that are held nowhere further in.

    Of a level in parts they are those of all parts together, and the first one's.
    """
    if machine.even and machine.storages.count(place) > 1:
        return stored_by_level(machine, machine.levels[place])
    return machine.must_keep(place, workload.tensor_names)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
