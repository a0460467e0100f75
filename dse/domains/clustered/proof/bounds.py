"""What a cost model brings to a proof: its mappings in groups, a bound for each and a way to solve it.

The solver (`dse.domains.clustered.proof.solver`) knows these names only. Losses are compared with their tie
breaks: of mappings with the least loss, the one with the least energy counts, or, where energy is the loss,
with the fewest cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dse.core.certificate import Solved
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    Mapping,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import ORDER_TABLE
from dse.proof.contract import Boxes
from dse.support.arrays import FloatArray, IntArray

MAPPED = ORDER_TABLE.shape[1]
Value = tuple[float, float]
"""A loss and its tie break, compared in this order."""


@dataclass(frozen=True)
class Groups:
    """Some groups by number, each with the loss and tie break that none of its mappings is below."""

    numbers: IntArray
    losses: FloatArray
    tie_breaks: FloatArray

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int, stop: int) -> Groups:
        """Those from `start` up to `stop`."""
        rows = slice(start, stop)
        return Groups(self.numbers[rows], self.losses[rows], self.tie_breaks[rows])


class Choice(NamedTuple):
    """One level of a mapping: positions of the parallel dim and of the order, tiles of K C Y X."""

    parallel: int
    order: int
    tiles: Sequence[int]


class Winner(NamedTuple):
    """A mapping as the solvers' kernels know it."""

    outer: Choice
    cluster: int
    inner: Choice


def winner_of(row: IntArray) -> Winner:
    """The mapping of a row of a MappingBatch."""

    def level(parallel: int, order: int, tile: int) -> Choice:
        number = np.flatnonzero((row[order : order + MAPPED] == ORDER_TABLE).all(axis=1))[0]
        return Choice(int(row[parallel]), int(number), row[tile : tile + MAPPED].tolist())

    outer = level(OUTER_PARALLEL, OUTER_ORDER, OUTER_TILE)
    return Winner(outer, int(row[CLUSTER]), level(INNER_PARALLEL, INNER_ORDER, INNER_TILE))


class Solution(NamedTuple):
    """What solving some groups found: a mapping better than the one to beat, or None with the same value.

    `inner_levels` are those that were looked at, and `solved` lists the groups where the model lists them.
    `left` is the lowest bound of what is left in the groups, where they were too much for one call; another
    call goes on, unless there is no `more` to be done for want of memory.
    """

    value: Value
    winner: Winner | None
    inner_levels: int
    solved: tuple[Solved, ...] = ()
    left: float | None = None
    more: bool = True


class Rounds(NamedTuple):
    """How groups are taken in: `blocks` at a time, side by side and with the same value to beat.

    A block has `first` groups, in each round twice as many as in the one before, and at most `most`; `part`
    of them are solved between two looks at the clock.
    """

    first: int
    most: int
    blocks: int
    part: int = 8


class Bounds(Protocol):
    """A problem as the solver sees it: groups from 0 up, which together hold every mapping.

    `nothing_fits` says that no mapping fits in the buffers. `lists_solved` says that a certificate names the
    groups that were solved; otherwise a check finds them itself, as those that their bound does not rule out.
    `limits`, if it is there, are the figures of `dse.domains.clustered.limits` whose limits are kept to.
    Methods may be called from several threads.
    """

    rounds: Rounds
    lists_solved: bool

    @property
    def groups(self) -> int:
        """How many groups there are."""
        ...

    @property
    def nothing_fits(self) -> bool:
        """Whether the smallest tiles are too large for L1."""
        ...

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """Write the bounds of the groups from `start` up to `stop`; inf where nothing fits in L2."""
        ...

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best mapping of these groups, the lowest bound first, of those that are below `to_beat`."""
        ...

    def floor(self) -> float:
        """A loss below that of any mapping, known without looking at one."""
        ...


class MappingBoxes(Boxes, Protocol):
    """Boxes of mappings, for the engine. `limits`, if it is there, are as in `Bounds`."""

    def mapping_of(self, design: Any) -> Mapping:
        """The mapping that a design of `settle` is."""
        ...

    def floor(self) -> float:
        """A loss below that of any mapping, in other spaces too, known without looking at one."""
        ...


class Certifier(Protocol):
    """The module `bounds` in a cost model's folder. `GROUP` says in words what a group is a choice of."""

    GROUP: str

    def refuse(self, problem: Problem) -> None:
        """InputError unless the optimum of the problem can be proven, over its tiles."""
        ...

    def make_bounds(self, problem: Problem) -> Bounds:
        """The problem as the solver sees it, if it is not refused."""
        ...

    def make_boxes(self, problem: Problem) -> MappingBoxes:
        """The problem as the engine sees it, if it is not refused; who has this needs no `make_bounds`."""
        ...

    def least_area(self, problem: Problem) -> float:
        """The area that every mapping needs; of models of two levels."""
        ...
