"""What a bound sees of the orders of the loops: of every level, which loop is the innermost.

A **pattern** gives every level whose loops matter one of

- `OPEN`: nothing is said yet;
- `EMPTY`: all its temporal loops run once;
- (dims, alone): the innermost loop that runs more than once is over one of `dims`, which cost the same;
  `alone` says that all the others which do leave the same tensors in place.

Every mapping has a pattern without `OPEN`. By rule 2 of docs/timeloop.md a tensor is delivered
anew with every step of the loops outside of the first that moves it: those inside of it are its **run**.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import TEMPORAL

OPEN: Literal["open"] = "open"
EMPTY: Literal["empty"] = "empty"


class First(NamedTuple):
    """The innermost loop of a level that runs more than once."""

    dims: tuple[int, ...]
    alone: bool


Choice = Literal["open", "empty"] | First
Pattern = tuple[Choice, ...]


class Outside(NamedTuple):
    """What a pattern says of the loops outside of a level's tiles of a tensor.

    The loops of levels `run` and inwards that do not move the tensor bring nothing. `slide` are level and dim
    of the innermost loop, if that moves the tensor. `still` says that it does not, and `known` that the two
    are said: otherwise they may be anything.
    """

    run: int
    slide: tuple[int, int] | None
    still: bool
    known: bool


@dataclass(frozen=True)
class Orders:
    """The patterns of a problem.

    `left[dim]` are the tensors that a loop over it leaves in place, `slides` are the dims of windows, along
    which a tile may move by less than its length, and `looped` are those that levels loop over. `mirror[dim]`
    is what a dim may be called instead, if all that are changed so makes the same problem.
    """

    left: tuple[frozenset[int], ...]
    slides: frozenset[int]
    looped: tuple[tuple[int, ...], ...]
    mirror: tuple[int, ...]
    settled: frozenset[tuple[int, int]] | None = None
    """Tensors and levels of which every loop outside counts; None where nests are even."""
    windowed: frozenset[int] = frozenset()
    """The tensors that loops over the dims of windows move by less than a tile."""

    def mirrored(self, pattern: Pattern) -> Pattern:
        """The pattern of the same mappings with the dims of the mirror."""
        return tuple(
            First(tuple(sorted(self.mirror[dim] for dim in choice.dims)), choice.alone)
            if isinstance(choice, First)
            else choice
            for choice in pattern
        )

    def is_second(self, pattern: Pattern) -> bool:
        """Whether a pattern is left out, for the one that mirrors it: their bounds are the same."""
        for level, (one, other) in enumerate(zip(pattern, self.mirrored(pattern), strict=True)):
            if one == OPEN and self.looped[level]:
                return False
            if isinstance(one, First) and isinstance(other, First) and one != other:
                return other < one
        return False

    def choices(self, level: int) -> list[Choice]:
        """What a level's pattern may be."""
        found: list[Choice] = [EMPTY]
        for dims in self._alike(level):
            found.append(First(dims, alone=True))
            if any(self.left[other] != self.left[dims[0]] for other in self.looped[level]):
                found.append(First(dims, alone=False))
        return found

    def _alike(self, level: int) -> list[tuple[int, ...]]:
        """The dims of a level, those together of which it does not matter which one is the innermost."""
        kinds = {dim: (dim if dim in self.slides else -1, self.left[dim]) for dim in self.looped[level]}
        return [
            tuple(dim for dim, other in kinds.items() if other == kind)
            for kind in dict.fromkeys(kinds.values())
        ]

    def once(self, level: int, choice: Choice) -> tuple[int, ...]:
        """The dims whose loop at a level runs once under a choice."""
        if choice == OPEN:
            return ()
        if choice == EMPTY:
            return self.looped[level]
        left = self.left[choice.dims[0]]
        return tuple(other for other in self.looped[level] if choice.alone and self.left[other] != left)

    def outside(self, pattern: Pattern, tensor: int, level: int) -> Outside:
        """What is outside of the tiles of a tensor that a level keeps."""
        if self.settled is not None and (tensor, level) in self.settled:
            return self._settled(pattern, tensor, level)
        run, still, known = level, False, True
        for outer in range(level - 1, -1, -1):
            choice = pattern[outer]
            if not self.looped[outer] or choice == EMPTY:
                continue
            if choice == OPEN:
                run, known = outer, False
                continue
            dim = choice.dims[0]
            if tensor not in self.left[dim]:
                first = known and not still and dim in self.slides
                return Outside(run, (outer, dim) if first else None, still, known)
            run, still = outer, True
            if not choice.alone and self._moved(tensor, outer, dim):
                break
        return Outside(run, None, still, known)

    def _settled(self, pattern: Pattern, tensor: int, level: int) -> Outside:
        """As `outside`, where no loop is left out: only whether rows slide depends on the innermost."""
        for outer in range(level - 1, -1, -1):
            choice = pattern[outer]
            if not self.looped[outer] or choice == EMPTY:
                continue
            if choice == OPEN:
                return Outside(level, None, still=False, known=False)
            dim = choice.dims[0]
            slides = dim in self.slides and tensor not in self.left[dim]
            return Outside(level, (outer, dim) if slides else None, still=False, known=True)
        return Outside(level, None, still=False, known=True)

    def undecided(self, pattern: Pattern, deliveries: Iterable[tuple[int, int]]) -> int | None:
        """The innermost level of which a pattern says nothing, though that matters for one of the deliveries
        of tensors to levels; None without any.
        """
        levels = [self.unknown(pattern, *one) for one in deliveries]
        return max((level for level in levels if level is not None), default=None)

    def unknown(self, pattern: Pattern, tensor: int, level: int) -> int | None:
        """The innermost level outside of another's tiles of a tensor that is open, if it matters."""
        if self.settled is not None and (tensor, level) in self.settled and tensor not in self.windowed:
            return None
        for outer in range(level - 1, -1, -1):
            choice = pattern[outer]
            if not self.looped[outer] or choice == EMPTY:
                continue
            if choice == OPEN:
                return outer
            dim = choice.dims[0]
            if tensor not in self.left[dim]:
                return None
            if not choice.alone and self._moved(tensor, outer, dim):
                return None
        return None

    def _moved(self, tensor: int, level: int, dim: int) -> bool:
        """Whether all dims of a level that leave other tensors in place than `dim` does move the tensor."""
        others = (other for other in self.looped[level] if self.left[other] != self.left[dim])
        return all(tensor not in self.left[other] for other in others)


