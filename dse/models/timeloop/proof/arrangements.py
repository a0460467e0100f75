"""Uneven nests for a proof: in which order levels store tensors, and where which loops can be of use.

A nest is a sequence of loops and of storages, one for each tensor and level that keeps it. A loop and a
storage next to each other may change places, which never makes the nest worse:

- the storage goes above the loop if that leaves the tensor in place, which then comes anew less often;
- the loop goes above the storage if it moves the tensor: of a smaller tile as much comes as before.

So in some best nest each storage is directly below a loop that moves its tensor, or at the top of what it can
reach. It is **settled**: it comes anew with every loop outside of it. What may be best otherwise is kept:

- a storage at the top of its level's, where the fan-out above it bars its way, may have loops beyond that
  which leave it in place: it is **leading**;
- a loop stays above a storage that it leaves in place if another one further in, which it moves, would lose
  such loops by its move;
- a loop stays below a storage that it moves if one further in would lose it: one that is not settled, which
  it leaves in place, and to which it cannot cross;
- loops over the dims of windows stay anywhere, as rows slide along the innermost loop, and those beyond it
  that move them alike;
- so do loops that leave a window in place: behind one of them two loops over the window's dims may undo each
  other, so that one of them brings nothing. A storage that such a loop, or one over a window's dims, leaves
  in place is not settled: it keeps two loops over a dim apart, which may undo a third together.

An **arrangement** says in which order levels store tensors, which storages are leading, and which dims loops
can be over between them. All of them together have a nest as good as any. An arrangement counts settled
storages as if nothing outside left them in place: of a nest where something does, another one counts less.

Where tiles need not divide, a loop that moves may meet another one over its dim, and both as one leave other
rests: 10 in tiles of 5, 3 and 2 makes 6 pieces, in tiles of 3 and 2 it makes 7. There only the orders of what
is stored are gone through, `keeps`, with loops over all dims between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import storage_parts
from dse.models.timeloop.proof.orders import Orders
from dse.support.arrays import BoolArray


@dataclass(frozen=True)
class Arrangement:
    """`keep` (places, tensors); `looped` are the dims that loops at each place can be over; `settled` the
    tensors and places of which every loop outside counts.
    """

    keep: BoolArray
    looped: tuple[tuple[int, ...], ...]
    settled: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class _Storage:
    """A tensor at a place; `level` counts storing levels on the chip, the outermost is 1."""

    level: int
    place: int
    tensor: int
    leading: bool


class Arrangements:
    """All arrangements of a problem on a machine whose levels are in parts."""

    def __init__(self, problem: MachineProblem, orders: Orders) -> None:
        self._machine, self._workload = problem.accelerator, problem.space.workload
        self._left, self._windowed = orders.left, orders.windowed
        self._dims = [dim for dim, size in enumerate(self._workload.sizes.values()) if size > 1]
        stay = {dim for dim in self._dims for tensor in orders.windowed if tensor in orders.left[dim]}
        self._anchored = orders.slides | stay
        names = self._workload.tensor_names
        self._levels = problem.space.levels
        self._parts = storage_parts(self._machine)[1:]
        self._whole = [names.index(name) for name in self._levels[0].keeps]
        self._stacks = [
            [tuple(names.index(name) for name in stack) for stack in self._stacks_of(parts[0])]
            for parts in self._parts
        ]

    def _stacks_of(self, place: int) -> Sequence[tuple[str, ...]]:
        level = self._levels[place]
        if level.stacks:
            return level.stacks
        return [level.keeps, *((*level.keeps, name) for name in level.open)]

    @cached_property
    def _choices(self) -> list[list[tuple[tuple[int, ...], int]]]:
        """Of each level the order of what it stores, and how many of these are leading."""
        found = []
        for number, stacks in enumerate(self._stacks):
            first = number == 0
            found.append(
                [
                    (stack, count)
                    for stack in stacks
                    for count in ((0,) if first or not stack else range(1, len(stack) + 1))
                    # Those that lead stand side by side: one order of them is enough.
                    if list(stack[:count]) == sorted(stack[:count])
                ]
            )
        return found

    def __len__(self) -> int:
        count = 1
        for choices in self._choices:
            count *= len(choices)
        return count

    def __iter__(self) -> Iterator[Arrangement]:
        return (self._arranged(chosen) for chosen in product(*self._choices))

    def keeps(self) -> Iterator[BoolArray]:
        """What places keep (places, tensors), of each choice of the orders in which levels store tensors."""
        for chosen in product(*self._stacks):
            yield self._keep(self._storages([(stack, 0) for stack in chosen]))

    def _storages(self, chosen: Sequence[tuple[tuple[int, ...], int]]) -> list[_Storage]:
        return [
            _Storage(number + 1, parts[at], tensor, at < leading)
            for number, (parts, (stack, leading)) in enumerate(zip(self._parts, chosen, strict=True))
            for at, tensor in enumerate(stack)
        ]

    def _keep(self, storages: Sequence[_Storage]) -> BoolArray:
        keep = np.zeros((len(self._machine.levels), len(self._workload.tensors)), dtype=np.bool_)
        keep[0, self._whole] = True
        for one in storages:
            keep[one.place, one.tensor] = True
        return keep

    def _arranged(self, chosen: Sequence[tuple[tuple[int, ...], int]]) -> Arrangement:
        storages = self._storages(chosen)
        keep = self._keep(storages)
        settled = frozenset((one.tensor, one.place) for one in storages if self._is_settled(one))
        looped = [self._anywhere(place) for place in range(len(keep))]
        for number in range(len(storages) + 1):
            place = storages[number - 1].place if number else 0
            looped[place] = self._between(storages, number, settled)
        return Arrangement(keep, tuple(looped), settled)

    def _can_loop(self, dim: int, place: int) -> bool:
        loops = self._machine.levels[place].loops
        return loops is None or self._workload.names[dim] in loops

    def _moves(self, dim: int, one: _Storage) -> bool:
        return one.tensor not in self._left[dim]

    def _is_settled(self, one: _Storage) -> bool:
        """Whether a storage could go above all loops that leave it in place, up to one that does not."""
        stay = [dim for dim in self._dims if not self._moves(dim, one) and self._can_loop(dim, 0)]
        if one.leading or any(dim in self._anchored for dim in stay):
            return False
        return one.level > 1 or all(self._can_loop(dim, one.place) for dim in stay)

    def _anywhere(self, place: int) -> tuple[int, ...]:
        """The dims of loops in a part that stores nothing: what is no window's is as good further out."""
        return tuple(dim for dim in self._dims if dim in self._anchored and self._can_loop(dim, place))

    def _between(
        self, storages: Sequence[_Storage], number: int, settled: frozenset[tuple[int, int]]
    ) -> tuple[int, ...]:
        """The dims of the loops directly above the storage of that number, and below the one before it."""
        above = storages[number - 1] if number else None
        place = above.place if above else 0
        if above and above.leading and number < len(storages):
            following = storages[number]
            if following.leading and following.level == above.level:
                return ()
        found = []
        for dim in self._dims:
            if not self._can_loop(dim, place):
                continue
            if dim in self._anchored or (
                not self._belongs_above(storages, number, settled, dim)
                and not self._belongs_below(storages, number, settled, dim)
            ):
                found.append(dim)
        return tuple(found)

    def _belongs_above(
        self, storages: Sequence[_Storage], number: int, settled: frozenset[tuple[int, int]], dim: int
    ) -> bool:
        """Whether a loop is as good above the storage that is directly above it."""
        if number == 0:
            return False
        above = storages[number - 1]
        if not self._moves(dim, above) or above.tensor in self._windowed:
            return False
        outer = storages[number - 2].place if number > 1 else 0
        if (above.tensor, above.place) not in settled or not self._can_loop(dim, outer):
            return False
        # Loops that one further in is left in place by stay so only if they cross its fan-out together.
        return all(
            self._moves(dim, one)
            or (one.tensor, one.place) in settled
            or self._crosses(storages, number, one)
            for one in storages[number:]
        )

    def _crosses(self, storages: Sequence[_Storage], number: int, one: _Storage) -> bool:
        """Whether all loops between the storages before a number and `one` that leave it in place are as good
        below it: with nothing stored between, and where none of them is a window's.
        """
        stay = [dim for dim in self._dims if not self._moves(dim, one)]
        return (
            storages[number].leading
            and one.level == storages[number].level
            and one.leading
            and not any(dim in self._anchored for dim in stay)
            and all(self._can_loop(dim, one.place) for dim in stay)
        )

    def _belongs_below(
        self, storages: Sequence[_Storage], number: int, settled: frozenset[tuple[int, int]], dim: int
    ) -> bool:
        """Whether a loop is as good below a storage that is directly below it."""
        if number == len(storages):
            return False
        first = storages[number]
        below = [first]
        if first.leading:
            below = [one for one in storages[number:] if one.leading and one.level == first.level]
        return any(self._is_better_below(storages[number:], settled, one, dim) for one in below)

    def _is_better_below(
        self, inner: Sequence[_Storage], settled: frozenset[tuple[int, int]], one: _Storage, dim: int
    ) -> bool:
        if self._moves(dim, one) or not self._can_loop(dim, one.place):
            return False
        # One further in, which the loop moves, may have other loops outside of it that leave it in place.
        return not any(
            self._moves(dim, other)
            and (
                other.level > one.level
                or (other.tensor, other.place) not in settled
                or other.tensor in self._windowed
            )
            for other in inner
            if other is not one
        )
