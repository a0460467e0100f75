"""Which genes go to which agent, as a user says it; `dse.search.gene_groups` deals those that go together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.core.space import Gene
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name

NAMED = ("k+c", "k+c|rest")
"""The groupings of Figure 6 of arXiv:2507.16249: K's and C's genes share an agent, and each other gene has
its own (9 agents of the paper's 10 parameters), or all others share one too (2 agents)."""


def named_groups(name: str, genes: Sequence[Gene]) -> IntArray:
    """The group of each gene, (genes,), of a grouping of NAMED."""
    shared = [gene.dim in ("K", "C") for gene in genes]
    if not any(shared):
        raise InputError(f"groups {name!r} are of spaces with genes of K and C; this one has none")
    if name == "k+c|rest":
        return np.where(shared, 0, 1).astype(np.int64)
    labels = np.zeros(len(genes), np.int64)
    labels[~np.array(shared)] = 1 + np.arange(len(genes) - sum(shared))
    return labels


def read_groups(groups: Sequence[Sequence[str]], names: Sequence[str] | None = None) -> IntArray:
    """The group of each gene, (genes,), by groups of the genes' names that hold each gene once.

    Without `names`, those of all genes in order, the genes are those that the groups hold, as they come.
    """
    labels = dict[str, int]()
    for label, group in enumerate(groups):
        if not group:
            raise InputError(f"groups must hold a gene each, got {shorten(groups)}")
        for name in group:
            if names is not None and name not in names:
                raise unknown_name("gene", name, names, "groups")
            if name in labels:
                raise InputError(f"groups hold gene {name!r} twice")
            labels[name] = label
    missing = [name for name in names or () if name not in labels]
    if missing:
        raise InputError(f"groups must hold every gene, they lack {', '.join(missing)}")
    return np.array([labels[name] for name in names or labels], np.int64)
