"""The tile chains of one dimension: an outer tile of the whole dim and an inner tile of the outer one."""

from __future__ import annotations

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
    """The tile choices of `dim`, whose output size is `size`; `outer` and `inner` are fixed tiles, if any.

    The outer gene indexes `outer_choices`. An inner gene b of `inner_genes` values picks entry
    `b * len(choices) // inner_genes` of the outer tile's `inner_choices`.
    """

    dim: str
    size: int
    tiles: str
    outer: int | None = None
    inner: int | None = None

    def __post_init__(self) -> None:
        of_inner = "the fixed outer tile" if self.outer else self._size_name
        for level, tile, whole, name in (
            ("outer", self.outer, self.size, self._size_name),
            ("inner", self.inner, self.outer or self.size, of_inner),
        ):
            if tile is not None and not self._fits(tile, whole):
                hint = (
                    f"; expected one of {listed_values(find_divisors(whole))}"
                    if self.tiles == "factors"
                    else ""
                )
                raise InputError(f"fixed {self._misfit(level, tile, whole, name)}{hint}")

    @cached_property
    def outer_choices(self) -> Sequence[int]:
        """The outer tiles, ascending; with a fixed inner tile those that it fits in."""
        if self.outer is not None:
            return (self.outer,)
        if self.tiles == "any":
            return range(self.inner or 1, self.size + 1)
        return tuple(tile for tile in find_divisors(self.size) if tile % (self.inner or 1) == 0)

    def inner_choices(self, outer: int) -> Sequence[int]:
        """The inner tiles of an outer tile, ascending."""
        return self._cuts(outer) if self.inner is None else (self.inner,)

    @property
    def inner_genes(self) -> int:
        """The size of the inner tile's gene."""
        return len(self.inner_choices(self.size))

    @cached_property
    def count(self) -> int:
        """How many distinct (outer, inner) pairs there are."""
        outers = self.outer_choices
        if self.inner is not None:
            return len(outers)
        if self.tiles == "any":
            return (outers[0] + outers[-1]) * len(outers) // 2
        return sum(len(find_divisors(outer)) for outer in outers)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray]:
        """`n` outer and `n` inner tiles: half of the pairs perfect factors, half of any sizes.

        Sizes are drawn log-uniformly, the inner one given its outer one. Uniformly, most tiles would be of
        half the dim or more, of which next to none fit a small buffer, and next to none would leave no rest.
        """
        outers = self.outer_choices
        outer = log_uniform(rng, outers[0], np.full(n, outers[-1]))
        inner = log_uniform(rng, 1, outer) if self.inner is None else np.full(n, self.inner)
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
            if fixed is not None and tile != fixed:
                return f"{level}.tile.{self.dim} = {tile}, but the space fixes it at {fixed}"
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
