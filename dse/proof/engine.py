"""Branch and bound over boxes of designs, whatever the model: see `contract` for what a model brings.

1. The roots are bounded. A box whose bound is not below what is to be beaten is ruled out.
2. Of the open boxes those with the lowest bounds come next, a round of them at a time. Each is divided, and
   its parts are bounded; or, if it has no parts, it is settled: its designs are priced.
3. When no box is open, the best design is the optimum. When the time runs out before, no design is below the
   lowest bound that is open.

To be beaten is the loss of the best design; where all designs within a share of it are asked for, that much
more; where so many best ones are, the loss of the last of them. Rounds follow from the boxes alone: a result
depends neither on timing nor on threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from dse.core.clock import Clock
from dse.core.listed import NONE, Wanted
from dse.proof.contract import Boxes, Children, Found
from dse.proof.listing import Listing
from dse.proof.open_boxes import OpenBoxes
from dse.support.arrays import AnyArray, FloatArray

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_OPEN = 2**23
"""Boxes that may be open: a proof that has more of them stops, with what it has proven."""


@dataclass
class Tally:
    """What was done: boxes that were bounded, those of them without a feasible design, those that were
    ruled out, and those that were settled.
    """

    boxes: int = 0
    empty: int = 0
    ruled_out: int = 0
    settled: int = 0


@dataclass
class Search:
    """A proof under way: `loss` and `design` are the best so far, `open` what is left.

    With several designs asked for, `listing` has those that are found.
    """

    boxes: Boxes
    clock: Clock
    threads: int = 1
    wanted: Wanted = NONE
    observe: Callable[[Search], None] = lambda search: None
    loss: float = math.inf
    design: Any = None
    tally: Tally = field(default_factory=Tally)
    open: OpenBoxes | None = None

    def __post_init__(self) -> None:
        self.listing = Listing(self.wanted, getattr(self.boxes, "keys", None))

    @property
    def to_beat(self) -> float:
        """What a design's loss has to be below."""
        return min(self.near, self.listing.last) if self.wanted else self.loss

    @property
    def near(self) -> float:
        """What losses within the share of the best one are below; inf without a share."""
        if self.wanted.share is None:
            return math.inf
        # The next number up: a loss of just that share more is wanted too, and what is compared is `<`.
        return math.nextafter(self.loss * (1 + self.wanted.share), math.inf)

    @property
    def listed(self) -> tuple[FloatArray, list[Any]]:
        """The losses and the designs that are asked for and found, the best first."""
        return self.listing.best(self.near)

    @property
    def finished(self) -> bool:
        """Whether nothing is open."""
        return self.open is not None and len(self.open) == 0

    @property
    def bound(self) -> float:
        """What no design is below: the best one's loss if nothing below it is open."""
        # What was ruled out is not below a loss that was the best then, and the best has only fallen since.
        lowest = -math.inf if self.open is None else self.open.lowest
        return min(lowest, self.loss)

    def run(self, kept: bytes = b"") -> None:
        """Search until nothing is open, or until the time is over; `kept` is what an earlier run left.

        A first round is done in any case, so that every run comes some way.
        """
        left = OpenBoxes(*self.boxes.unpack(kept)) if kept else None
        if left is not None and len(left):
            self.open = left
            self.tally.ruled_out += left.keep(left.bounds < self.to_beat)
        else:
            # What was kept and cannot be read is as if it was not.
            roots = self.boxes.roots()
            self.open = OpenBoxes(roots[:0], np.empty(0))
            self._enter(roots, np.full(len(roots), -math.inf))
        begun, open_ = False, self.open
        while len(open_) and not (begun and self.clock.over) and len(open_) < MOST_OPEN:
            self._round()
            if improve := getattr(self.boxes, "improve", None):
                self._offer(improve(self.design, self.loss))
            begun = True
            self.observe(self)

    def pack(self) -> bytes:
        """What is open, for a later run."""
        if self.open is None or not len(self.open):
            return b""
        return self.boxes.pack(self.open.boxes, self.open.bounds)

    def _round(self) -> None:
        """Divide the boxes that come next, or settle them. What is interrupted is as if not begun."""
        assert self.open is not None
        before = OpenBoxes(self.open.boxes, self.open.bounds)
        try:
            boxes, bounds = self.open.take(self.boxes.rounds)
            parts = self._divide(boxes, bounds)
            for found in parts.found:
                self._offer(found)
            leaves = np.ones(len(boxes), dtype=np.bool_)
            leaves[parts.parents] = False
            if leaves.any():
                self._settle(boxes[leaves])
            # What was settled may have ruled out others.
            out = ~leaves & (bounds >= self.to_beat)
            self.tally.ruled_out += int(np.count_nonzero(out))
            useful = ~out[parts.parents]
            self._enter(parts.boxes[useful], bounds[parts.parents[useful]])
        except BaseException:
            self.open = before
            raise

    def _enter(self, boxes: AnyArray, known: FloatArray) -> None:
        """Bound boxes that no design in each is below what is `known`; those that are of use are open."""
        assert self.open is not None
        if not len(boxes):
            return
        to_beat = self.to_beat
        shares = [boxes[share] for share in self._shares(len(boxes))]
        # Shares are views: where a model makes boxes smaller in place, `boxes` has them so.
        each = self._at_once(lambda share: self.boxes.bound(share, to_beat), shares)
        # A part has designs of its parent only, whose bound may have been closer.
        bounds = np.maximum(np.concatenate([one.losses for one in each]), known)
        for one in each:
            if one.found is not None:
                self._offer(one.found)
        empty, open_ = np.isinf(bounds), bounds < self.to_beat
        self.tally.boxes += len(boxes)
        self.tally.empty += int(np.count_nonzero(empty))
        self.tally.ruled_out += int(np.count_nonzero(~open_ & ~empty))
        self.open.add(boxes[open_], bounds[open_])

    def _divide(self, boxes: AnyArray, bounds: FloatArray) -> Children:
        to_beat, shares = self.to_beat, self._shares(len(boxes))
        each = self._at_once(lambda share: self.boxes.divide(boxes[share], bounds[share], to_beat), shares)
        parents = [one.parents + share.start for one, share in zip(each, shares, strict=True)]
        found = [found for one in each for found in one.found]
        return Children(np.concatenate([one.boxes for one in each]), np.concatenate(parents), found)

    def _settle(self, boxes: AnyArray) -> None:
        to_beat, shares = self.to_beat, self._shares(len(boxes))
        for found in self._at_once(lambda share: self.boxes.settle(boxes[share], to_beat), shares):
            self._offer(found)
        self.tally.settled += len(boxes)

    def _offer(self, found: Found) -> None:
        """Take in designs; boxes that this rules out are open no longer."""
        assert self.open is not None
        if not len(found.losses):
            return
        place, before = int(found.losses.argmin()), self.to_beat
        if found.losses[place] < self.loss:
            self.loss, self.design = float(found.losses[place]), found.designs[place]
        if self.wanted:
            self.listing.add(found, self.to_beat)
        if self.to_beat < before:
            self.tally.ruled_out += self.open.keep(self.open.bounds < self.to_beat)

    def _shares(self, count: int) -> list[slice]:
        """The boxes of each thread."""
        shares = max(1, min(self.threads, count // self.boxes.rounds.share))
        ends = [count * share // shares for share in range(shares + 1)]
        return [slice(begin, end) for begin, end in pairwise(ends)]

    def _at_once(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What `work` makes of each item, on the threads."""
        if len(items) <= 1:
            return [work(item) for item in items]
        return list(_pool(self.threads).map(work, items))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that all proofs share: what they do takes less time than beginning them. They ask for none."""
    return ThreadPoolExecutor(threads)
