"""What is read outside of a chain, and operators that need more than a tile: nothing is kept that is missed.

Every DRAM word costs 1 nJ and nothing else costs anything, so that energies are words, counted by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from dse.core.domains import make_problem
from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, Chain, Edge
from dse.core.layer import Layer
from dse.domains.levels.machine import Energy, Level, Machine
from dse.models.timeloop.residence import RESIDENCE
from dse.optimum.chains.check import check_chain
from dse.optimum.chains.program import Program
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from dse.optimum.executor import RefusedError
from tests.optimum.chains.small_chains import prove

pytestmark = pytest.mark.usefixtures("quick")

PIXELS = 8 * 8
ALL = ("W", "I", "O")
X, A, B, OUT = 4 * PIXELS, 8 * PIXELS, 8 * PIXELS, 4 * PIXELS
WA, WB, WC = 4 * 8, 8 * 8 * 9, 16 * 4


def machine(room: int) -> Machine:
    dram = Level("DRAM", keeps=ALL, may_keep=(), energy=Energy.of_any(1000.0))
    buffer = Level("Buffer", room, keeps=ALL, may_keep=(), energy=Energy.of_any(0.0))
    return Machine("words", (dram, buffer), 0.0)


def conv(name: str, k: int, c: int, side: int, *, filters: int = 1) -> Layer:
    pad = filters // 2
    return Layer("CONV", k, c, side, side, filters, filters, padding=(pad, pad), name=name)


DENSE = (conv("a", 8, 4, 8), conv("b", 8, 8, 8, filters=3), conv("c", 4, 16, 8))
PLAIN = (*DENSE[:2], conv("c", 4, 8, 8))


def proven(
    layers: Sequence[Layer],
    edges: Sequence[Edge],
    also_read: tuple[tuple[str, str], ...] = (),
    room: int = 200_000,
    **ways: Any,
) -> ChainProof:
    chain = Chain(tuple(layers), tuple(edges), also_read=also_read)
    hardware = machine(room)

    def make(layer: Layer) -> Any:
        return make_problem(layer, hardware, "energy", "timeloop")

    proof = certify_chains([chain], make, RESIDENCE, prove, **ways)
    assert proof.status == "optimal"
    assert all(check.passed for check in check_chain(proof, RESIDENCE)), check_chain(proof, RESIDENCE)
    return proof


def words(proof: ChainProof) -> float:
    assert proof.best is not None
    return round(proof.best.joules * 1e9, 6)


def test_a_tensor_that_a_concatenation_reads_too_is_written_off_the_chip() -> None:
    beside = (("a", "Concat reads it"), ("b", "Concat reads it"))
    proof = proven(DENSE, [Edge("a", "b")], beside)
    assert words(proof) == (X + WA + A) + (WB + B) + (A + B + WC + OUT)
    assert proof.best is not None
    assert proof.best.staying == ("a",)


def test_a_tensor_that_is_an_output_of_the_model_is_written_off_the_chip() -> None:
    edges, kept = [Edge("a", "b"), Edge("b", "c")], X + WA + WB + 8 * 4 + OUT
    assert words(proven(PLAIN, edges)) == kept
    assert words(proven(PLAIN, edges, (("a", "an output of the model"),))) == kept + A


def test_no_tile_of_a_tensor_stays_that_is_read_elsewhere_too() -> None:
    layers = [Layer.gemm(64, 64, 64, name="a"), Layer.gemm(64, 64, 64, name="b")]
    alone = proven(layers, [Edge("a", "b")], room=4_400)
    assert words(alone) < words(proven(layers, [], room=4_400))
    both = proven(layers, [Edge("a", "b")], (("a", "an output of the model"),), room=4_400)
    assert words(both) == words(proven(layers, [], room=4_400))


PAIRS = {
    "lines": (DENSE[:2], 450),
    "tiles": ((Layer.gemm(128, 128, 32, name="a"), Layer.gemm(128, 32, 128, name="b")), 9_500),
}
"""Two layers and a room in which lines of what is between them are kept, or tiles."""


@cache
def pair_proven(kind: str, whole: str | None) -> ChainProof:
    """A pair with an operator between the layers that needs so much of the tensor; None: not connected."""
    layers, room = PAIRS[kind]
    edges = [] if whole is None else [Edge("a", "b", INPUT, whole)]
    return proven(layers, edges, room=room, lines=kind == "lines")


@pytest.mark.parametrize("whole", ["Y", "B", EVERYTHING, "KY"])
def test_no_line_buffer_goes_through_an_operator_that_needs_other_rows(whole: str) -> None:
    kept, off = pair_proven("lines", ROWS), pair_proven("lines", whole)
    assert kept.best is not None
    assert kept.best.shared
    assert off.best is not None
    assert not off.best.shared
    assert not off.best.staying
    assert words(kept) < words(off) == words(pair_proven("lines", None))


@pytest.mark.parametrize("whole", ["Y", "X", EVERYTHING])
def test_no_tiles_are_shared_through_an_operator_that_needs_other_rows(whole: str) -> None:
    kept, off = pair_proven("tiles", ROWS), pair_proven("tiles", whole)
    assert kept.best is not None
    assert kept.best.shared
    assert words(kept) < words(off) == words(pair_proven("tiles", None))


def test_a_tensor_that_stays_whole_may_be_read_through_any_operator() -> None:
    layers = [Layer.gemm(64, 64, 64, name="a"), Layer.gemm(64, 64, 64, name="b")]
    proof = proven(layers, [Edge("a", "b", INPUT, EVERYTHING)], room=20_000)
    assert words(proof) == words(proven(layers, [Edge("a", "b")], room=20_000))


HEADS = (
    Layer.gemm(8, 8, 4, name="q", repeats=3),
    Layer.gemm(8, 4, 8, name="s", repeats=3),
)


def test_heads_that_an_operator_mixes_are_not_run_turn_by_turn() -> None:
    chains = [Chain(HEADS, (Edge("q", "s", INPUT, whole),)) for whole in ("", "B")]
    sizes = {layer: {"O": 64} for layer in HEADS}
    # One run's words stay, or those of all runs.
    assert [Program(chain, sizes).tensors[0].words for chain in chains] == [64, 3 * 64]


def test_what_stays_for_others_too_takes_its_room_and_is_not_held_by_its_maker() -> None:
    chain = Chain(PLAIN, (Edge("a", "b"), Edge("b", "c"), Edge("a", "c", BESIDE)), also_read=(("a", "?"),))
    program = Program(chain, {layer: {"I": 1, "W": 1, "O": 7} for layer in PLAIN}, lines=True)
    staying = frozenset({0, 1})
    assert [program.held(place, staying) for place in range(3)] == [(), ("I", "O"), ("I",)]
    assert [program.taken(place, staying) for place in range(3)] == [7, 14, 14]
    assert program.groups == ((1, 2),)


def test_a_home_that_need_not_keep_outputs_keeps_no_copy() -> None:
    chain = Chain(PLAIN, (Edge("a", "b"), Edge("b", "c")), also_read=(("a", "?"),))
    sizes = {layer: {"I": 1, "W": 1, "O": 7} for layer in PLAIN}
    assert set(Program(chain, sizes, copies=False).tensors) == {1}


def test_faults_of_the_solver_are_seen_by_its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "written", {})
    elsewhere = (("a", "an output of the model"),)
    with pytest.raises(RefusedError, match="of a are never written off the chip: an output of the model"):
        proven(PLAIN, [Edge("a", "b"), Edge("b", "c")], elsewhere)
    monkeypatch.setattr("dse.optimum.chains.solve.is_executed", lambda chain: False)
    with pytest.raises(AssertionError, match=r"never written off the chip"):
        proven(PLAIN, [Edge("a", "b"), Edge("b", "c")], elsewhere)
