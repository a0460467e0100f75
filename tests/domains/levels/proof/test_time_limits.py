"""Proofs of uneven nests whose time is over before all arrangements are looked at."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.listed import Wanted
from dse.core.widths import Widths
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import with_nests
from dse.models.timeloop.proof import branches, nodes, search
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.components import Recent
from dse.models.timeloop.proof.floors import least_loss
from dse.proof import near, proving
from tests.domains.levels.proof.test_certify_machines import LAYERS, random_machine
from tests.domains.levels.test_uneven import open_levels

OBJECTIVES = ("edp", "energy", "latency", "energy + 0.001 * latency", "energy * latency^2")


def looks(limit: float) -> Clock:
    """A clock on which each look takes a second."""
    ticks = count()
    return Clock(limit, lambda: float(next(ticks)))


def deep(levels: int) -> Machine:
    """So many levels on the chip that keep all tensors."""
    dram = Level("DRAM", keeps=TENSORS, bandwidth=Bandwidth(shared=8), energy=Energy.of_any(100))
    figures = [(4096 >> 3 * number, 4, 6.0 / (number + 1)) for number in range(levels)]
    inner = [
        Level(f"L{number}", size, wide, TENSORS, (), spread=("K", "P"), energy=Energy.of_any(pj))
        for number, (size, wide, pj) in enumerate(figures)
    ]
    return Machine("deep", (dram, *inner), 1.0)


@pytest.fixture
def relaxed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The arrangements that are bounded, one after another, in two threads."""
    numbers, bound = [], Branch.relaxed

    def counted(branch: Branch, *given: object) -> object:
        numbers.append(branch.number)
        return bound(branch, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Branch, "relaxed", counted)
    for threaded in (proving, near):
        monkeypatch.setattr(threaded, "cpu_count", lambda: 2)
    return numbers


def test_a_proof_whose_time_is_over_looks_at_few_of_thousands_of_arrangements(
    relaxed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = MachineProblem(Layer.gemm(16, 16, 16), with_nests(deep(3), "uneven"), "edp", "timeloop")
    assert len(branches.branches_of(problem)) == 600
    search.warm()
    monkeypatch.setattr(search, "warm", lambda: None)
    monkeypatch.setattr(search, "good_mapping", lambda *given: None)
    relaxed.clear()
    found = search.solve(problem, Clock(0.0))
    assert found.status == "bounded"
    assert found.lower_bound == pytest.approx(least_loss(problem), rel=1e-6)
    # Each thread divides a group of eight arrangements, and bounds the first of them.
    assert len(relaxed) == 2
    assert found.counts.open == 600 / 8 - 2 + 2 * 8


def test_a_list_whose_time_is_over_looks_at_few_arrangements_and_knows_the_optimum(
    relaxed: list[int],
) -> None:
    problem = MachineProblem(Layer.gemm(4, 4, 4), with_nests(deep(2), "uneven"), "edp", "timeloop")
    assert len(branches.branches_of(problem, every=True)) == 36
    found = search.solve(problem)
    assert found.best
    relaxed.clear()
    listed = search.list_best(problem, found.best, Wanted(0.5), Clock(0.0))
    # Two threads look at two boxes each, and at one of them again to divide it.
    assert len(relaxed) < 36 / 4
    assert not listed.complete
    assert listed.bound == found.best.loss == listed[0].loss


def test_a_proof_that_stops_again_and_again_ends_with_what_one_without_a_limit_proves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nodes, "MOST_KEPT", 20)
    monkeypatch.setattr("dse.models.timeloop.proof.boxes.MOST_KEPT", 20)
    rng, stops = np.random.default_rng(3), []
    for number in range(6):
        machine = open_levels(rng) if number % 2 else random_machine(rng)
        layer, objective = LAYERS[number % len(LAYERS)], OBJECTIVES[number % 3]
        problem = MachineProblem(layer, with_nests(machine, "uneven"), objective, "timeloop")
        if not problem.accelerator.even:
            continue
        whole = search.solve(problem)
        if whole.counts.groups > 100:
            continue
        found, runs = search.solve(problem, looks(3)), 1
        while found.unsettled and runs < 2000:
            assert found.status == "bounded"
            assert found.lower_bound <= whole.lower_bound
            found, runs = search.solve(problem, looks(3), found), runs + 1
        assert found.status == whole.status
        assert found.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9, abs=0)
        stops.append(runs)
    assert max(stops) > 5


def test_no_mapping_of_any_nests_is_below_what_the_words_in_it_take_in_any_case() -> None:
    rng, near = np.random.default_rng(5), 0
    for number in range(30):
        machine = open_levels(rng) if number % 2 else random_machine(rng)
        layer, objective = LAYERS[number % len(LAYERS)], OBJECTIVES[number % len(OBJECTIVES)]
        if number % 3 == 2:
            machine = replace(machine, widths=Widths(W=4, I=8, O=16))
        for nests in ("even", "uneven"):
            problem = MachineProblem(layer, machine, objective, "timeloop", fixed={"nests": nests})
            losses = problem.price(problem.space.sample(rng, 300)).loss
            assert least_loss(problem) <= losses.min() * (1 + 1e-9)
            near += least_loss(problem) > 0.3 * losses.min()
    assert near > 5


def test_what_is_kept_weighs_no_more_than_it_may_and_what_was_asked_for_last_stays() -> None:
    made = []

    def make(key: int) -> list[int]:
        made.append(key)
        return [key] * key

    recent: Recent[list[int]] = Recent(len, heaviest=6, most=2)
    for key in (1, 2, 1, 3, 1, 9, 9, 1):
        assert recent.of(key, lambda key=key: make(key)) == [key] * key  # type: ignore[misc]
    assert made == [1, 2, 3, 9, 1]
    assert len(recent) == 1
