"""Genes made continuous: descents over them, each step of which also names a design.

A gene with an order is a real number within its range; any other is a share for each of its values, which add
up to 1. A relaxed point stands for the vector that it is rounded to, the nearest number and the value of the
largest share. What a function of the features does as a gene moves is taken, as by a straight-through
estimator, from the features of the vectors around: those with that one gene set to another value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from dse.core.space import Space

_MAX_VALUES = 32
"""Values of a gene without an order among which a descent chooses: of more, some are drawn."""

Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Of features (n, width): a function's values (n,), and its gradients (n, width)."""


class Relaxed:
    """Relaxed points, (n, columns): a column for each gene with an order, one a value for the others."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._columns: list[slice] = []
        self._values: list[IntArray | None] = []
        start = 0
        for gene in space.genes:
            ordered = gene.kind == "ordinal"
            values = None if ordered else np.arange(gene.size)
            if values is not None and len(values) > _MAX_VALUES:
                values = np.sort(rng.choice(gene.size, _MAX_VALUES, replace=False))
            width = 1 if values is None else len(values)
            self._columns.append(slice(start, start + width))
            self._values.append(values)
            start += width
        self._width = start

    def of(self, genes: IntArray) -> FloatArray:
        """The vectors (n, genes) as relaxed points; for a value that is no choice here, the nearest one."""
        points = np.zeros((len(genes), self._width))
        for gene, (columns, values) in enumerate(zip(self._columns, self._values, strict=True)):
            if values is None:
                points[:, columns.start] = genes[:, gene] / self._top(gene)
            else:
                nearest = np.abs(values - genes[:, gene, np.newaxis]).argmin(axis=1)
                points[np.arange(len(genes)), columns.start + nearest] = 1
        return points

    def rounded(self, points: FloatArray) -> IntArray:
        """The vectors that relaxed points stand for: (n, genes)."""
        genes = np.empty((len(points), len(self._columns)), np.int64)
        for gene, (columns, values) in enumerate(zip(self._columns, self._values, strict=True)):
            part = points[:, columns]
            genes[:, gene] = (
                np.rint(part[:, 0] * self._top(gene)) if values is None else values[part.argmax(axis=1)]
            )
        return genes

    def descend(
        self, starts: IntArray, describe: Callable[[IntArray], FloatArray], slopes: Slopes, steps: int
    ) -> tuple[IntArray, FloatArray]:
        """The vectors that descents from `starts` (n, genes) pass, and the function there: (m, genes), (m,).

        A step moves the column whose slope is steepest by a share of its range that falls from a third to a
        tenth, the others in proportion, and shares are projected on the simplex.
        """
        points = self.of(starts)
        passed, found = [], []
        for step in range(steps):
            genes = self.rounded(points)
            features = describe(genes)
            values, gradients = slopes(features)
            passed.append(genes)
            found.append(values)
            slope = self._slopes(genes, features, gradients, describe)
            steepest = np.abs(slope).max(axis=1, keepdims=True)
            share = 1 / 3 + (1 / 10 - 1 / 3) * step / max(steps - 1, 1)
            points = self._projected(points - share * slope / np.maximum(steepest, 1e-12))
        return np.concatenate(passed), np.concatenate(found)

    def _slopes(
        self,
        genes: IntArray,
        features: FloatArray,
        gradients: FloatArray,
        describe: Callable[[IntArray], FloatArray],
    ) -> FloatArray:
        """How the function changes, to first order, along each column: (n, columns)."""
        rows, others = self._around(genes)
        moved = describe(others) - features[rows]
        changes = np.einsum("rw,rw->r", moved, gradients[rows]).reshape(-1, len(genes))
        slope = np.zeros((len(genes), self._width))
        at = 0
        for gene, (columns, values) in enumerate(zip(self._columns, self._values, strict=True)):
            if values is not None:
                slope[:, columns] = changes[at : at + len(values)].T
                at += len(values)
            else:
                up, down = changes[at], changes[at + 1]
                sides = (genes[:, gene] < self._top(gene)).astype(float) + (genes[:, gene] > 0)
                slope[:, columns.start] = (up - down) / np.maximum(sides, 1) * self._top(gene)
                at += 2
        return slope

    def _around(self, genes: IntArray) -> tuple[IntArray, IntArray]:
        """The vectors with one gene at a time set to another value, and the row that each is around."""
        found = []
        for gene, values in enumerate(self._values):
            targets: list[IntArray] = []
            if values is None:
                for step in (1, -1):
                    targets.append(np.clip(genes[:, gene] + step, 0, int(self._space.sizes[gene]) - 1))
            else:
                targets = [np.full(len(genes), value) for value in values]
            for target in targets:
                other = genes.copy()
                other[:, gene] = target
                found.append(other)
        return np.tile(np.arange(len(genes)), len(found)), np.concatenate(found)

    def _projected(self, points: FloatArray) -> FloatArray:
        for columns, values in zip(self._columns, self._values, strict=True):
            part = points[:, columns]
            points[:, columns] = np.clip(part, 0, 1) if values is None else on_simplex(part)
        return points

    def _top(self, gene: int) -> int:
        return max(int(self._space.sizes[gene]) - 1, 1)


def on_simplex(rows: FloatArray) -> FloatArray:
    """The nearest rows (n, k) of numbers that are not negative and add up to 1.

    Duchi, Shalev-Shwartz, Singer and Chandra, "Efficient Projections onto the l1-Ball" (ICML 2008), Figure 1.
    """
    ordered = -np.sort(-rows, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, rows.shape[1] + 1)
    support = (ordered * counts > excess).sum(axis=1)
    threshold = excess[np.arange(len(rows)), support - 1] / support
    projected: FloatArray = np.maximum(rows - threshold[:, np.newaxis], 0)
    return projected
