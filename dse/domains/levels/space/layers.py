"""What a level of a machine leaves open beside its factors: the order of its loops, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import TEMPORAL, FactorChain
from dse.domains.levels.space.constraints import ALL, UNDOMINATED, Constraints
from dse.domains.levels.space.orders import (
    Order,
    completed_order,
    every_order,
    innermost_orders,
    stationary_orders,
    staying_tensors,
    with_others,
)
from dse.domains.levels.uneven import stored_by_level
from dse.domains.levels.workload import Workload
from dse.support.arrays import IntArray
from dse.support.errors import InputError


@dataclass(frozen=True)
class LevelChoices:
    """Of the level at `place`: the orders to choose from, the tensors that it keeps, and those left open.

    The first `plain` orders are enough where no loops that move a window undo each other, or move it alike.
    `permuted` says whether the orders are all of the dims that it loops over. Of a level `in_parts` the first
    part has `stacks`, the choices of what the level stores, from the outermost tensor in: one in each part.
    """

    place: int
    name: str
    orders: tuple[Order, ...]
    plain: int
    keeps: tuple[str, ...]
    open: tuple[str, ...]
    permuted: bool
    stacks: tuple[tuple[str, ...], ...] = ()
    in_parts: bool = False

    @property
    def stack_gene(self) -> str:
        """The name of the gene that says what is stored above what."""
        return f"{self.name}.stack"

    @property
    def order_gene(self) -> str:
        """The name of the order's gene."""
        return f"{self.name}.order"

    def keep_gene(self, tensor: str) -> str:
        """The name of the gene that says whether a tensor is kept."""
        return f"{self.name}.keep.{tensor}"

    def encode(self, row: RowArray, layout: Layout, places: Mapping[str, int], vector: IntArray) -> str:
        """Write the genes of a row's order and kept tensors; why there are none, or nothing."""
        kept = row[layout.keep(self.place)].tolist()
        if self.stacks:
            stack = _stack(row, layout, self.place, max(map(len, self.stacks)))
            if stack not in self.stacks:
                return f"{self.name} stores {_named(stack)}, of {' or '.join(map(_named, self.stacks[:8]))}"
            if len(self.stacks) > 1:
                vector[places[self.stack_gene]] = self.stacks.index(stack)
        for tensor, keeps in zip(layout.tensors, kept, strict=True):
            if self.in_parts:
                continue
            if tensor in self.open:
                vector[places[self.keep_gene(tensor)]] = int(bool(keeps))
            elif bool(keeps) != (tensor in self.keeps):
                return f"{self.name} {'bypasses' if tensor in self.keeps else 'keeps'} {tensor}"
        factors = row[layout.temporal(self.place)].tolist()
        order = [layout.dims[dim] for dim in row[layout.order(self.place)].tolist()]
        loops = [dim for dim in order if factors[layout.dims.index(dim)] > 1]
        alike = [
            number
            for number, other in enumerate(self.orders)
            if [dim for dim in other if dim in loops] == loops
        ]
        if not alike:
            known = " or ".join("".join(other) for other in self.orders[:8])
            return f"{self.name} loops in the order {''.join(loops)}, of the orders {known}"
        if len(self.orders) > 1:
            exact = [number for number in alike if list(self.orders[number]) == order]
            vector[places[self.order_gene]] = (exact or alike)[0]
        return ""


def _stack(row: RowArray, layout: Layout, place: int, most: int) -> tuple[str, ...] | None:
    """The tensors of parts of a level, one each from the first; None where that is not what they keep."""
    found: list[str] = []
    for part in range(place, place + most):
        kept = [name for name, keeps in zip(layout.tensors, row[layout.keep(part)], strict=True) if keeps]
        if len(kept) > 1 or (kept and len(found) < part - place):
            return None
        found += kept
    return tuple(found)


def _named(stack: tuple[str, ...] | None) -> str:
    return "no tensor, or several in one part" if stack is None else " above ".join(stack) or "nothing"


