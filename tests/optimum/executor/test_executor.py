"""The executor of schedules: true ones run; a faulty solver's are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dse.core.domains import make_problem
from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, Chain, Edge
from dse.core.layer import Layer
from dse.models.timeloop.residence import RESIDENCE
from dse.optimum.chains.program import Program
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from dse.optimum.executor import Executed, Machine, RefusedError, execute_chain
from dse.optimum.executor.stores import Store
from tests.optimum.chains.small_chains import prove
from tests.optimum.chains.test_read_elsewhere import DENSE, PLAIN, conv, machine

MODEL_OUTPUT = (("a", "an output of the model"),)


def proven(chain: Chain, room: int, **ways: Any) -> ChainProof:
    hardware = machine(room)
    return certify_chains(
        [chain], lambda layer: make_problem(layer, hardware, "energy", "timeloop"), RESIDENCE, prove, **ways
    )


def executed(proof: ChainProof, chain: Chain, room: int) -> Executed:
    """The proof's schedule run, by what the chain's source says."""
    return execute_chain(chain, proof.to_dict(), Machine(room, sizes_of(chain, room)))


def sizes_of(chain: Chain, room: int) -> dict[Layer, dict[str, int]]:
    made = {layer: make_problem(layer, machine(room), "energy", "timeloop") for layer in chain.layers}
    return {layer: dict(RESIDENCE.sizes(one)) for layer, one in made.items()}


def products(*widths: int, rows: int = 64, repeats: int = 1) -> tuple[Layer, ...]:
    pairs = pairwise(widths)
    return tuple(Layer.gemm(rows, n, k, name="abcd"[at], repeats=repeats) for at, (k, n) in enumerate(pairs))


ROW = (Edge("a", "b"), Edge("b", "c"))
CHAINS = {
    "products, whole": (Chain(products(32, 64, 32, 16), ROW), 20_000),
    "products in shared tiles": (Chain(products(32, 128, 32), (Edge("a", "b", INPUT, ROWS),)), 5_000),
    "three in shared tiles": (Chain(products(32, 64, 64, 32), ROW), 5_000),
    "columns split": (Chain(products(32, 128, 32), (Edge("a", "b"),)), 5_000),
    "a dense block": (
        Chain(DENSE, (Edge("a", "b"),), also_read=(("a", "Concat reads it"), ("b", "Concat reads it"))),
        200_000,
    ),
    "line by line": (
        Chain((conv("a", 32, 16, 32), conv("b", 32, 32, 32, filters=3)), (Edge("a", "b"),)),
        12_000,
    ),
    "a residual sum": (Chain(PLAIN, (*ROW, Edge("a", "c", BESIDE))), 90_000),
    "heads, turn by turn": (
        Chain(
            (
                *products(8, 8, repeats=4, rows=16),
                Layer.gemm(16, 16, 8, name="s", repeats=4),
                Layer.gemm(16, 8, 16, name="v", repeats=4),
            ),
            (Edge("a", "s"), Edge("s", "v", INPUT, ROWS)),
        ),
        900,
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_proven_schedule_runs(name: str) -> None:
    chain, room = CHAINS[name]
    proof = proven(chain, room, lines=True)
    found = executed(proof, chain, room)
    assert 0 < found.peak <= room
    assert proof.best is not None
    for layer in chain.names:
        words = found.written[layer] + found.kept[layer]
        made = chain.layers[chain.place(layer)]
        assert words == made.K * made.output[0] * made.output[1] * made.repeats


def test_words_are_where_they_were_put_one_by_one() -> None:
    rng, store, words = np.random.default_rng(0), Store(), np.zeros((3, 5, 7), dtype=bool)
    for _ in range(300):
        box: Any = tuple(tuple(sorted(rng.integers(size + 1, size=2).tolist())) for size in words.shape)
        inside = tuple(slice(*ends) for ends in box)
        assert store.missing("a", box) == np.count_nonzero(~words[inside])
        words[inside] = put = bool(rng.integers(2))
        (store.add if put else store.remove)("a", box)
        assert store.count("a") == np.count_nonzero(words)


def test_the_chains_above_stay_in_every_way() -> None:
    kinds = set()
    for chain, room in CHAINS.values():
        data = proven(chain, room, lines=True).to_dict()
        kinds |= {one["kind"] for one in data["shared"]}
        kinds |= {"whole"} if data["stays"] else set()
        kinds |= {"columns" for one in data["shared"] if max(one["columns"]) > 1}
    assert kinds == {"tiles", "lines", "whole", "columns"}


# Faults put into the solver


def blind(chain: Chain, room: int, whole: Sequence[tuple[str, str]] = (), **ways: Any) -> ChainProof:
    """The proof of a solver that does not see what else reads a tensor, nor what is needed whole."""
    edges = tuple(replace(edge, whole="") for edge in chain.edges)
    return proven(replace(chain, edges=edges, also_read=()), room, **ways)


def test_a_solver_that_does_not_see_other_readers_is_refused() -> None:
    for chain, name, why in (
        (CHAINS["a dense block"][0], "a", "Concat reads it"),
        (Chain(PLAIN, ROW, also_read=MODEL_OUTPUT), "a", "an output of the model"),
    ):
        with pytest.raises(RefusedError, match=f"words of {name} are never written off the chip: {why}"):
            executed(blind(chain, 200_000), chain, 200_000)


def test_a_solver_that_does_not_see_a_reader_in_the_chain_is_refused() -> None:
    chain = Chain(PLAIN, (*ROW, Edge("a", "c", BESIDE)))
    proof = proven(replace(chain, edges=ROW), 200_000)
    with pytest.raises(RefusedError, match=r"as c is run, which leaves"):
        executed(proof, chain, 70_000 * 3)


@pytest.mark.parametrize("whole", ["YX", EVERYTHING, "Y"])
def test_line_buffers_through_a_pooling_are_refused(whole: str) -> None:
    chain, room = CHAINS["line by line"]
    pooled = replace(chain, edges=(Edge("a", "b", INPUT, whole),))
    with pytest.raises(RefusedError, match=r"b reads .* words of a in the home, .* are not there"):
        executed(blind(pooled, room, lines=True), pooled, room)


@pytest.mark.parametrize("whole", ["KY", EVERYTHING])
def test_shared_tiles_through_a_norm_over_other_rows_are_refused(whole: str) -> None:
    chain, room = CHAINS["products in shared tiles"]
    normed = replace(chain, edges=(Edge("a", "b", INPUT, whole),))
    with pytest.raises(RefusedError, match=r"b reads .* words of a in the home"):
        executed(blind(normed, room), normed, room)


def test_split_columns_through_a_softmax_over_rows_are_refused() -> None:
    chain, room = CHAINS["columns split"]
    normed = replace(chain, edges=(Edge("a", "b", INPUT, ROWS),))
    proof = blind(normed, room)
    assert max(proof.to_dict()["shared"][0]["columns"]) > 1
    with pytest.raises(RefusedError, match=r"b reads .* words of a in the home"):
        executed(proof, normed, room)


def test_turns_through_an_operator_over_all_heads_are_refused() -> None:
    chain, room = CHAINS["heads, turn by turn"]
    mixed = replace(chain, edges=(Edge("a", "s", INPUT, "B"), chain.edges[1]))
    with pytest.raises(RefusedError, match=r"s reads .* words of a"):
        executed(blind(mixed, room), mixed, room)


def test_a_room_counted_too_small_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "taken", lambda self, place, staying, end=None: 0)
    chain = Chain(PLAIN, ROW)
    with pytest.raises(RefusedError, match=r"are taken as a is run, which leaves 0"):
        proven(chain, 60_000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data["stays"].remove("a"), "holds its output, which does not stay"),
        (lambda data: data["runs"][1]["held"].remove("I"), "reads its I off the chip, where it stays"),
        (lambda data: data["runs"][1]["held"].append("W"), "holds its W, which nothing has put there"),
        (lambda data: data["runs"].pop(), "c is not run"),
        (lambda data: data["runs"][2].update(taken=3), "which leaves 3"),
    ],
)
def test_a_schedule_that_was_changed_is_refused(change: Any, said: str) -> None:
    chain = Chain(PLAIN, (*ROW, Edge("a", "c", BESIDE)))
    data = proven(chain, 200_000).to_dict()
    change(data)
    with pytest.raises(RefusedError, match=said):
        execute_chain(chain, data, Machine(200_000, sizes_of(chain, 200_000)))


def test_what_a_group_reads_and_makes_has_its_room_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Chain(products(64, 64, 256, 64, 64), (Edge("a", "b"), Edge("b", "c"), Edge("c", "d")))
    room = 6_000
    executed(proven(chain, room), chain, room)

    def least(self: Program, place: int, staying: frozenset[int], end: int | None = None) -> int:
        tensors = [self.tensors[one] for one in staying]
        return max(
            sum(one.words for one in tensors if one.alive(at))
            for at in range(place, (place if end is None else end) + 1)
        )

    monkeypatch.setattr(Program, "taken", least)
    with pytest.raises(RefusedError, match=r"8,192 are taken as c is run, which leaves"):
        proven(chain, room)


def test_parts_that_do_not_do_all_the_work_are_refused() -> None:
    chain, room = CHAINS["products in shared tiles"]
    data = proven(chain, room).to_dict()
    data["shared"][0]["runs"][0]["count"] += 1
    with pytest.raises(RefusedError, match=r"the parts of a do .* MACs"):
        execute_chain(chain, data, Machine(room, sizes_of(chain, room)))
