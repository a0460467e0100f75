"""The least that is moved over the edge of the home for a matrix product: tiles there, loops outside.

A product of M x N x K has tiles of whole factors in the home, each tensor that is not held its tile, and the
loops outside in any order: the two-level machine of `docs/timeloop.md`. All tiles and orders are tried.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np

from dse.core.residence import Rates
from dse.support.jit import load_kernels

Size = tuple[int, int, int]
"""Rows, columns, and what is summed over."""
ORDER = ("I", "W", "O")
"""How rates name the tensors."""


WORDS = Rates()
"""Every word counts the same."""


@lru_cache(maxsize=200_000)
def least_moved(size: Size, room: int, held: frozenset[str], returned: bool, rates: Rates = WORDS) -> float:
    """The least cost of what a product moves; `returned` sums come once more. Inf where nothing fits.

    `room` is what is left for tiles.
    """
    if room < 0:
        return inf
    here = np.array([0 if one in held else 1 + (one in rates.kept) for one in ORDER], dtype=np.int64)
    sides = (np.array(divisors(side), dtype=np.int64) for side in size)
    bits, comes = np.array(rates.bits, dtype=np.float64), np.array(rates.comes)
    kernels = load_kernels("dse.optimum.chains.kernels")
    first = 0.0 if returned else 1.0
    return float(kernels.least_moved(*sides, float(room), here, bits, comes, float(rates.goes), first))


@lru_cache(maxsize=10_000)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return tuple(sorted({*small, *(number // one for one in small)}))
