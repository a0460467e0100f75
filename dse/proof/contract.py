"""What a model brings to a proof: boxes of designs, a lower bound of each, and how they are divided.

A *box* is a set of designs: intervals of tiles, say, under one choice of parallel dims. Boxes come in arrays
whose first axis they are: of integers, (n, columns), or of any objects, (n,). The engine (`engine`) owns
all else: which boxes come next, what is ruled out, the best designs, the time, threads, what a later run goes
on with. It knows the names in `Boxes` only, and compares losses alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dse.support.arrays import AnyArray, FloatArray, IntArray


class Found(NamedTuple):
    """Designs by their losses (m,): each as the model knows it, as `Boxes.settle` has it."""

    losses: FloatArray
    designs: Sequence[Any] | AnyArray


class Bounded(NamedTuple):
    """What boxes came to: losses (n,) that no design in each is below; inf where none is feasible.

    `found` are designs that were met on the way, if any.
    """

    losses: FloatArray
    found: Found | None = None


class Children(NamedTuple):
    """Boxes (m, ...) that others are divided into, and the place of each one's parent (m,).

    `found` are designs that were met on the way, if any.
    """

    boxes: AnyArray
    parents: IntArray
    found: Sequence[Found] = ()


def boxes_of(objects: Sequence[Any]) -> AnyArray:
    """Boxes that are objects, (n,)."""
    found = np.empty(len(objects), dtype=object)
    found[:] = objects
    return found


class Rounds(NamedTuple):
    """How the engine takes boxes: a sixteenth of those that are open, within `least` and `most`.

    Threads share them, `share` boxes each at least. Of bounds that differ by less than `alike`, a share of
    them, the box that came last is first: then the search goes down before it goes on.
    """

    least: int = 256
    most: int = 8192
    share: int = 64
    alike: float = 0.0


class Boxes(Protocol):
    """A problem as the engine sees it. Methods may be called from several threads, for some boxes each.

    `kind` says in words what a box is a choice of. Nothing depends on how boxes are put together in calls.
    Where there is a method `improve(design, loss)`, one thread calls it after each round, with the best
    design so far, None if the proof began with it: the `Found` that it returns were met in another way. Where
    `begin_late` is true, no first design is looked for unless the time is over before one was met. Where
    several designs are asked for, `keys(designs)`, rows of integers (n, m), says which are the same: those of
    equal rows.
    """

    kind: str
    rounds: Rounds

    def roots(self) -> AnyArray:
        """Boxes that together hold every design, not yet bounded."""
        ...

    def bound(self, boxes: AnyArray, to_beat: float) -> Bounded:
        """Bound boxes, and where that is of use make each smaller, in place: designs may be left out that are
        infeasible, no better than others that stay, or not below `to_beat`.

        A bound that is not below `to_beat` may be any number that is not.
        """
        ...

    def divide(self, boxes: AnyArray, bounds: FloatArray, to_beat: float) -> Children:
        """Parts of boxes that together hold all their designs; none for a box that is to be settled."""
        ...

    def settle(self, boxes: AnyArray, to_beat: float) -> Found:
        """Of boxes that are not divided, the best design at least; where all are asked for, each below
        `to_beat`. Of equal ones the first counts.
        """
        ...

    def pack(self, boxes: AnyArray, bounds: FloatArray) -> bytes:
        """Boxes with their bounds, for a later run."""
        ...

    def unpack(self, kept: bytes) -> tuple[AnyArray, FloatArray]:
        """What `pack` wrote; no boxes where it was not `pack` that did."""
        ...
