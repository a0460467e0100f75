"""Where a search begins, and where its teams do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.templates import TEMPLATES
from dse.support.arrays import IntArray
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.domains.clustered.structure import MappingStructure
    from searchers.common.choices import Choices
    from searchers.team.agents import Judge

_POOL = 256
"""Random points of which those that the critic likes best are where extra teams begin."""


def template_vectors(structure: MappingStructure, genes: int) -> IntArray:
    """The dataflow templates that lie in the space, each design once: (n, genes)."""
    found: list[IntArray] = []
    machine = structure.nearest
    machines = np.array([machine.machine_row]) if structure.has_machines else None
    for fit in TEMPLATES.values():
        mapping = fit(structure.priced, machine)
        try:
            found.append(structure.encode(MappingBatch(MappingBatch.of([mapping]).rows, machines)))
        except InputError:
            continue  # Genes are fixed at other values.
    if not found:
        return np.empty((0, genes), np.int64)
    vectors = np.concatenate(found)
    return vectors[np.sort(np.unique(vectors, axis=0, return_index=True)[1])]


def promising_points(
    choices: Choices, judge: Judge, kinds: tuple[int, ...], count: int, rng: np.random.Generator
) -> list[IntArray]:
    """The points (genes,) that the judge likes best of a random pool, no two alike in the genes `kinds`."""
    pool = choices.sample(rng, _POOL)
    best_first = pool[np.argsort(judge(pool), kind="stable")]
    if kinds:
        _, firsts = np.unique(best_first[:, kinds], axis=0, return_index=True)
        best_first = best_first[np.sort(firsts)]
    return list(best_first[:count])