def level_choices(
    workload: Workload, machine: Machine, chains: Sequence[FactorChain], constraints: Constraints
) -> tuple[LevelChoices, ...]:
    """The choices of every level; InputError where constraints leave a level none."""
    found = []
    keeps: tuple[str, ...]
    open_: tuple[str, ...]
    for place, level in enumerate(machine.levels):
        if place in constraints.keep:
            keeps, open_ = constraints.keep[place], ()
        else:
            keeps = workload.tensor_names if place == 0 else level.keeps
            may = workload.tensor_names if level.may_keep is None else level.may_keep
            if machine.homes:
                keeps = machine.must_keep(place, workload.tensor_names)
                may = machine.may_keep(place, workload.tensor_names)
            open_ = tuple(name for name in may if name not in keeps)
        orders, plain = _orders(workload, machine, chains, constraints, place)
        permuted = constraints.orders == ALL and len(orders) > 1
        parts = machine.storages.count(machine.storages[place])
        if parts == 1:
            found.append(LevelChoices(place, level.name, orders, plain, tuple(keeps), open_, permuted))
            continue
        first = machine.storages[place] == place
        stacks = _stacks(workload, machine, constraints, place) if first else ()
        found.append(LevelChoices(place, level.name, orders, plain, (), (), permuted, stacks, in_parts=True))
    return tuple(found)


def _stacks(
    workload: Workload, machine: Machine, constraints: Constraints, place: int
) -> tuple[tuple[str, ...], ...]:
    """All orders of the tensors that a level in parts keeps, for each choice of them."""
    level = machine.levels[place]
    must = stored_by_level(machine, level)
    open_ = [name for name in workload.tensor_names if name in (level.may_keep or ()) and name not in must]
    fixed = constraints.keep.get(place)
    choices = [
        tuple(name for name in workload.tensor_names if name in {*must, *more})
        for count in range(len(open_) + 1)
        for more in combinations(open_, count)
    ]
    kept = choices if fixed is None else [fixed]
    return tuple(stack for one in kept for stack in permutations(one))


def _orders(
    workload: Workload, machine: Machine, chains: Sequence[FactorChain], constraints: Constraints, place: int
) -> tuple[tuple[Order, ...], int]:
    """The orders of a level, and how many of them are plain."""
    if place in constraints.order:
        return (completed_order(workload, constraints.order[place]),), 1
    looped = _looped(machine, chains, place)
    every = constraints.orders == ALL
    plain = orders = every_order(workload, looped) if every else innermost_orders(workload, looped)
    if constraints.orders == UNDOMINATED:
        places = range(place + 1, len(machine.levels))
        inside = tuple(dim for inner in places for dim in _looped(machine, chains, inner))
        orders = with_others(workload, plain, looped, inside)
    tensor = constraints.stationary.get(place)
    if tensor is None:
        return orders, len(plain)
    leaving = stationary_orders(workload, orders, tensor)
    if leaving:
        return leaving, len(stationary_orders(workload, plain, tensor))
    dims = [dim for dim in workload.names if tensor in staying_tensors(workload, dim)]
    raise InputError(
        f"fixed {machine.levels[place].name}.stationary = {tensor}: the level has no loops that leave "
        f"{tensor} in place, which are those over {', '.join(dims) or 'no dim'}"
    )


def _looped(machine: Machine, chains: Sequence[FactorChain], place: int) -> tuple[str, ...]:
    """The dims that a level loops over; none where nothing inside is kept, as whatever is asked for is asked
    for at every step then.
    """
    below = any(inner.stores for inner in machine.levels[place + 1 :])
    return tuple(chain.dim for chain in chains if _loops(chain, place)) if below else ()


def _loops(chain: FactorChain, place: int) -> bool:
    """Whether a dim's temporal loop at a level may run more than once."""
    return any(
        slot.level == place
        and slot.kind == TEMPORAL
        and any(below[-1] < above for above, below in step.items())
        for slot, step in zip(chain.slots, chain.choices, strict=True)
    )
