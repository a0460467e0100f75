"""Committed records are of all cells that their campaigns have today; run by `make prove`."""

from __future__ import annotations

import pytest

from tests.campaign.test_committed_campaigns import assert_records_are_of_cells, cells_of, with_records


@pytest.mark.parametrize("name", with_records())
def test_committed_records_are_of_the_cells_that_the_campaign_has_today(name: str) -> None:
    assert_records_are_of_cells(name, cells_of(name))
