"""Which mappings to measure, for a fit to tell a machine's constants apart.

Greedily, of those drawn, the one that a fit to those before it knows the least of: designs that are D-optimal
for sums of terms. Rows are terms as parts of the model's own figure, in units of how far they vary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.terms import terms_of
from dse.support.arrays import FloatArray
from dse.support.errors import InputError

DRAWN = 2000
UNKNOWN = 1e-2
"""How much is known of each weight before any sample, beside one that varies it by its spread."""


def plan_samples(problems: Sequence[Problem], count: int, rng: np.random.Generator) -> list[MappingBatch]:
    """`count` mappings in all, of each problem those that are chosen; of problems on one machine."""
    drawn, rows = [], []
    for problem in problems:
        genes = problem.space.canonical(problem.space.sample(rng, DRAWN))
        genes = np.unique(genes[problem.price(genes).reason == 0], axis=0)
        mappings = problem.space.decode(genes)
        drawn.append(mappings)
        terms = np.stack(list(terms_of(problem, mappings).values()), axis=1)
        rows.append(terms / terms[:, :1])
    every = np.concatenate(rows)
    if len(every) < count:
        raise InputError(f"a plan of {count} mappings: of those that were drawn {len(every)} are feasible")
    of = np.repeat(np.arange(len(problems)), [len(each) for each in rows])
    starts = np.cumsum([0, *(len(each) for each in rows)])
    chosen = _chosen(every, count)
    return [
        MappingBatch(drawn[place].rows[np.sort(chosen[of[chosen] == place]) - starts[place]])
        for place in range(len(problems))
    ]


def _chosen(rows: FloatArray, count: int) -> np.ndarray:
    """The places of so many rows (n, t)."""
    spread = rows.std(axis=0)
    varying = spread > 1e-9 * np.abs(rows).max(axis=0)
    scaled = rows[:, varying] / spread[varying]
    known = np.eye(scaled.shape[1]) / UNKNOWN
    free, chosen = np.ones(len(rows), np.bool_), []
    for _ in range(count):
        through = scaled @ known
        unknown = np.where(free, (through * scaled).sum(axis=1), -np.inf)
        pick = int(np.argmax(unknown))
        chosen.append(pick)
        free[pick] = False
        known -= np.outer(through[pick], through[pick]) / (1 + unknown[pick])
    return np.array(chosen)
