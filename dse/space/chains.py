"""The tile chains of one dimension: an outer tile of the whole dim and an inner tile of the outer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt

import numpy as np

from dse.support.errors import InputError

TILES = ("factors", "any")
"""`factors`: a tile divides what it is cut from. `any`: a tile is no larger than it."""


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """The divisors of a positive number, ascending."""
    low = np.arange(1, isqrt(number) + 1)
    low = low[number % low == 0]
    return tuple(sorted({*low.tolist(), *(number // low).tolist()}))


def primes(number: int) -> tuple[int, ...]:
    """The distinct prime factors of a positive number, ascending."""
    found: list[int] = []
    for factor in divisors(number)[1:]:
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
                hint = f"; expected one of {listed(divisors(whole))}" if self.tiles == "factors" else ""
                raise InputError(f"fixed {self._misfit(level, tile, whole, name)}{hint}")

    @cached_property
    def outer_choices(self) -> Sequence[int]:
        """The outer tiles, ascending; with a fixed inner tile those that it fits in."""
        if self.outer is not None:
            return (self.outer,)
        if self.tiles == "any":
            return range(self.inner or 1, self.size + 1)
        return tuple(tile for tile in divisors(self.size) if tile % (self.inner or 1) == 0)

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
        return sum(len(divisors(outer)) for outer in outers)

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
        return divisors(whole) if self.tiles == "factors" else range(1, whole + 1)

    def _fits(self, tile: int, whole: int) -> bool:
        return 1 <= tile <= whole and (self.tiles == "any" or whole % tile == 0)

    def _misfit(self, level: str, tile: int, whole: int, name: str) -> str:
        wrong = "does not divide" if self.tiles == "factors" else "is not within 1 and"
        return f"{level}.tile.{self.dim} = {tile} {wrong} {whole}, {name}"


def listed(values: Sequence[int], limit: int = 24) -> str:
    """The values in words, the middle left out of a long list."""
    if len(values) <= limit:
        return ", ".join(map(str, values))
    return f"{listed(values[: limit - 2])}, ..., {values[-1]}"
