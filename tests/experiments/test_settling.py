"""When a gene of the best mapping so far has its last value."""

from __future__ import annotations

import numpy as np

from experiments.paper.settling import settled


def test_a_gene_has_settled_when_the_best_no_longer_changes_it() -> None:
    genes = np.array([[1, 5], [2, 5], [3, 9], [2, 7], [2, 5], [2, 7]])
    losses = np.array([np.inf, 4.0, 5.0, 3.0, 6.0, 3.0])
    assert settled(genes, losses).tolist() == [2, 4]


def test_without_anything_feasible_nothing_settles_within_the_budget() -> None:
    assert settled(np.zeros((4, 3), np.int64), np.full(4, np.inf)).tolist() == [4, 4, 4]
