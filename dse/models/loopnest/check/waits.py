"""Cycles of boxes of mappings where steps wait: transitions by the loop that advances, in sums over all.

In a step the array computes while the words of the next transition pass. Of transitions of one kind (the same
loop advances, the same loops stay outside of it) the longer of both sums is a bound of the sum of the longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.models.loopnest.check.moved import INPUT, OUTPUT, RELEVANT, Columns, X, Y
from dse.models.loopnest.check.nest_sums import EVERY, Edges, Factor, least_path, set_products
from dse.support.arrays import FloatArray


@dataclass(frozen=True)
class Part:
    """What a dim that a tensor depends on adds to a transition: what is needed by all steps of a loop outside
    of the one that advances, and how much more than is kept; what is new where it advances; and the same as
    for loops outside for those that go back to their start inside.
    """

    every: Factor
    more: Factor
    new: FloatArray
    start: FloatArray
    more_at_start: FloatArray


@dataclass(frozen=True)
class Flow:
    """A tensor at a price a word: its dims' parts, and of other dims the count of steps where they are
    outside, where they advance, and inside.
    """

    price: float
    parts: Mapping[int, Part]
    others: Mapping[int, tuple[Factor, FloatArray, Factor]]

    def words(self, loops: int, loop: int) -> FloatArray | float:
        """Words, times their price, as a loop advances with a set of others outside of it."""
        outside = [place for place in range(4) if loops >> place & 1]
        inside = [place for place in range(4) if place != loop and place not in outside]
        factors: list[Factor] = [self.others[place][0] for place in outside if place in self.others]
        factors += [self.others[place][2] for place in inside if place in self.others]
        pairs = [
            (self.parts[place].every, self.parts[place].more) for place in outside if place in self.parts
        ]
        starts = [self.parts[place] for place in inside if place in self.parts]
        pairs += [(part.start, part.more_at_start) for part in starts]
        # Where the tensor depends on the loop, what is new there comes; else what loops inside do not keep.
        if loop in self.parts:
            found: FloatArray | float = self.parts[loop].new
            factors += [every for every, _ in pairs]
        else:
            found = _more(pairs)
            factors.append(self.others[loop][1])
        for factor in factors:
            found = found if factor is None else found * factor
        return found * self.price


def _more(pairs: Sequence[tuple[Factor, Factor]]) -> FloatArray | float:
    """How much larger the product of needs is than that of what stays, of pairs of a need and the rest."""
    found: FloatArray | float = 0.0
    whole: FloatArray | float = 1.0
    # Product by product: needs (every) less what stays (every - more); both terms rise with every and more.
    for every, more in pairs:
        assert every is not None
        found = found * every if more is None else found * (every - more) + more * whole
        whole = whole * every
    return found


def least_time(
    edges: Edges,
    flows: Sequence[Flow],
    rate: float,
    work: Sequence[Sequence[FloatArray]],
    latency: float = 0.0,
    steps: Sequence[FloatArray] = (),
) -> FloatArray:
    """The least sum, over the transitions of any order, of the longer of work at a rate and words.

    Of each dim `work` has what the busiest PE does in all steps, in those before it advances, and before it
    goes back. With a latency, there are so many `steps` of each dim, each that much longer.
    """
    every, back = set_products([each[0] for each in work]), set_products([each[2] for each in work])
    terms: dict[tuple[int, int], FloatArray | float] = {}
    for loops, loop in edges:
        busy = rate * work[loop][1]
        for factor in (every[loops], back[EVERY - loops - (1 << loop)]):
            busy = busy if factor is None else busy * factor
        if latency:
            outside = set_products(steps)[loops]
            more = latency * (steps[loop] - 1)
            busy = busy + (more if outside is None else more * outside)
        terms[loops, loop] = np.maximum(busy, sum(flow.words(loops, loop) for flow in flows))
    return least_path(edges, terms, len(work[0][0]))


def flows_inside(dims: Sequence[Columns], of: Sequence[int], *, depthwise: bool, outer: bool) -> list[Flow]:
    """What passes between L2 and the PEs as inner loops advance, or as `outer` ones do."""
    found = []
    for tensor, dependent in RELEVANT[depthwise].items():
        parts = {}
        for place in dependent:
            dim = dims[place]
            name = "output" if tensor == OUTPUT else "input" if place in (Y, X) else "held"
            if outer:
                parts[place] = Part(*(dim[f"{name}_{part}"] for part in ("F", "G", "onward", "begin", "H")))
            else:
                columns = (dim[f"{name}_{part}"] for part in ("ahead", "F", "G"))
                parts[place] = Part(dim[f"{name}_A"], None, *columns)
        found.append(Flow(float(of[tensor]), parts, _others(dims, tensor, parts, outer=outer)))
    return found


def _others(
    dims: Sequence[Columns], tensor: int, parts: Mapping[int, Part], *, outer: bool
) -> dict[int, tuple[FloatArray, FloatArray, Factor]]:
    """Steps of the dims that a tensor does not depend on; outputs come back where they were begun before."""
    found: dict[int, tuple[FloatArray, FloatArray, Factor]] = {}
    for place, dim in enumerate(dims):
        if place in parts:
            continue
        steps, on, start = (
            (dim["steps"], dim["steps"] - 1, None)
            if outer
            else (dim["inner_steps"], dim["inner_on"], dim["steps"])
        )
        if tensor == OUTPUT:
            # Sums leave after each step of a dim, and come back before each but the first.
            start = None if start is None else 2 * start - 1
            steps, on = 2 * steps - 1, 2 * on
        found[place] = (steps, on, start)
    return found


def flows_outside(
    dims: Sequence[Columns], link: Sequence[int], sizes: Sequence[float], *, depthwise: bool
) -> list[Flow]:
    """What passes over the DRAM link as outer loops advance."""
    found = []
    for tensor, dependent in RELEVANT[depthwise].items():
        parts = {}
        for place in dependent:
            dim = dims[place]
            columns: tuple[Factor, Factor, FloatArray, FloatArray, FloatArray]
            if tensor == INPUT and place in (Y, X):
                columns = dim["link_A"], None, dim["link_ahead"], dim["span_window"], dim["link_G"]
            elif tensor == OUTPUT:
                columns = sizes[place], None, dim["span_on"], dim["last_span"], dim["last_more"]
            else:
                columns = sizes[place], None, dim["span_on"], dim["span"], dim["span_more"]
            parts[place] = Part(*columns)
        found.append(Flow(float(link[tensor]), parts, _others(dims, tensor, parts, outer=True)))
    return found
