"""The check of a proof over several sizes of tiles on a layer of a network, run by `make prove`."""

from __future__ import annotations

import pytest

from tests.optimum.test_tile_sets import real
from tests.optimum.tile_set_checks import expect_a_bound_that_is_too_high_to_be_seen


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_check_goes_through_every_size_and_sees_a_bound_that_is_too_high(model: str) -> None:
    expect_a_bound_that_is_too_high_to_be_seen(real(model, "any"))
