"""What takes long: small chains in more rooms, each gone through in full."""

from __future__ import annotations

import pytest

from dse.optimum.chains.check import check_chain
from tests.optimum.chains.small_chains import RESIDENCE, proven
from tests.optimum.chains.test_shared_tiles import CASES, ROW, least_by_hand, proof_of


@pytest.mark.parametrize("room", [7, 9, 13, 16, 20, 30])
def test_every_tiling_and_mapping_gone_through_finds_no_less(room: int) -> None:
    found = proven(ROW, room, "energy", most=3)
    assert found.lower_bound * 1e9 == pytest.approx(least_by_hand(room), rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


def test_the_energy_of_every_published_chain_is_proven() -> None:
    for case in CASES:
        found = proof_of(case)
        assert found.status == "optimal"
        for schedule, points in ((found.alone, case["unfused"]), (found.best, case["fused"])):
            assert schedule is not None
            assert schedule.joules * 1e12 == pytest.approx(min(joules for joules, _ in points), rel=1e-12)
