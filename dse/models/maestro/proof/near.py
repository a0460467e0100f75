"""A search for mappings whose dropped work makes up for their overhead: what a proof of latency ends with.

From the best mappings known, tiles are drawn anew (log-uniformly, an inner one within its outer one), and
orders. Mappings that are a few cycles above the floor differ from it in all tiles at once, so that descents
do not find it, and are many, so that a pool of them does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dse.core.chains import log_uniform
from dse.domains.clustered.mapping import (
    COLUMNS,
    INNER_ORDER,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import ORDER_TABLE, allowed_orders, tile_chains
from dse.domains.clustered.proof.solver import first_mapping
from dse.proof.contract import Found
from dse.support.arrays import FloatArray, IntArray

DRAWN, KEPT = 75_000, 300
PATIENCE = 24
"""Rounds that may find nothing, after which there are no more."""
OUTER, INNER, REORDERED = 0.35, 0.5, 0.5
"""Which part of the outer tiles, of the inner ones and of the orders is drawn anew."""


@dataclass
class Pool:
    """The best mappings found, as rows (n, 27) with their losses, and rounds since one was better."""

    problem: Problem
    rows: IntArray = field(default_factory=lambda: np.empty((0, COLUMNS), np.int64))
    losses: FloatArray = field(default_factory=lambda: np.empty(0))
    waited: int = 0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def improve(self, row: IntArray | None, loss: float) -> Found:
        """What is better than `loss` after another round; `row` is its mapping, if that is known."""
        if not len(self.rows) and self.waited < PATIENCE:
            self._begin()
        if row is not None and loss < self.losses.min(initial=np.inf):
            self.rows = np.concatenate([row[np.newaxis], self.rows])
            self.losses = np.concatenate([[loss], self.losses])
        if not len(self.rows) or self.waited >= PATIENCE:
            self.waited = PATIENCE
            return Found(self.losses[:0], self.rows[:0])
        found = self._drawn(self.rows[self.rng.integers(len(self.rows), size=DRAWN)])
        losses = self.problem.evaluate(MappingBatch(found)).loss
        best = np.argsort(losses, kind="stable")[:KEPT]
        rows, losses = np.concatenate([self.rows, found[best]]), np.concatenate([self.losses, losses[best]])
        first = np.argsort(losses, kind="stable")[:KEPT]
        self.waited = 0 if losses[first[0]] < self.losses[0] else self.waited + 1
        self.rows, self.losses = rows[first], losses[first]
        better = self.losses < loss
        return Found(self.losses[better], self.rows[better])

    def _begin(self) -> None:
        """The mapping that descents find, if there is one."""
        good = first_mapping(self.problem)
        if good is not None:
            self.rows, self.losses = MappingBatch.of([good.mapping]).rows, np.array([good.loss])

    def _drawn(self, rows: IntArray) -> IntArray:
        """The rows with some of their tiles and orders drawn anew."""
        rng, n = self.rng, len(rows)
        for dim, chain in enumerate(tile_chains(self.problem)):
            outers = chain.outer_choices
            outer, inner = rows[:, OUTER_TILE + dim], rows[:, INNER_TILE + dim]
            drawn = log_uniform(rng, outers[0], np.full(n, outers[-1]))
            outer[:] = np.where(rng.random(n) < OUTER, drawn, outer)
            if not chain.inner:
                drawn = log_uniform(rng, 1, outer)
                inner[:] = np.where(rng.random(n) < INNER, drawn, np.minimum(inner, outer))
        for column, allowed in zip((OUTER_ORDER, INNER_ORDER), allowed_orders(self.problem), strict=True):
            drawn = ORDER_TABLE[np.array(allowed)[rng.integers(len(allowed), size=n)]]
            anew = rng.random((n, 1)) < REORDERED
            part = rows[:, column : column + ORDER_TABLE.shape[1]]
            part[:] = np.where(anew, drawn, part)
        return rows
