"""What a user fixes of a mapping onto a hierarchy, by name, as constraints of Timeloop's mapper are written.

`LEVEL.temporal.DIM` and `LEVEL.spatial.DIM` are factors; `LEVEL.order` the dims of the innermost loops, the
outermost of them first; `LEVEL.stationary` a tensor that the level's innermost loop leaves in place, which
makes a dataflow; `LEVEL.keep` the tensors that it keeps; `LEVEL.utilization` the share of its fan-out that is
spread over at least. `orders` says which orders there are: `innermost` or `all`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import SPATIAL, TEMPORAL
from dse.domains.levels.uneven import stored
from dse.domains.levels.workload import Workload
from dse.support.errors import InputError, shorten, unknown
from dse.support.validation import table, whole_number

INNERMOST, ALL = "innermost", "all"
KINDS = (INNERMOST, ALL)
Order = tuple[str, ...]
"""All dims of a workload, that of the outermost loop first."""
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
    orders: str = INNERMOST


def read_constraints(fixed: object, workload: Workload, machine: Machine) -> Constraints:
    """The constraints in plain data; InputError for a name or a value that cannot be one."""
    found = Constraints()
    places = {level.name: place for place, level in enumerate(machine.levels)}
    orders = INNERMOST
    for name, value in table(fixed, "fixed").items():
        if name == ORDERS:
            if value not in KINDS:
                raise unknown("orders", value, KINDS, "fixed")
            orders = value
            continue
        level, kind, dim = _parsed(name, places)
        place, what = places[level], f"fixed {name}"
        if kind in (SPATIAL, UTILIZATION):
            # The fan-out of a level in parts is below the last of them.
            place = len(machine.levels) - 1 - machine.storages[::-1].index(machine.storages[place])
        if kind in (TEMPORAL, SPATIAL):
            if dim not in workload.sizes:
                raise unknown("dim", dim, workload.names, f"fixed {level}.{kind}")
            found.factors[place, kind, dim] = whole_number(value, what)
        elif kind == ORDER:
            found.order[place] = _names(value, workload.names, "dim", what)
        elif kind == STATIONARY:
            (found.stationary[place],) = _names([value], workload.tensor_names, "tensor", what)
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
        raise unknown("constraint", name, wanted, "fixed")
    raise unknown("level", (level or head or name), [*places, ORDERS], f"fixed {name}")


def _names(value: object, known: tuple[str, ...], kind: str, what: str) -> tuple[str, ...]:
    """Names in a list, or in a text of one-letter names."""
    names = tuple(value) if isinstance(value, list | tuple | str) else (value,)
    for name in names:
        if name not in known:
            raise unknown(kind, name, known, what)
        if names.count(name) > 1:
            raise InputError(f"{what}: {name} is there twice")
    return names


def _kept(value: object, workload: Workload, machine: Machine, place: int, what: str) -> tuple[str, ...]:
    level = machine.levels[place]
    names = _names([] if value in ("", "none") else value, workload.tensor_names, "tensor", what)
    must, may = (one(place, workload.tensor_names) for one in (machine.must_keep, machine.may_keep))
    if machine.even and machine.storages.count(place) > 1:
        must = stored(machine, level)
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


def staying(workload: Workload, dim: str) -> frozenset[str]:
    """The tensors that a loop over a dim leaves in place."""
    return frozenset(tensor.name for tensor in workload.tensors if not any(tensor.coefficients(dim)))


def orders_of(workload: Workload, looped: Sequence[str], kind: str) -> tuple[Order, ...]:
    """The orders of a level whose loops are over `looped` that differ in cost; the other dims stand outside.

    Deliveries depend on which loop is the innermost, and on how many of the loops next to it leave the same
    tensors in place. So by default an order is its innermost dim, next to it the dims that leave the same
    tensors in place, and then the others as they come. Where a window slides along two dims, the other one
    next to the innermost can bring fewer words still (a depthwise layer's C P R): that takes `all`.
    """
    idle = [dim for dim in workload.names if dim not in looped]
    if kind == ALL:
        return tuple((*idle, *order) for order in permutations(looped))
    return tuple((*idle, *_with_innermost(workload, looped, dim)) for dim in looped) or (tuple(idle),)


def stationary(workload: Workload, orders: Sequence[Order], tensor: str) -> tuple[Order, ...]:
    """Those of the orders whose innermost loop leaves a tensor in place."""
    return tuple(order for order in orders if tensor in staying(workload, order[-1]))


def completed(workload: Workload, innermost: Sequence[str]) -> Order:
    """The order that ends with these dims; the others stand outside as they come."""
    return (*(dim for dim in workload.names if dim not in innermost), *innermost)


def _with_innermost(workload: Workload, looped: Sequence[str], inner: str) -> list[str]:
    group = staying(workload, inner)
    near = [dim for dim in looped if dim != inner and staying(workload, dim) == group]
    far = [dim for dim in looped if dim != inner and dim not in near]
    return [*far, *near, inner]