def orders_of(problem: MachineProblem) -> Orders:
    """The patterns of the problem's orders; below the innermost level that holds anything none matter."""
    space, workload = problem.space, problem.space.workload
    left = tuple(
        frozenset(
            number for number, tensor in enumerate(workload.tensors) if not any(tensor.coefficients(dim))
        )
        for dim in workload.names
    )
    holding = max((level.place for level in space.levels if level.keeps or level.open), default=0)
    moving = {
        (number, tuple(dim for dim, factor in axis if factor and workload.sizes[dim] > 1))
        for number, tensor in enumerate(workload.tensors)
        for axis in tensor.axes
    }
    windows = {(number, dims) for number, dims in moving if len(dims) > 1}
    slides = frozenset(workload.names.index(dim) for _, dims in windows for dim in dims)
    windowed = frozenset(number for number, _ in windows)
    return Orders(left, slides, looped_dims(problem, holding), _mirror(problem), windowed=windowed)


def looped_dims(problem: MachineProblem, holding: int) -> tuple[tuple[int, ...], ...]:
    """The dims that a nest may loop over at each place, up to the one `holding` the innermost tiles."""
    return tuple(
        tuple(
            dim
            for dim, chain in enumerate(problem.space.chains)
            if place < holding
            and chain.size > 1
            and any(slot.level == place and slot.kind == TEMPORAL for slot in chain.slots)
        )
        for place in range(len(problem.space.levels))
    )


def _mirror(problem: MachineProblem) -> tuple[int, ...]:
    """Rows and columns exchanged, where nothing tells them apart; else every dim is itself."""
    space, workload = problem.space, problem.space.workload
    names = {"P": "Q", "Q": "P", "R": "S", "S": "R"}
    other = {name: names.get(name, name) for name in workload.names}
    itself = tuple(range(len(workload.names)))
    if not set(other.values()) <= set(workload.names):
        return itself
    mirror = tuple(workload.names.index(other[name]) for name in workload.names)

    def ways(dim: int) -> object:
        chain = space.chains[dim]
        return chain.size, chain.slots, chain.choices

    alike = all(ways(dim) == ways(mirror[dim]) for dim in itself)
    for tensor in workload.tensors:
        axes = {frozenset(axis) for axis in tensor.axes}
        alike &= {frozenset((other[dim], factor) for dim, factor in axis) for axis in tensor.axes} == axes
    return mirror if alike else itself
