"""Genes that go together in good samples, and groups of them: pure functions of a record's genes and losses.

The steps: the best of the points, the Pearson correlations between their genes, an agglomerative clustering
(scikit-learn's), and a cut through its tree, at a number of clusters or at a distance. It clusters either:

- `average`: genes are 1 - |r| apart, clusters as far as their genes are on average. No distance exceeds 1.
- `ward`: a gene is its row of the matrix, and Ward's variances are clustered. Distances are of such
  a size that mostly every gene is its own agent below 0.5, and one agent has all above 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, unknown_name

LINKAGES = ("average", "ward")
TOP = 0.15
"""The share of the feasible points that counts as good."""


def best_points(genes: IntArray, losses: FloatArray, top: float = TOP) -> IntArray:
    """The share `top` of the feasible points (n, genes), those with the lowest losses, best first.

    At least two points are kept, if as many are feasible.
    """
    return genes[_best(losses, top)]


def gene_correlations(genes: IntArray, losses: FloatArray, top: float = TOP) -> FloatArray:
    """Pearson's r between the genes, (genes, genes), over the `best_points`.

    A gene that is constant among them has no correlation with another, nor has any gene if fewer than two
    points are feasible.
    """
    best = best_points(genes, losses, top)
    matrix = np.eye(genes.shape[1])
    if len(best) < 2:
        return matrix
    varied = np.flatnonzero(np.ptp(best, axis=0))
    if len(varied):
        matrix[np.ix_(varied, varied)] = np.corrcoef(best[:, varied], rowvar=False)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def objective_correlations(genes: IntArray, losses: FloatArray, top: float = TOP) -> FloatArray:
    """Pearson's r between each gene and the reward 1 / loss over the `best_points`: (genes,).

    This is the column of the objective in Figure 4a. 0 for what is constant.
    """
    best = _best(losses, top)
    found, rewards = np.zeros(genes.shape[1]), 1 / losses[best]
    if len(best) > 1 and np.ptp(rewards) > 0:
        varied = np.flatnonzero(np.ptp(genes[best], axis=0))
        found[varied] = np.corrcoef(genes[best][:, varied], rewards, rowvar=False)[-1, :-1]
    return found


def _best(losses: FloatArray, top: float) -> IntArray:
    """The places of the `best_points`."""
    feasible = np.flatnonzero(np.isfinite(losses))
    keep = max(2, math.ceil(top * len(feasible)))
    best: IntArray = feasible[np.argsort(losses[feasible], kind="stable")[:keep]]
    return best


def gene_tree(corr: FloatArray, linkage: str = "average") -> FloatArray:
    """The clustering of genes with correlations `corr` as scipy's linkage matrix: (genes - 1, 4)."""
    from scipy.cluster.hierarchy import linkage as merge
    from scipy.spatial.distance import squareform

    _known(linkage)
    told = corr if linkage == "ward" else squareform(_distances(corr))
    tree: FloatArray = merge(told, method=linkage)
    return tree


def cut_at(tree: FloatArray, distance: float) -> int:
    """How many clusters there are when all that are nearer than `distance` are merged."""
    return len(tree) + 1 - int((tree[:, 2] < distance).sum())


def cluster_genes(corr: FloatArray, n: int, linkage: str = "average") -> IntArray:
    """The cluster of each gene, (genes,), with `n` clusters, counted from 0 in the genes' order."""
    genes = len(corr)
    if not 1 <= n <= genes:
        raise InputError(f"clusters must be at least 1 and at most {genes}, the number of genes, got {n}")
    return _clustered(corr, linkage, {"n_clusters": n})


def cluster_genes_at(corr: FloatArray, distance: float, linkage: str = "average") -> IntArray:
    """The cluster of each gene, (genes,), when all that are nearer than `distance` are merged."""
    return _clustered(corr, linkage, {"n_clusters": None, "distance_threshold": distance})


def _clustered(corr: FloatArray, linkage: str, cut: Mapping[str, Any]) -> IntArray:
    from sklearn.cluster import AgglomerativeClustering

    _known(linkage)
    if len(corr) == 1:
        return np.zeros(1, np.int64)
    ward = linkage == "ward"
    method = AgglomerativeClustering(
        linkage=linkage, metric="euclidean" if ward else "precomputed", compute_full_tree=True, **cut
    )
    found = method.fit(corr if ward else _distances(corr)).labels_
    # Its labels are in the tree's order.
    _, first, label = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[label], dtype=np.int64)


def _distances(corr: FloatArray) -> FloatArray:
    """1 - |r| of genes with correlations `corr`, (genes, genes)."""
    distances = np.clip(1 - np.abs(corr), 0, 1)
    np.fill_diagonal(distances, 0)
    both: FloatArray = (distances + distances.T) / 2
    return both


def _known(linkage: str) -> None:
    if linkage not in LINKAGES:
        raise unknown_name("linkage", linkage, LINKAGES)
