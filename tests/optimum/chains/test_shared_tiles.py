"""Shared tiles: the published optima of chains, and what going through every tiling and mapping finds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from math import inf
from typing import Any

import numpy as np
import pytest

from dse.core.domains import make_problem
from dse.core.edges import ROWS, Chain, Edge
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Rates
from dse.core.widths import Widths
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.optimum.chains.check import check_chain
from dse.optimum.chains.check_tiles import _all, _words, needed_room
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from dse.optimum.chains.tilings import WORDS, Group, Tiling, fitting_tilings, least_moved, part_of, size_of
from tests import ROOT
from tests.optimum.chains.small_chains import RESIDENCE, machine, prove, proven

CASES = json.loads((ROOT / "tests/data/fused_chains.json").read_text())["chains"]


def products(case: dict[str, Any]) -> tuple[Layer, ...]:
    widths = case["N"]
    return tuple(
        Layer.gemm(case["M"], widths[at + 1], widths[at], name=f"l{at}") for at in range(len(widths) - 1)
    )


def least_words(case: dict[str, Any], *, fused: bool) -> float:
    """The least DRAM words of a chain: groups one after another, what is between them whole or in DRAM."""
    layers, room = products(case), case["B"]

    def words(tiling: Tiling) -> float:
        inside = sum(one.count * part(one.phase) for one in tiling.parts)
        return inside + sum(one.count * one.words for one in tiling.moves)

    def part(phase: Phase) -> float:
        return least_moved(size_of(phase.layer), room - phase.taken, frozenset(phase.held), phase.returned)

    best = {(0, False): 0.0}
    for start, end in combinations(range(len(layers) + 1), 2):
        for reads, makes in product((False, True), repeat=2):
            if (start, reads) not in best or (makes and (end == len(layers) or not fused)):
                continue
            taken = case["M"] * (reads * case["N"][start] + makes * case["N"][end])
            if end - start == 1:
                held = ("I",) * reads + ("O",) * makes
                cost = part(Phase(layers[start], held, taken)) if taken <= room else inf
            elif fused:
                whole = (False,) * (end - start - 1)
                group = Group(layers[start:end], whole, reads, makes, taken)
                cost = min(map(words, fitting_tilings(group, room)), default=inf)
            else:
                continue
            total = best[start, reads] + cost
            best[end, makes] = min(total, best.get((end, makes), inf))
    return best[len(layers), False]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_least_dram_words_are_those_published(case: dict[str, Any]) -> None:
    assert [least_words(case, fused=fused) for fused in (False, True)] == case["words"]


def two_levels(room: int) -> Machine:
    """The published machine: a drain also reads the buffer, and 16 MACs a cycle are 1/16 of a word a step."""
    energy = Energy(100.0, 100.0, 104.0)
    dram = Level("DRAM", keeps=TENSORS, may_keep=(), bandwidth=Bandwidth(shared=1 / 16), energy=energy)
    return Machine("two", (dram, Level("B", room, 1, TENSORS, (), energy=Energy.of_any(4.0))), 1.0)


def proof_of(case: dict[str, Any], objective: str = "energy") -> ChainProof:
    layers, hardware = products(case), two_levels(case["B"])
    edges = tuple(Edge(f"l{at}", f"l{at + 1}") for at in range(len(layers) - 1))

    def make(layer: Layer) -> AnyProblem:
        return make_problem(layer, hardware, objective, "timeloop")

    return certify_chains([Chain(layers, edges)], make, RESIDENCE, prove)


@pytest.mark.parametrize("number", ["04", "15"])
@pytest.mark.usefixtures("quick")
def test_energy_and_cycles_are_those_published(number: str) -> None:
    case = next(one for one in CASES if one["id"] == number)
    found = proof_of(case)
    for schedule, (joules, cycles) in ((found.alone, case["unfused"][0]), (found.best, case["fused"][0])):
        assert schedule is not None
        assert schedule.joules * 1e12 == pytest.approx(joules, rel=1e-12)
        assert schedule.seconds * 1e9 / 16 == pytest.approx(cycles, rel=1e-12)
    assert found.status == "optimal"
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


def test_two_formulas_of_the_least_words_agree() -> None:
    rng = np.random.default_rng(4)
    rates = [
        WORDS,
        Rates((1.5, 0.5, 2.0), 3.0, (1, 2, 4)),
        Rates((1.0, 0.0, 1.0), 1.0, kept=frozenset("IO")),
    ]
    for _ in range(500):
        size = tuple(rng.choice([1, 2, 3, 4, 6, 12], 3).tolist())
        held = frozenset(name for name in "IWO" if rng.random() < 0.3)
        given = (size, int(rng.integers(0, 150)), held, bool(rng.random() < 0.5), rates[rng.integers(3)])
        assert least_moved(*given) == pytest.approx(_words(*given), rel=1e-12)


ROW = Chain(
    (Layer.gemm(4, 6, 2, name="a"), Layer.gemm(4, 2, 6, name="b"), Layer.gemm(4, 4, 2, name="c")),
    (Edge("a", "b"), Edge("b", "c")),
)


SQUARES = Chain((Layer.gemm(4, 4, 2, name="a"), Layer.gemm(4, 2, 4, name="b")), (Edge("a", "b"),))
Points = tuple[tuple[float, float], ...]
"""Energy (nJ) and cycles that nothing else has both less of."""


def front_of(points: Iterable[tuple[float, float]]) -> Points:
    found: list[tuple[float, float]] = []
    for spent, cycles in sorted(points):
        if not found or cycles < found[-1][1]:
            found.append((spent, cycles))
    return tuple(found)


def added(one: Points, other: Points) -> Points:
    return front_of((e + x, t + y) for e, t in one for x, y in other)


def front_by_hand(chain: Chain, room: int, hardware: Machine | None = None, *, timed: bool = False) -> Points:
    """The front of a row of products over every tiling of every group and every mapping of every part.

    It is of energy alone if it is not `timed`.
    """
    base = make_problem(chain.layers[0], hardware or machine(room), "energy", "timeloop")

    @cache
    def part(phase: Phase, count: int, moves: tuple[tuple[str, int, int], ...]) -> Points:
        """All runs of a part, with what is held that comes or goes as it is run."""
        problem = RESIDENCE.problem(base, phase) if phase.taken <= room else None
        if problem is None:
            return ()
        every = np.array(list(product(*map(range, problem.space.sizes.tolist()))))
        points = np.unique(problem.space.canonical(every), axis=0)
        prices = problem.price(points)
        fits = np.flatnonzero(prices.reason == 0)
        spent, cycles = count * prices.energy_nj[fits], timed * count * prices.cycles[fits].astype(float)
        if moves and len(fits):
            tiles, mappings = RESIDENCE.tiles, problem.space.decode(points[fits])
            ports = np.zeros((len(fits), 1))
            if timed:
                ports = np.array([count * tiles.demands(problem, mappings[at]) for at in range(len(fits))])
            for name, words, times in moves:
                more, demands = tiles.moved(problem, name, words // times)
                spent, ports = spent + times * more, ports + times * demands
            cycles = np.maximum(cycles, timed * np.ceil(ports.max(axis=1) - 1e-9))
        return front_of(zip(spent.tolist(), cycles.tolist(), strict=True))

    def group(one: Group) -> Points:
        return front_of(point for way in _all(one) for point in tiling(one, *way))

    def tiling(one: Group, rows: int, splits: tuple[int, ...], kept: frozenset[str], outside: bool) -> Points:
        total: Points = ((0.0, 0.0),)
        for place, (tall, columns, sums) in enumerate(one.sizes):
            before = splits[place - 1] if place else 1
            behind = splits[place] if place < len(splits) else 1
            need, held = needed_room(one, rows, splits, kept, outside, place)
            piece, inside = part_of((tall // rows, columns // behind, sums // before)), tuple(sorted(held))
            across, down = (splits[0], 1) if outside else (1, rows)
            comes = [("W", columns * sums, across)] if f"W{place}" in kept else []
            comes += [("I", tall * sums, down)] if "I" in kept and place == 0 else []
            goes = [("O", tall * columns, down)] if "O" in kept and place + 1 == len(one.sizes) else []
            first = (*comes, *(goes if before == 1 else ()))
            total = added(total, part(Phase(piece, inside, need), rows * behind, first))
            if before > 1:
                again = part(Phase(piece, inside, need, True), rows * (before - 1), tuple(goes))
                total = added(total, again)
        return total

    sizes = [size_of(layer) for layer in chain.layers]
    tall, last = sizes[0][0], len(sizes)
    best: dict[tuple[int, bool], Points] = {(0, False): ((0.0, 0.0),)}
    for start, end in combinations(range(last + 1), 2):
        for reads, makes in product((False, True), repeat=2):
            if (start, reads) not in best or (makes and end == last) or (reads and start == 0):
                continue
            taken = tall * (reads * sizes[start][2] + makes * sizes[end - 1][1])
            layers, held = chain.layers[start:end], ("I",) * reads + ("O",) * makes
            found = (
                part(Phase(layers[0], held, taken), 1, ())
                if end - start == 1
                else group(Group(layers, (False,) * (end - start - 1), reads, makes, taken))
            )
            best[end, makes] = front_of((*best.get((end, makes), ()), *added(best[start, reads], found)))
    return best[last, False]


@pytest.mark.usefixtures("quick")
def test_every_tiling_and_mapping_gone_through_finds_no_less() -> None:
    found = proven(ROW, 11, "energy", most=3)
    assert found.best is not None
    assert found.best.shared
    assert found.lower_bound * 1e9 == pytest.approx(front_by_hand(ROW, 11)[0][0], rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("room", [7, 24])
def test_so_it_does_where_accesses_are_of_whole_blocks(room: int) -> None:
    plain = machine(room)
    hardware = replace(plain, levels=(*(replace(one, block=3) for one in plain.levels[:2]), plain.levels[2]))

    def make(layer: Layer) -> AnyProblem:
        return make_problem(layer, hardware, "energy", "timeloop")

    found = certify_chains([SQUARES], make, RESIDENCE, prove)
    assert found.status == "optimal"
    assert found.lower_bound * 1e9 == pytest.approx(front_by_hand(SQUARES, room, hardware)[0][0], rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.usefixtures("quick")
def test_so_it_does_of_their_time() -> None:
    found = proven(SQUARES, 7, "latency", most=3)
    assert found.best is not None
    assert found.best.shared
    assert found.status == "optimal"
    assert found.lower_bound * 1e9 == pytest.approx(front_by_hand(SQUARES, 7, timed=True)[-1][1], rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.usefixtures("quick")
def test_the_check_sees_a_bound_that_tilings_are_below() -> None:
    found = proof_of(CASES[3])
    assert found.best is not None
    (shared,) = found.best.shared
    wrong = {
        "no choice of what stays is below the bound": replace(found, lower_bound=found.lower_bound * 1.0001),
        "what stays has its room": replace(
            found, best=replace(found.best, shared=(replace(shared, group=replace(shared.group, taken=9)),))
        ),
        "the schedule costs what is claimed": replace(
            found, best=replace(found.best, shared=(replace(shared, count=2),))
        ),
    }
    for name, proof in wrong.items():
        assert name in [check.name for check in check_chain(proof, RESIDENCE) if not check.passed]


def test_columns_of_what_a_softmax_reads_are_not_split() -> None:
    rows = Chain(ROW.layers[:2], (Edge("a", "b", whole=ROWS),))
    one = proven(rows, 11, "energy", most=3)
    other = proven(replace(rows, edges=ROW.edges[:1]), 11, "energy", most=3)
    assert one.best is not None
    assert other.best is not None
    assert all(set(shared.tiling.columns) == {1} for shared in one.best.shared)
    assert other.lower_bound <= one.lower_bound


@pytest.mark.usefixtures("quick")
def test_words_of_widths_move_their_bits() -> None:
    energy = Energy.of_any(4.0)
    dram = Level("DRAM", keeps=TENSORS, may_keep=(), energy=Energy.of_any(100.0), word_bits=1)
    buffer = Level("B", 20_000, 1, TENSORS, (), energy=energy, word_bits=1)
    hardware = Machine("bits", (dram, buffer), 1.0, word_bits=8, widths=Widths(4, 8, 32))
    layers = products({"M": 32, "N": [16, 64, 16]})

    def make(layer: Layer) -> AnyProblem:
        return make_problem(layer, hardware, "energy", "timeloop")

    found = certify_chains([Chain(layers, (Edge("l0", "l1"),))], make, RESIDENCE, prove)
    assert found.best is not None
    assert found.best.shared
    assert found.status == "optimal"
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


def test_accesses_cost_as_much_in_an_instance_that_shares_a_row_as_where_the_share_is_its_own() -> None:
    chain = Chain((Layer.gemm(8, 4, 2, name="a"), Layer.gemm(8, 2, 4, name="b")), (Edge("a", "b"),))

    def least(by: int, cluster: int) -> float:
        dram, buffer = (
            replace(level, energy=Energy.of_any(pj / by), cluster=cluster)
            for level, pj in zip(two_levels(20).levels, (100.0, 4.0), strict=True)
        )
        hardware = Machine("two", (dram, buffer), 1.0)

        def make(layer: Layer) -> AnyProblem:
            return make_problem(layer, hardware, "energy", "timeloop")

        found = certify_chains([chain], make, RESIDENCE, prove, most=2)
        assert found.best
        assert found.lower_bound == found.best.loss
        return found.best.loss

    assert least(4, 1) == pytest.approx(least(1, 4), rel=1e-12)
