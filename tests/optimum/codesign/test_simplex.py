"""The small linear program behind bounds from several proofs, held against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dse.optimum.codesign.simplex import largest_sum


@pytest.mark.parametrize("rounded", [False, True], ids=["any", "with ties"])
def test_the_largest_sum_is_that_of_a_library(rounded: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        count, kinds = int(rng.integers(1, 40)), int(rng.integers(1, 7))
        uses = rng.random((count, kinds)) * 10 ** rng.uniform(-3, 3, (count, kinds))
        uses[rng.random((count, kinds)) < 0.4] = 0
        uses = np.round(uses) if rounded else uses
        uses[~uses.any(axis=1), 0] = 1
        worth = rng.random(count) * 10 ** rng.uniform(-3, 1, count)
        amounts = largest_sum(uses, worth)
        best = -linprog(-worth, A_ub=uses.T, b_ub=np.ones(kinds), method="highs").fun
        assert (amounts >= 0).all()
        assert (amounts @ uses <= 1 + 1e-8).all()
        assert amounts @ worth == pytest.approx(best, rel=1e-8)


def test_what_is_worth_nothing_is_left() -> None:
    assert largest_sum(np.ones((3, 2)), np.zeros(3)).tolist() == [0, 0, 0]
