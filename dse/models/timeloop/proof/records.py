"""What the compiled parts of a proof read and write: sums of terms, chains, and where a relaxation is.

Terms, what they are multiplied by and what they come to are logarithms, unless it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dse.support.arrays import FloatArray, IntArray


class Groups(NamedTuple):
    """Sums of terms: their `kinds`, where the terms of each begin, and where its first visits do; `powers`
    are those of energy and of cycles in the loss.
    """

    kinds: IntArray
    starts: IntArray
    first_starts: IntArray
    powers: FloatArray


class FirstVisits(NamedTuple):
    """Of first visits which term is `visited`, how much is `taken` off, by a factor, and their `sizes`.

    `factors` are the coefficients of all terms and then of first visits, `spreads` the places of the terms
    that are fan-outs, and `widest` the most children that all levels together spread over.
    """

    visited: IntArray
    taken: FloatArray
    sizes: FloatArray
    factors: FloatArray
    spreads: IntArray
    widest: float


class Table(NamedTuple):
    """What chains contribute to terms, then first visits, then lines: (rows, chains). The chains of each
    component begin at its place in `offsets`.
    """

    values: FloatArray
    offsets: IntArray


class Lines(NamedTuple):
    """Of terms their rows in a table and their coefficients; where those of groups begin."""

    rows: IntArray
    coefficients: FloatArray
    starts: IntArray


class Related(NamedTuple):
    """Of groups what their terms that are no choice come to, and what is left for others; no logarithms."""

    constants: FloatArray
    rests: FloatArray


class Mixture(NamedTuple):
    """The chains that components mix: their places and weights (components, most), and how many they are."""

    atoms: IntArray
    weights: FloatArray
    counts: IntArray

    @classmethod
    def empty(cls, components: int, most: int) -> Mixture:
        """Nothing yet."""
        shape = components, most
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(components, dtype=np.int64))


class Ending(NamedTuple):
    """Where a relaxation begins and ends: what chains contribute to terms there (`z`), by how much each chain
    exceeds its component's best (`over`), and what each group counts (`weights`).
    """

    z: FloatArray
    over: FloatArray
    weights: FloatArray


class Factors(NamedTuple):
    """What chains (n, terms and then first visits) multiply the coefficients of both by; no logarithms."""

    rows: FloatArray
    offsets: IntArray
    coefficients: FloatArray


def offsets_of(chains: Sequence[IntArray]) -> IntArray:
    """Where each component's chains begin."""
    return np.cumsum([0, *map(len, chains)]).astype(np.int64)
