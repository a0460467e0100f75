"""`dse bench certify`: what its summary says of proofs, and which problems a sample has."""

from __future__ import annotations

from itertools import count, islice

import numpy as np
import pytest

from dse.bench import certify as bench
from dse.core.domains import make_problem
from dse.core.problem import AnyProblem
from workloads import load

Problems = dict[str, AnyProblem]


def sets(machines: tuple[str, ...] = ("edge", "tpu-like"), tiles: str = "factors") -> list[bench.Set]:
    return [
        (network, machine, objective, problems(network, machine, objective, tiles))
        for network in ("mlp", "alexnet")
        for machine in machines
        for objective in ("latency", "edp")
    ]


def problems(network: str, machine: str, objective: str, tiles: str) -> Problems:
    return {one.name: make_problem(one, machine, objective, tiles=tiles) for one in load(network).layers}


def names(some: bench.Sets) -> set[tuple[str, ...]]:
    return {(*about, layer) for *about, of in some for layer in of}


def test_a_sample_has_so_many_problems_of_all_sets_and_fewer_are_among_more() -> None:
    every = names(sets())
    few, more, all_of_them = (
        names(bench.sample(sets(), number, np.random.default_rng(3))) for number in (6, 7, len(every))
    )
    assert (len(few), len(more)) == (6, 7)
    assert few < more < all_of_them == every
    assert few != names(bench.sample(sets(), 6, np.random.default_rng(4)))


def test_a_sample_keeps_the_order_of_sets_and_layers_and_has_no_empty_set() -> None:
    whole = [(*about, layer) for *about, of in sets() for layer in of]
    found = [(about, [*of]) for *about, of in bench.sample(sets(), 5, np.random.default_rng(0))]
    assert all(layers for _, layers in found)
    places = [whole.index((*about, layer)) for about, layers in found for layer in layers]
    assert places == sorted(places)


def test_every_problem_of_all_sets_is_drawn_once_in_another_order() -> None:
    drawn = [one[:4] for one in bench.drawn_problems(sets(), np.random.default_rng(0))]
    assert len(drawn) == len(set(drawn)) == len(names(sets()))
    assert drawn != [(*about, layer) for *about, of in sets() for layer in of]
    assert {one[0] for one in islice(drawn, 12)} == {"mlp", "alexnet"}


def row(layer: str, status: str, seconds: float, gap: float = 0.0) -> bench.Row:
    return {"layer": layer, "status": status, "seconds": seconds, "gap": gap}


def test_a_summary_counts_proofs_and_says_the_largest_gap() -> None:
    rows = [
        row("conv1", "optimal", 1.0),
        row("conv2", "bounded", 4.0, 0.02),
        row("conv3", "infeasible", 0.5),
        row("conv4", "bounded", 3.0, 0.01),
        row("conv5", "optimal", 2.0),
    ]
    found = bench.summary(rows, network="made up")
    assert found["network"] == "made up"
    assert (found["layers"], found["optimal"], found["infeasible"]) == (5, 2, 1)
    assert found["optimal_share"] == pytest.approx(2 / 4)
    assert (found["median_seconds"], found["worst_seconds"], found["worst_layer"]) == (2.0, 4.0, "conv2")
    assert found["largest_gap"] == 0.02
    assert found["seconds_of"] == "computing"


def test_of_problems_that_are_all_infeasible_there_is_no_share() -> None:
    found = bench.summary([row("conv1", "infeasible", 0.5)])
    assert (found["optimal_share"], found["largest_gap"]) == (None, 0.0)


def test_a_summary_has_the_peak_of_memory_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter((100.0, 250.0))
    monkeypatch.setattr(bench, "peak_mb", lambda: next(held))
    rows = [row("conv1", "optimal", 1.0)]
    assert [bench.summary(rows)["peak_mb"], bench.summary(rows)["peak_mb"]] == [100.0, 250.0]


@pytest.fixture
def a_second_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever somebody looks at it: the CPU's may stand still so long."""
    monkeypatch.setattr(bench, "NOW", count(1.0).__next__)


@pytest.mark.usefixtures("a_second_a_look")
def test_a_proof_that_its_limit_ends_leaves_the_gap_of_its_certificate() -> None:
    problem = problems("alexnet", "edge", "edp", "any")["conv2"]
    (ended,) = bench.prove({"conv2": problem}, 1e-6)
    (proven,) = bench.prove({"conv2": problem.with_changes(tiles="factors")})
    assert (ended["status"], proven["status"]) == ("bounded", "optimal")
    assert ended["gap"] > 0
    assert proven["gap"] == 0


@pytest.mark.usefixtures("a_second_a_look")
def test_a_front_that_its_limit_ends_has_a_gap_too() -> None:
    problem = problems("mlp", "edge", "latency, energy", "factors")
    ended = bench.prove(problem, 1e-6)
    assert {one["status"] for one in ended} == {"bounded"}
    assert all(one["gap"] > 0 for one in ended)
