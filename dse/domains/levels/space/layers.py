"""What a level of a machine leaves open beside its factors: the order of its loops, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import TEMPORAL, FactorChain
from dse.domains.levels.space.constraints import (
    ALL,
    Constraints,
    Order,
    completed,
    orders_of,
    stationary,
    staying,
)
from dse.domains.levels.workload import Workload
from dse.support.arrays import IntArray
from dse.support.errors import InputError


@dataclass(frozen=True)
class LevelChoices:
    """Of the level at `place`: the orders to choose from, the tensors that it keeps, and those left open.

    `permuted` says whether the orders are all of the dims that it loops over.
    """

    place: int
    name: str
    orders: tuple[Order, ...]
    keeps: tuple[str, ...]
    open: tuple[str, ...]
    permuted: bool

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
        for tensor, keeps in zip(layout.tensors, kept, strict=True):
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
        orders = _orders(workload, machine, chains, constraints, place)
        permuted = constraints.orders == ALL and len(orders) > 1
        found.append(LevelChoices(place, level.name, orders, tuple(keeps), open_, permuted))
    return tuple(found)


def _orders(
    workload: Workload, machine: Machine, chains: Sequence[FactorChain], constraints: Constraints, place: int
) -> tuple[Order, ...]:
    if place in constraints.order:
        return (completed(workload, constraints.order[place]),)
    level = machine.levels[place]
    below = any(
        inner.keeps or inner.may_keep is None or inner.may_keep or inner.holds
        for inner in machine.levels[place + 1 :]
    )
    # Where nothing inside is kept, whatever is asked for is asked for at every step.
    looped = [chain.dim for chain in chains if _loops(chain, place)] if below else []
    orders = orders_of(workload, looped, constraints.orders)
    tensor = constraints.stationary.get(place)
    if tensor is None:
        return orders
    leaving = stationary(workload, orders, tensor)
    if leaving:
        return leaving
    dims = [dim for dim in workload.names if tensor in staying(workload, dim)]
    raise InputError(
        f"fixed {level.name}.stationary = {tensor}: the level has no loops that leave {tensor} in place, "
        f"which are those over {', '.join(dims) or 'no dim'}"
    )


def _loops(chain: FactorChain, place: int) -> bool:
    """Whether a dim's temporal loop at a level may run more than once."""
    return any(
        slot.level == place
        and slot.kind == TEMPORAL
        and any(below[-1] < above for above, below in step.items())
        for slot, step in zip(chain.slots, chain.choices, strict=True)
    )
