"""What a user fixes of a mapping onto a hierarchy, by name, as constraints of Timeloop's mapper are written.

`LEVEL.temporal.DIM` and `LEVEL.spatial.DIM` are factors; `LEVEL.order` the dims of the innermost loops, the
outermost of them first; `LEVEL.stationary` a tensor that the level's innermost loop leaves in place, which
makes a dataflow; `LEVEL.keep` the tensors that it keeps; `LEVEL.utilization` the share of its fan-out that is
spread over at least. `orders` says which orders there are: those that no other is better than in any case
(`undominated`), one for each innermost loop (`innermost`), or `all`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.domains.levels.checks import names_among
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import SPATIAL, TEMPORAL
from dse.domains.levels.uneven import stored_by_level
from dse.domains.levels.workload import Workload
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_table, whole_number

UNDOMINATED, INNERMOST, ALL = "undominated", "innermost", "all"
KINDS = (UNDOMINATED, INNERMOST, ALL)
ORDERS, ORDER, STATIONARY, KEEP, UTILIZATION = "orders", "order", "stationary", "keep", "utilization"
OF_A_LEVEL = (TEMPORAL, SPATIAL, ORDER, STATIONARY, KEEP, UTILIZATION)


@dataclass(frozen=True)
class Constraints:
    """What is fixed, by the places of levels: see the module."""

    factors: dict[tuple[int, str, str], int] = field(default_factory=dict)
    order: dict[int, tuple[str, ...]] = field(default_factory=dict)
    stationary: dict[int, str] = field(default_factory=dict)
    keep: dict[int, tuple[str, ...]] = field(default_factory=dict)
    utilization: dict[int, float] = field(default_factory=dict)
    orders: str = UNDOMINATED


def read_constraints(fixed: object, workload: Workload, machine: Machine) -> Constraints:
    """The constraints in plain data; InputError for a name or a value that cannot be one."""
    found = Constraints()
    places = {level.name: place for place, level in enumerate(machine.levels)}
    orders = UNDOMINATED
    for name, value in check_table(fixed, "fixed").items():
        if name == ORDERS:
            if value not in KINDS:
                raise unknown_name("orders", value, KINDS, "fixed")
            orders = value
            continue
        level, kind, dim = _parsed(name, places)
        place, what = places[level], f"fixed {name}"
        if kind in (SPATIAL, UTILIZATION):
            # The fan-out of a level in parts is below the last of them.
            place = len(machine.levels) - 1 - machine.storages[::-1].index(machine.storages[place])
        if kind in (TEMPORAL, SPATIAL):
            if dim not in workload.sizes:
                raise unknown_name("dim", dim, workload.names, f"fixed {level}.{kind}")
            found.factors[place, kind, dim] = whole_number(value, what)
        elif kind == ORDER:
            found.order[place] = names_among(value, workload.names, "dim", what)
        elif kind == STATIONARY:
            (found.stationary[place],) = names_among([value], workload.tensor_names, "tensor", what)
        elif kind == KEEP:
            found.keep[place] = _kept(value, workload, machine, place, what)
        else:
            found.utilization[place] = _share(value, what)
    both = found.order.keys() & found.stationary.keys()
    if both:
        level = machine.levels[min(both)].name
        raise InputError(f"fixed: {level}.order and {level}.stationary are both there; keep one of them")
    return Constraints(**{**vars(found), "orders": orders})


def _parsed(name: str, places: Mapping[str, int]) -> tuple[str, str, str]:
    """A constraint's name: level, kind, and the dim of a factor."""
    head, _, last = name.rpartition(".")
    level, _, kind = head.rpartition(".")
    if level in places and kind in (TEMPORAL, SPATIAL):
        return level, kind, last
    if head in places and last in OF_A_LEVEL[2:]:
        return head, last, ""
    wanted = [ORDERS, *(f"{level}.{kind}" for level in places for kind in OF_A_LEVEL)]
    if head in places or level in places:
        raise unknown_name("constraint", name, wanted, "fixed")
    raise unknown_name("level", (level or head or name), [*places, ORDERS], f"fixed {name}")


def _kept(value: object, workload: Workload, machine: Machine, place: int, what: str) -> tuple[str, ...]:
    level = machine.levels[place]
    names = names_among([] if value in ("", "none") else value, workload.tensor_names, "tensor", what)
    must, may = (one(place, workload.tensor_names) for one in (machine.must_keep, machine.may_keep))
    if machine.even and machine.storages.count(place) > 1:
        must = stored_by_level(machine, level)
    wrong = [name for name in must if name not in names] or [name for name in names if name not in may]
    if wrong:
        besides = ", ".join(name for name in may if name not in must) or "nothing"
        raise InputError(
            f"{what}: {level.name} must keep {', '.join(must) or 'nothing'} and may keep {besides} besides, "
            f"got {shorten(value)}"
        )
    return names


def _share(value: object, what: str) -> float:
    try:
        share = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        share = -1.0
    if isinstance(value, bool) or not 0 <= share <= 1:
        raise InputError(f"{what} must be a share from 0 to 1, got {shorten(value)}")
    return share
