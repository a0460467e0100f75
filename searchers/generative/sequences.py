"""Mappings as sequences that mean the same for every layer: a token for each gene of the default space.

Orders and parallel dims are as the space numbers them; tiles and clusters are log2 in halves. What a sequence
is for, a layer, an accelerator and an objective, is a row of numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.core.layer import DIMS as ALL_DIMS
from dse.domains.clustered.mapping import CLUSTER, INNER_TILE, OUTER_TILE
from dse.domains.clustered.structure import mappings_of
from dse.support.arrays import FloatArray, IntArray
from searchers.common.features import layer_and_accelerator
from searchers.common.mapping_genes import NearestGenes

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure

DIMS = ("K", "C", "Y", "X")
CHOICES = {"outer.parallel": 4, "outer.order": 24, "inner.parallel": 4, "inner.order": 24}
"""The genes that are no sizes, with their values: the first tokens. Then come cluster, outer, inner tiles."""
SIZES = 9
LENGTH = len(CHOICES) + SIZES
VOCABULARY = 32
OBJECTIVES = ("latency", "edp")
"""What was learned for."""


def has_sequences(space: Space, objective: str) -> bool:
    """Whether sequences stand for the space's designs, and the objective is one that they are known for."""
    structure = mappings_of(space)
    sizes = {gene.name: gene.size for gene in space.genes}
    return (
        structure is not None
        and objective in OBJECTIVES
        and not structure.has_machines
        and structure.dims == DIMS
        and "cluster" in sizes
        and all(sizes.get(name) == count for name, count in CHOICES.items())
    )


def context_vector(structure: MappingStructure, objective: str) -> FloatArray:
    """What layer_and_accelerator says, then for each of OBJECTIVES 1 where it is the one, else 0: (n,)."""
    kinds = [objective == known for known in OBJECTIVES]
    return np.append(layer_and_accelerator(structure), np.array(kinds, np.float64))


def tokens_of(space: Space, structure: MappingStructure, genes: IntArray) -> IntArray:
    """The sequences of the vectors (n, genes): (n, LENGTH)."""
    names = [gene.name for gene in space.genes]
    rows = structure.decode(genes).rows
    codes = [ALL_DIMS.index(dim) for dim in DIMS]
    tiles = [rows[:, start:][:, codes] for start in (OUTER_TILE, INNER_TILE)]
    sizes = np.concatenate([rows[:, CLUSTER][:, np.newaxis], *tiles], axis=1)
    halves = np.rint(2 * np.log2(sizes.astype(np.float64))).astype(np.int64)
    choices = [genes[:, names.index(name)] for name in CHOICES]
    return np.column_stack([*choices, np.minimum(halves, VOCABULARY - 1)])


def genes_of(space: Space, structure: MappingStructure, tokens: IntArray) -> IntArray:
    """The vectors whose sequences (n, LENGTH) are these, or the nearest ones that the space has."""
    names = [gene.name for gene in space.genes]
    genes = np.zeros((len(tokens), len(names)), np.int64)
    for place, name in enumerate(CHOICES):
        genes[:, names.index(name)] = np.minimum(tokens[:, place], CHOICES[name] - 1)
    logs = tokens[:, len(CHOICES) :] / 2
    return NearestGenes(space, structure)(genes, logs[:, 1:5], logs[:, 5:], logs[:, 0])
