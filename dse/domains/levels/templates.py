"""Dataflow templates for machines of levels: what stays in place, with tiles by rule, without a cost model.

`weight-stationary`, `input-stationary` and `output-stationary` name the tensor that stays: dims that move it
are spread over fan-outs first, so that instances have words of their own, and inside of each level loops that
leave it in place are the innermost. `row-stationary`, as in Eyeriss (Chen et al., ISCA 2016), spreads rows of
filters and of outputs, and slides along a row.

From the innermost level out each dim takes prime factors, the smallest first, as long as every level has room
for its tile. What is left is looped over outside, at the outermost level that may. A level keeps all that it
may, if the smallest tiles of that have room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.core.chains import distinct_primes
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop
from dse.domains.levels.space.orders import Order
from dse.domains.levels.workload import GROUPS, Workload
from dse.support.errors import unknown_name

STATIONARY = {"weight-stationary": "W", "input-stationary": "I", "output-stationary": "O"}
ROW_STATIONARY = "row-stationary"
TEMPLATES = (*STATIONARY, ROW_STATIONARY)
"""The templates by name."""
ROWS_SPREAD, ROWS_INSIDE = (*"RPKCQSN", GROUPS), (*"SQCKPRN", GROUPS)
"""In which order dims are spread, and loops grow, where rows are stationary."""


def make_template(
    name: str,
    workload: Workload,
    machine: Machine,
    rooms: Sequence[int | None],
    orders: Sequence[Sequence[Order]],
) -> HierarchyMapping:
    """The template of that name, for even nests; InputError for other names.

    Of each level `rooms` are what mappings may use of it, and `orders` those in which it may loop.
    """
    if name not in TEMPLATES:
        raise unknown_name("template", name, TEMPLATES)
    dims = [dim for dim, size in workload.sizes.items() if size > 1]
    spread, inside = [dim for dim in ROWS_SPREAD if dim in dims], [dim for dim in ROWS_INSIDE if dim in dims]
    if name in STATIONARY:
        (still,) = (one for one in workload.tensors if one.name == STATIONARY[name])
        moving = [dim for dim in dims if any(still.coefficients(dim))]
        staying = [dim for dim in dims if dim not in moving]
        spread, inside = moving + staying, staying + moving
    fitted = _Fitted(workload, machine, rooms)
    fitted.spread(spread)
    fitted.grow(inside)
    return fitted.mapping(inside, orders)


@dataclass
class _Fitted:
    """Loops of each level that grow while their tiles fit."""

    workload: Workload
    machine: Machine
    rooms: Sequence[int | None]
    keeps: list[tuple[str, ...]] = field(init=False)
    left: dict[str, int] = field(init=False)
    temporal: list[dict[str, int]] = field(init=False)
    spatial: list[dict[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        names, levels = self.workload.tensor_names, self.machine.levels
        self.left = dict(self.workload.sizes)
        self.temporal, self.spatial = ([dict.fromkeys(self.left, 1) for _ in levels] for _ in range(2))
        self.keeps = [self.machine.must_keep(place, names) for place in range(len(levels))]
        for place in range(len(levels)):
            for name in self.machine.may_keep(place, names):
                before = self.keeps[place]
                if name not in before:
                    self.keeps[place] = tuple(one for one in names if one in (*before, name))
                    if not self._fits():
                        self.keeps[place] = before

    def spread(self, dims: Sequence[str]) -> None:
        """Use as many instances as there are, or as tiles leave room for, the innermost first."""
        for place, level in reversed(list(enumerate(self.machine.levels))):
            free = level.fan_out
            for dim in dims:
                if level.spread is None or dim in level.spread:
                    free //= self._grow(self.spatial[place], dim, free)

    def grow(self, dims: Sequence[str]) -> None:
        """Make tiles as large as there is room for, and loop over what is left outside."""
        for place, level in reversed(list(enumerate(self.machine.levels))):
            for dim in dims:
                if level.loops is None or dim in level.loops:
                    self._grow(self.temporal[place], dim, self.left[dim])

    def mapping(self, inside: Sequence[str], orders: Sequence[Sequence[Order]]) -> HierarchyMapping:
        """The mapping; of the orders that a level has, that whose innermost loop is the first in the list."""
        found = []
        for place, keep in enumerate(self.keeps):
            loops = [dim for dim in inside if self.temporal[place][dim] > 1]
            ordered = [[dim for dim in order if dim in loops] for order in orders[place]]
            best = min(ordered, key=lambda order: [inside.index(dim) for dim in reversed(order)])
            found.append(
                LevelMapping(keep, _loops(self.temporal[place], best), _loops(self.spatial[place], inside))
            )
        return HierarchyMapping(tuple(found))

    def _grow(self, loops: dict[str, int], dim: str, most: int) -> int:
        """By how much a loop has grown: by the primes of what is left of its dim, as long as all fits."""
        grown = 1
        for prime in list(_primes(self.left[dim])):
            if grown * prime > most:
                break
            loops[dim] *= prime
            if not self._fits():
                loops[dim] //= prime
                break
            self.left[dim] //= prime
            grown *= prime
        return grown

    def _fits(self) -> bool:
        box = dict.fromkeys(self.left, 1)
        for place in reversed(range(len(self.keeps))):
            for dim in box:
                box[dim] *= self.temporal[place][dim] * self.spatial[place][dim]
            held = sum(one.room(box) for one in self.workload.tensors if one.name in self.keeps[place])
            room = self.rooms[place]
            if room is not None and held > room:
                return False
        return True


def _loops(factors: dict[str, int], dims: Sequence[str]) -> tuple[Loop, ...]:
    return tuple((dim, factors[dim]) for dim in dims if factors[dim] > 1)


def _primes(number: int) -> Iterator[int]:
    """The prime factors, ascending, each as often as it divides."""
    for prime in distinct_primes(number):
        while number % prime == 0:
            yield prime
            number //= prime
