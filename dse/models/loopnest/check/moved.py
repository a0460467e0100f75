"""The least that boxes of mappings move: sums over both levels' loops, of the least figures of tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.models.loopnest.check.nest_sums import EVERY, Edges, Factor, Level, set_products
from dse.support.arrays import FloatArray

K, C, Y, X = range(4)
INPUT, WEIGHT, OUTPUT = range(3)
RELEVANT = (
    {INPUT: (C, Y, X), WEIGHT: (K, C), OUTPUT: (K, Y, X)},
    {INPUT: (C, Y, X), WEIGHT: (C,), OUTPUT: (C, Y, X)},
)
"""The dims that each tensor depends on; in depthwise layers too."""

Columns = Mapping[str, FloatArray]
"""Figures of a dim's tiles by name, each (n,)."""


class Moved:
    """A sum of words, each at a price, of n boxes: the least of all orders of the outer and inner loops."""

    def __init__(
        self, dims: Sequence[Columns], sizes: Sequence[float], inner: Edges, outer: Edges, *, depthwise: bool
    ) -> None:
        self._dims, self._sizes, self._relevant = dims, sizes, RELEVANT[depthwise]
        count = len(dims[K]["steps"])
        self._inner, self._outer = Level(inner, count), Level(outer, count)
        self._first = np.zeros(count)

    def least(self) -> FloatArray:
        """The least of the sum (n,)."""
        return self._inner.least() + self._outer.least() + self._first

    def add_inside(self, tensor: int, price: float, *, each: bool) -> None:
        """Add the words of a tensor that pass between L2 and the PEs: once, or once for `each` PE."""
        others = ("pieces", "first_pieces", "begin_pieces") if each else ("inner_steps", "steps", "")
        every: list[Factor] = [None] * 4
        inside: list[Factor] = [None] * 4
        back: list[Factor] = [None] * 4
        outside: list[Factor] = [None] * 4
        far: list[Factor] = [None] * 4
        # In terms of `_stacked`: D, E and Z are differences of its sums, and B is E + Z + M.
        for place, dim in enumerate(self._dims):
            if place not in self._relevant[tensor]:
                every[place], back[place], far[place] = (dim.get(name) for name in others)
                continue
            name = "output" if tensor == OUTPUT else "input" if place in (Y, X) else "held"
            new, onward, once = (dim[f"{name}_{part}"] for part in ("D", "DE", "DEZ"))
            every[place], inside[place] = dim[f"{name}_A"], new
            outside[place], far[place] = onward - new, once - onward
            back[place] = once - new + dim[f"{name}_M"]
        self._inner.add(price, every, inside, back)
        self._outer.add(price, back, outside, far)
        self._add_first(price, far)

    def add_outside(self, tensor: int, price: float, kind: str) -> None:
        """Add the words of a tensor that pass between DRAM and L2: with padding (`link`), or `real` ones."""
        every: list[Factor] = [dim["steps"] for dim in self._dims]
        new: list[Factor] = [None] * 4
        back: list[Factor] = [None] * 4
        for place in self._relevant[tensor]:
            dim = self._dims[place]
            if tensor == INPUT and place in (Y, X):
                every[place], fresh, once = (dim[f"{kind}_{part}"] for part in ("A", "E", "EZ"))
                new[place], back[place] = fresh, once - fresh
            else:
                every[place], new[place] = self._sizes[place], dim["cut"]
                back[place] = self._sizes[place] - dim["cut"]
        self._outer.add(price, every, new, back)
        self._add_first(price, back)

    def _add_first(self, price: float, stays: Sequence[Factor]) -> None:
        """Add what is moved once before the first step, which counts what stays in going back to it."""
        whole = set_products(stays)[EVERY]
        self._first = self._first + price * (1.0 if whole is None else whole)
