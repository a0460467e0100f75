"""The tile chains of one dimension: an outer tile of the whole dim and an inner tile of the outer one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt

import numpy as np

from dse.support.arrays import IntArray
from dse.support.errors import InputError

TILES_IN_WORDS = {"factors": "perfect factors", "any": "tiles of any size"}
"""What the kinds of tiles are called where they are said."""
TILES = tuple(TILES_IN_WORDS)
"""`factors`: a tile divides what it is cut from. `any`: a tile is no larger than it."""


PERFECT = 0.5
"""Of the chains that are drawn where tiles may be of any size, the part that leaves no rest."""


@lru_cache(maxsize=4096)
def find_divisors(number: int) -> tuple[int, ...]:
    """The divisors of a positive number, ascending."""
    low = np.arange(1, isqrt(number) + 1)
    low = low[number % low == 0]
    return tuple(sorted({*low.tolist(), *(number // low).tolist()}))


def distinct_primes(number: int) -> tuple[int, ...]:
    """The distinct prime factors of a positive number, ascending."""
    found: list[int] = []
    for factor in find_divisors(number)[1:]:
        if all(factor % prime for prime in found):
            found.append(factor)
    return tuple(found)


@dataclass(frozen=True)
class Chain:
    """The tile choices of `dim`, whose output size is `size`; of `outer` and `inner` tiles those, if any.

    The outer gene indexes `outer_choices`. An inner gene b of `inner_genes` values picks entry
    `b * len(choices) // inner_genes` of the outer tile's `inner_choices`.
    """

    dim: str
    size: int
    tiles: str
    outer: tuple[int, ...] = ()
    inner: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        whole, name = self.size, self._size_name
        for level, fixed in (("outer", self.outer), ("inner", self.inner)):
            for tile in fixed:
                if not self._fits(tile, whole):
                    hint = (
                        f"; expected one of {listed_values(find_divisors(whole))}"
                        if self.tiles == "factors"
                        else ""
                    )
                    raise InputError(f"fixed {self._misfit(level, tile, whole, name)}{hint}")
            if len(self.outer) == 1:
                whole, name = self.outer[0], "the fixed outer tile"
        if not self.outer_choices:
            wrong = "divides" if self.tiles == "factors" else "is within"
            raise InputError(
                f"fixed outer.tile.{self.dim} = {listed_values(self.outer)} and inner.tile.{self.dim} = "
                f"{listed_values(self.inner)}: no inner tile {wrong} an outer one"
            )

    @cached_property
    def outer_choices(self) -> Sequence[int]:
        """The outer tiles, ascending; with fixed inner tiles those that one of these fits in."""
        if not self.outer and self.tiles == "any":
            return range(min(self.inner, default=1), self.size + 1)
        every = self.outer or find_divisors(self.size)
        return tuple(tile for tile in every if not self.inner or self.inner_choices(tile))

    def inner_choices(self, outer: int) -> Sequence[int]:
        """The inner tiles of an outer tile, ascending."""
        if not self.inner:
            return self._cuts(outer)
        return tuple(tile for tile in self.inner if self._fits(tile, outer))

    @property
    def inner_genes(self) -> int:
        """The size of the inner tile's gene."""
        if not self.inner:
            return len(self._cuts(self.size))
        return sum(any(self._fits(tile, outer) for outer in self.outer or [self.size]) for tile in self.inner)

    @cached_property
    def count(self) -> int:
        """How many distinct (outer, inner) pairs there are."""
        outers = self.outer_choices
        if self.tiles == "factors":
            return sum(len(self.inner_choices(outer)) for outer in outers)
        if self.inner:
            return sum(len(outers) - bisect_left(outers, tile) for tile in self.inner)
        if isinstance(outers, range):
            return (outers[0] + outers[-1]) * len(outers) // 2
        return sum(outers)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray]:
        """`n` outer and `n` inner tiles: half of the pairs perfect factors, half of any sizes.

        Sizes are drawn log-uniformly, the inner one given its outer one. Uniformly, most tiles would be of
        half the dim or more, of which next to none fit a small buffer, and next to none would leave no rest.
        Of several fixed tiles each is as likely.
        """
        outers, fixed = self.outer_choices, np.array(self.inner, np.int64)
        if len(self.outer) > 1:
            outer = np.array(outers, np.int64)[rng.integers(len(outers), size=n)]
        else:
            outer = log_uniform(rng, outers[0], np.full(n, outers[-1]))
        if not self.inner:
            inner = log_uniform(rng, 1, outer)
        elif len(fixed) == 1:
            inner = np.full(n, fixed[0])
        else:
            inner = fixed[rng.integers(np.searchsorted(fixed, outer, "right"))]
        if self._perfect:
            pairs, first, count = self._perfect
            which = rng.integers(len(first), size=n)
            rows = first[which] + rng.integers(count[which])
            perfect = rng.random(n) < PERFECT
            outer, inner = np.where(perfect, pairs[rows].T, (outer, inner))
        return outer, inner

    @cached_property
    def _perfect(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """Pairs of tiles that leave no rest (m, 2), if any; for each outer tile the first and how many."""
        pairs = [
            (outer, inner)
            for outer in find_divisors(self.size)
            for inner in find_divisors(outer)
            if outer in self.outer_choices and inner in self.inner_choices(outer)
        ]
        if not pairs:
            return None
        table = np.array(pairs)
        return table, *np.unique(table[:, 0], return_index=True, return_counts=True)[1:]

    def why_not(self, outer: int, inner: int) -> str | None:
        """Why the pair of tiles is no choice, in words; None if it is one."""
        for level, tile, whole, name, fixed in (
            ("outer", outer, self.size, self._size_name, self.outer),
            ("inner", inner, outer, "the outer tile", self.inner),
        ):
            if fixed and tile not in fixed:
                at = f"one of {listed_values(fixed)}" if len(fixed) > 1 else fixed[0]
                return f"{level}.tile.{self.dim} = {tile}, but the space fixes it at {at}"
            if not self._fits(tile, whole):
                return self._misfit(level, tile, whole, name)
        return None

    @property
    def _size_name(self) -> str:
        return f"the output's {self.dim}" if self.dim in ("Y", "X") else f"the layer's {self.dim}"

    def _cuts(self, whole: int) -> Sequence[int]:
        return find_divisors(whole) if self.tiles == "factors" else range(1, whole + 1)

    def _fits(self, tile: int, whole: int) -> bool:
        return 1 <= tile <= whole and (self.tiles == "any" or whole % tile == 0)

    def _misfit(self, level: str, tile: int, whole: int, name: str) -> str:
        wrong = "does not divide" if self.tiles == "factors" else "is not within 1 and"
        return f"{level}.tile.{self.dim} = {tile} {wrong} {whole}, {name}"


def log_uniform(rng: np.random.Generator, least: int, most: IntArray) -> IntArray:
    """Whole numbers within `least` and each of `most` (n,): uniform in a power of two, itself uniform.

    Logarithms would differ in the last bits from CPU to CPU, and with them the numbers.
    """
    octaves = np.frexp(most.astype(np.float64))[1].astype(np.int64)
    low = 1 << rng.integers(least.bit_length() - 1, octaves)
    drawn: IntArray = rng.integers(np.maximum(low, least), np.minimum(2 * low - 1, most), endpoint=True)
    return drawn


def listed_values(values: Sequence[int]) -> str:
    """The values in words, the middle left out of a long list."""
    if len(values) <= 24:
        return ", ".join(map(str, values))
    return f"{listed_values(values[:22])}, ..., {values[-1]}"
