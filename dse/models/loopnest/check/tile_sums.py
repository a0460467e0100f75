"""One dim cut by many pairs of tiles: what each pair adds to the sums of all steps, by the model's equations.

All figures are counts that costs rise with, so the least of each over a set of pairs bounds the set. What is
moved is `what all steps need - what stays`; with A the needs of all inner steps, B what stays as an inner
loop goes back to its start (summed over outer steps) and Z what stays as the outer loop does, D = A - B less
what stays as the inner loop advances, and E likewise B - Z less what stays as the outer loop does. None of
these is negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dse.core.layer import Layer
from dse.support.arrays import BoolArray, IntArray

Sums = dict[str, IntArray]


@dataclass(frozen=True)
class Cuts:
    """Pairs of an outer and an inner tile (n,) of one dim, spread over `across` clusters and `within` PEs."""

    size: int
    outer: IntArray
    inner: IntArray
    across: int
    within: int
    pitch: int = 1
    overlap: int = 0

    def counts(self) -> Sums:
        """Steps, pieces, work of the busiest PE, and the first and last steps' indices."""
        size, outer, inner, within = self.size, self.outer, self.inner, self.within
        round_ = inner * within
        span = np.minimum(outer * self.across, size)
        steps = -(-size // span)
        last = size - (steps - 1) * span
        longest = np.minimum(outer, last)
        # Where the last inner step of the last outer one begins; shorter clusters may have ended before.
        begin = (-(-longest // round_) - 1) * round_

        def each(whole: Callable[[IntArray], IntArray], of: IntArray | int) -> IntArray:
            """The sum over the outer pieces of so many indices of a figure of one piece's length."""
            found: IntArray = (of // outer) * whole(outer) + whole(of % outer)
            return found

        def busiest(length: IntArray) -> IntArray:
            found: IntArray = (length // round_) * inner + np.minimum(inner, length % round_)
            return found

        def first_pieces(length: IntArray) -> IntArray:
            found: IntArray = np.minimum(within, -(-length // inner))
            return found

        def at_end(length: IntArray, most: IntArray = inner) -> IntArray:
            """Indices in the last inner step."""
            return np.minimum(most, length - (-(-length // round_) - 1) * round_)

        end = each(lambda length: np.clip(length - begin, 0, round_), last)
        return {
            "steps": steps,
            "inner_steps": (steps - 1) * -(-outer // round_) - (-longest // round_),
            "pieces": each(lambda length: -(-length // inner), size),
            "first_pieces": each(first_pieces, size),
            "begin_pieces": each(first_pieces, span),
            "serial": (steps - 1) * busiest(outer) + busiest(longest),
            "on_serial": (steps - 1) * (busiest(outer) - at_end(outer)) + busiest(longest) - at_end(longest),
            "outer_serial": (steps - 1) * busiest(outer),
            "end_serial": (steps - 1) * at_end(outer) + at_end(longest),
            "outer_end_serial": (steps - 1) * at_end(outer),
            "last_end_serial": at_end(longest),
            "first": each(lambda length: np.minimum(length, round_), size),
            "left": (steps - 1) * self.across * at_end(outer, round_) + end,
            "last_serial": busiest(longest),
            "inner_on": (steps - 1) * (-(-outer // round_) - 1) - (-longest // round_) - 1,
            "inner": inner,
            "window": inner * self.pitch + self.overlap,
            "span": span,
            "span_window": span * self.pitch + self.overlap,
            "begin": each(lambda length: np.minimum(length, round_), span),
            "end": end,
            "last_span": last,
        }

    def held(self) -> Sums:
        """D, B, E and Z of pieces that are disjoint, where a PE keeps the last one that it worked on."""
        inner, within, outer = self.inner, self.within, self.outer
        round_ = inner * within
        steps, last = self._steps()

        def again(length: IntArray) -> IntArray:
            """Indices of the PEs that have a single piece of so long a one."""
            # PEs that go on to a second piece: they no longer have the first.
            several = np.clip(-(-(length - round_) // inner), 0, within)
            return np.where(length <= round_, length, np.maximum(round_ - several * inner, 0))

        whole, rest = again(outer), self.size % outer
        back = (self.size // outer) * whole + again(rest)
        # Of two outer steps, those PEs go back to what they hold that are idle in the second one.
        short = last % outer
        idle = np.maximum(-(-short // inner), np.clip(-(-(outer - round_) // inner), 0, within))
        far = (self.across - -(-last // outer)) * whole
        far += np.where(short > 0, np.maximum(np.minimum(outer, round_) - idle * inner, 0), 0)
        far = np.where(steps == 1, back, np.where(steps == 2, far, 0))
        return self._sums(back, far)

    def summed(self) -> Sums:
        """D, B, E and Z of outputs, which stay where the next step is of the same ones."""
        steps, last = self._steps()
        round_, longest = self.inner * self.within, np.minimum(self.outer, last)
        back = np.where(self.outer <= round_, self.size - last, 0) + np.where(longest <= round_, last, 0)
        return self._sums(back, np.where(steps == 1, back, 0))

    def _sums(self, back: IntArray, far: IntArray) -> Sums:
        """The sums of pieces that are disjoint, by what stays."""
        every = np.full_like(back, self.size)
        return {"A": every, "D": self.size - back, "B": back, "E": back - far, "Z": far}

    def windows(self) -> Sums:
        """A, D, B, E and Z of the input rows or columns of all pieces."""
        if self.overlap == 0:
            return {name: self.pitch * value for name, value in self.held().items()}
        return _Pieces(self).sums()

    def fetched(self, layer: Layer, dim: str) -> dict[str, Sums]:
        """A, E and Z of L2's tiles along Y or X: rows or columns with the padding, and real ones."""
        steps, _ = self._steps()
        span = np.minimum(self.outer * self.across, self.size)
        whole = self.size * self.pitch + steps * self.overlap
        far = np.maximum(self.overlap - (steps - 2) * span * self.pitch, 0)
        far = np.where(steps == 1, whole, far)
        link = {"A": whole, "E": whole - (steps - 1) * self.overlap - far, "Z": far}
        spans, place = np.unique(span, return_inverse=True)
        rows = np.array([_real(layer, dim, each) for each in spans.tolist()])[place].T
        real = {"A": rows[0], "E": rows[0] - rows[1] - rows[2], "Z": rows[2]}
        return {"link": link, "real": real}

    def _steps(self) -> tuple[IntArray, IntArray]:
        """Outer steps, and indices of the last."""
        span = np.minimum(self.outer * self.across, self.size)
        steps: IntArray = -(-self.size // span)
        return steps, self.size - (steps - 1) * span


@lru_cache(maxsize=2**14)
def _real(layer: Layer, dim: str, span: int) -> tuple[int, int, int]:
    """Rows that are no padding: of all steps, those that stay in the next, and in going back."""
    reads, size = layer.reads["YX".index(dim)], layer.loops[dim]
    if reads.overlap == 0:
        whole = real_rows(layer, dim, size)[0]
        return whole, 0, whole if span >= size else 0
    return real_rows(layer, dim, span)


class _Pieces:
    """Every piece of every pair, one by one, and the piece that its PE worked on before."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts
        size, outer, inner = cuts.size, cuts.outer, cuts.inner
        wholes = -(-size // outer)
        pair, place = _counted(wholes)
        extent = np.minimum(outer[pair], size - place * outer[pair])
        which, number = _counted(-(-extent // inner[pair]))
        self._pair, self._place, self._number, self._extent = pair[which], place[which], number, extent[which]
        self._outer, self._inner = outer[self._pair], inner[self._pair]
        self._size, self._wholes = size, wholes[self._pair]

    def sums(self) -> Sums:
        """See `Cuts.windows`."""
        cuts, inner, outer = self._cuts, self._inner, self._outer
        pe, first = self._number % cuts.within, self._number < cuts.within
        here = self._place * outer
        length = np.minimum(inner, self._extent - self._number * inner)
        need = length * cuts.pitch + cuts.overlap
        ahead = self._shared(self._number >= cuts.within, inner * (1 - cuts.within))
        # From the last piece of a PE to its first one of the same outer piece.
        back = self._shared(first, self._reach(pe, self._extent, length))
        # To the first piece from the last one of the outer step before, which was whole.
        onward = self._last(pe, outer)[1] - pe * inner - cuts.across * outer
        onward = self._shared(first & (self._place >= cuts.across), onward)
        found = {name: self._add(value) for name, value in (("A", need), ("B", back))}
        far = self._far(pe, first & (self._place < cuts.across), here, length)
        found["Z"] = self._add(far)
        found["D"] = found["A"] - found["B"] - self._add(ahead)
        found["E"] = found["B"] - found["Z"] - self._add(onward)
        return found

    def _last(self, pe: IntArray, extent: IntArray) -> tuple[IntArray, IntArray]:
        """Where the last piece of a PE in an outer piece begins, and where it ends."""
        round_ = self._inner * self._cuts.within
        start = pe * self._inner + (-(-(extent - pe * self._inner) // round_) - 1) * round_
        return start, np.minimum(start + self._inner, extent)

    def _reach(self, pe: IntArray, extent: IntArray, length: IntArray) -> IntArray:
        """How far the first piece of a PE ends beyond the start of its last one."""
        return pe * self._inner + length - self._last(pe, extent)[0]

    def _far(self, pe: IntArray, where: BoolArray, here: IntArray, length: IntArray) -> IntArray:
        """Rows that stay as the outer loop goes back to its start."""
        across, outer = self._cuts.across, self._outer
        last = self._place + (self._wholes - 1 - self._place) // across * across
        extent = np.minimum(outer, self._size - last * outer)
        idle = pe * self._inner >= extent
        last = np.where(idle, last - across, last)
        extent = np.where(idle, np.minimum(outer, self._size - last * outer), extent)
        start = last * outer + self._last(pe, extent)[0]
        return self._shared(where, here + pe * self._inner + length - start)

    def _shared(self, where: BoolArray, reach: IntArray) -> IntArray:
        """Rows in two windows whose outputs overlap by so many, or are so many apart."""
        return np.where(where, np.maximum(reach * self._cuts.pitch + self._cuts.overlap, 0), 0)

    def _add(self, values: IntArray) -> IntArray:
        found = np.bincount(self._pair, weights=values, minlength=len(self._cuts.outer))
        return found.astype(np.int64)


def _counted(counts: IntArray) -> tuple[IntArray, IntArray]:
    """So many items each: whose they are, and their numbers from 0."""
    owner = np.repeat(np.arange(len(counts)), counts)
    number: IntArray = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, number


@lru_cache(maxsize=4096)
def real_rows(layer: Layer, dim: str, span: int) -> tuple[int, int, int]:
    """Rows (or columns) that are no padding: of all steps, those that stay in the next, and in going back."""
    stride, window, first, end = layer.reads["YX".index(dim)]
    steps = [
        {
            row
            for output in range(start, min(start + span, layer.loops[dim]))
            for row in range(output * stride, output * stride + window)
            if first <= row < end
        }
        for start in range(0, layer.loops[dim], span)
    ]
    ahead = sum(len(one & other) for one, other in pairwise(steps))
    return sum(map(len, steps)), ahead, len(steps[0] & steps[-1])
