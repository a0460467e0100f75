"""Comparisons over more problems than a campaign has; run by `make prove`."""

from __future__ import annotations

import numpy as np

from dse.analysis.stats.comparing import signed_rank_p


def test_a_thousand_problems_are_no_trouble() -> None:
    assert 0 < signed_rank_p([-1] * 600 + [1] * 400, np.arange(1000.0)) < 1
