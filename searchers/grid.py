"""Grid search: the space enumerated in strides, so that any number of samples is spread evenly over it.

Gene vectors are numbers in a mixed radix, and the grid visits them at a constant stride, modulo their
number: a rank-1 lattice (Sloan and Joe, Lattice Methods for Multiple Integration, 1994). The stride has no
factor in common with that number, so that no point comes twice before all have come once; among candidates
it is the one whose first points are spread most evenly over the values of every pair of genes. Unlike a
grid of levels per gene, this one is even at every budget and needs none to be laid out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import IntArray
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


CANDIDATES = 64
TRIAL_POINTS = 512
BINS = 24


@dataclass(frozen=True)
class Grid:
    """A grid over gene vectors from a random corner. `batch_size` points are evaluated at a time."""

    batch_size: int = 1024

    aliases: ClassVar[Mapping[str, str]] = {"batch": "batch_size"}
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.batch_size, "batch_size", most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Go on from point to point until the budget is spent."""
        sizes = tuple(int(size) for size in evaluate.space.sizes)
        total, stride = math.prod(sizes), even_stride(sizes)
        position = _below(total, rng)
        while True:
            evaluate(lattice_points(position, stride, self.batch_size, sizes))
            position = (position + self.batch_size * stride) % total


def lattice_points(start: int, stride: int, count: int, sizes: tuple[int, ...]) -> IntArray:
    """The `count` gene vectors, (count, genes), at start, start + stride, ... in the mixed radix `sizes`.

    The first gene is the most significant digit. The numbers are Python's own: spaces exceed 64 bits.
    """
    total = math.prod(sizes)
    rest = np.array([(start + step * stride) % total for step in range(count)], dtype=object)
    genes = np.empty((count, len(sizes)), np.int64)
    for gene in reversed(range(len(sizes))):
        genes[:, gene] = rest % sizes[gene]
        rest //= sizes[gene]
    return genes


@lru_cache(maxsize=64)
def even_stride(sizes: tuple[int, ...]) -> int:
    """The most even of some strides, all coprime with the number of gene vectors."""
    total = math.prod(sizes)
    # Multiples of the golden section, for they are spread evenly themselves.
    fractions = [(step * (math.sqrt(5) - 1) / 2) % 1 for step in range(1, CANDIDATES + 1)]
    strides = [_coprime(int(fraction * 2**53) * total >> 53, total) for fraction in fractions]
    return min(
        strides, key=lambda stride: pair_unevenness(lattice_points(0, stride, TRIAL_POINTS, sizes), sizes)
    )


def pair_unevenness(genes: IntArray, sizes: tuple[int, ...]) -> float:
    """How far the points are from equal counts of all value pairs, for the worst pair of genes.

    It is the mean chi-squared over a pair's values: about 1 for random points. Genes of more than BINS values
    are taken in bins.
    """
    binned = []
    for gene, size in enumerate(sizes):
        if size > 1:
            bins = min(size, BINS)
            shares = np.bincount(np.arange(size) * bins // size) / size
            binned.append((genes[:, gene] * bins // size, shares))
    worst = 0.0
    for (first, first_shares), (second, second_shares) in combinations(binned, 2):
        expected = len(genes) * np.outer(first_shares, second_shares).ravel()
        counts = np.bincount(first * len(second_shares) + second, minlength=len(expected))
        worst = max(worst, float(np.mean((counts - expected) ** 2 / expected)))
    return worst


def _coprime(near: int, total: int) -> int:
    """The largest whole number of at most `near`, and at least 1, that is coprime with `total`."""
    stride = max(near, 1)
    while math.gcd(stride, total) != 1:
        stride -= 1
    return stride


def _below(total: int, rng: np.random.Generator) -> int:
    """A uniform whole number below `total`, which may exceed 64 bits (the bias is under 2**-64)."""
    words = total.bit_length() // 64 + 2
    return int.from_bytes(rng.bytes(8 * words), "little") % total
