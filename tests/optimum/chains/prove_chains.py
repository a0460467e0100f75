"""What takes long: small chains in more rooms, each gone through in full."""

from __future__ import annotations

import pytest

from dse.core.edges import Chain
from dse.optimum.chains.check import check_chain
from tests.optimum.chains.small_chains import RESIDENCE, proven
from tests.optimum.chains.test_line_buffers import DEPTHWISE, PADDED, SMALL, STRIDED, TALL, agrees
from tests.optimum.chains.test_searched_chains import least_by_hand
from tests.optimum.chains.test_searched_shared_tiles import shared
from tests.optimum.chains.test_shared_tiles import CASES, ROW, SQUARES, front_by_hand, proof_of


@pytest.mark.parametrize("room", [7, 9, 13, 16, 20, 30])
def test_every_tiling_and_mapping_gone_through_finds_no_less(room: int) -> None:
    found = proven(ROW, room, "energy", most=3)
    assert found.lower_bound * 1e9 == pytest.approx(front_by_hand(ROW, room)[0][0], rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.parametrize("room", [5, 6, 7, 9])
@pytest.mark.parametrize("chain", [SQUARES, ROW])
def test_no_tiling_is_faster_nor_of_less_edp_than_the_bound(chain: Chain, room: int) -> None:
    points = [(spent * 1e-9, cycles * 1e-9) for spent, cycles in front_by_hand(chain, room, timed=True)]
    least = {"latency": points[-1][1], "edp": min(spent * seconds for spent, seconds in points)}
    for objective, value in least.items():
        found = proven(chain, room, objective, most=3)
        assert found.best is not None
        assert found.lower_bound <= value * (1 + 1e-9) <= found.best.loss * (1 + 2e-9)
        assert found.gap is not None
        assert found.gap < 0.05
        assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.parametrize("objective", ["energy", "latency"])
@pytest.mark.parametrize("room", [8, 12, 15, 18, 22])
@pytest.mark.parametrize("chain", [SMALL, PADDED, STRIDED, TALL, DEPTHWISE])
@pytest.mark.usefixtures("quick")
def test_no_line_buffer_and_mapping_is_below_the_proof(chain: Chain, room: int, objective: str) -> None:
    agrees(chain, room, objective)


@pytest.mark.parametrize(("objective", "room"), [("energy", 11), ("latency", 7), ("latency", 11)])
def test_no_vector_of_genes_that_share_tiles_is_below_the_proof(objective: str, room: int) -> None:
    found = proven(SQUARES, room, objective, most=3)
    assert found.status == "optimal"
    least = least_by_hand(shared(SQUARES, objective, room))
    assert least == pytest.approx(found.lower_bound, rel=1e-9)


def test_the_energy_and_cycles_of_every_published_chain_are_proven() -> None:
    """Of several schedules of least energy, such as of 27 and 30, the fastest are published."""
    for case in CASES:
        found = proof_of(case, "energy + 1e-9 * latency")
        assert found.status == "optimal"
        for schedule, points in ((found.alone, case["unfused"]), (found.best, case["fused"])):
            assert schedule is not None
            joules, cycles = min(points)
            assert schedule.joules * 1e12 == pytest.approx(joules, rel=1e-12), case["id"]
            assert schedule.seconds * 1e9 / 16 == pytest.approx(cycles, rel=1e-12), case["id"]
