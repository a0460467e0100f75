"""The least product of a network's totals, for every model and objective; run by `make prove`."""

from __future__ import annotations

import pytest

from tests.optimum.test_total import assert_the_least_total


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("objective", ["edp", "energy * latency^2", "energy^3 * latency"])
def test_the_least_total_is_that_of_all_choices_of_mappings(model: str, objective: str) -> None:
    assert_the_least_total(model, objective)
