"""Every nest of the page on what perfect factors cost is proven again: a minute."""

from __future__ import annotations

import pytest

from experiments.perfect_factors import nests, page
from experiments.perfect_factors.costs import Costs

LARGEST = Costs.read().largest(page.SHOWN).rows


@pytest.mark.parametrize("place", range(1, page.SHOWN + 1))
def test_both_nests_are_had_again(place: int) -> None:
    row = LARGEST[place - 1]
    if row["status"] != "optimal":
        pytest.skip("how far a proof comes that its limit ends depends on the computer")
    assert f"\n{nests.part(place, row, 60.0)}\n" in page.NESTS.read_text()
