"""Lists of all nests near a proven optimum of machines of levels, of more problems; run by `make prove`."""

from __future__ import annotations

import pytest

from tests.domains.levels.proof.test_near_machines import assert_every_nest_is_listed_once, small_problems


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@pytest.mark.parametrize(
    ("nests", "orders"), [("even", "undominated"), ("even", "all"), ("uneven", "undominated")]
)
def test_every_nest_within_a_share_is_listed_once(nests: str, orders: str, objective: str) -> None:
    assert assert_every_nest_is_listed_once(small_problems(nests, objective, orders, count=20)) > 10
