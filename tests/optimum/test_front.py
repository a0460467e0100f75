"""Exact fronts of latency and energy: those of going through every mapping, and of all choices of layers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.problem import AnyProblem
from dse.optimum.front import Front, Step, certify_front, pairs_covered, verify_front
from dse.optimum.network_front import certify_network_front, summed_fronts, thinned_points
from dse.optimum.network_options import NetworkOptions
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.optimum import certify_cases, certify_loopnest_cases
from tests.optimum.certify_cases import every_pair, real_problem
from tests.optimum.small_proofs import begin_with_few_points
from tests.optimum.test_sums_and_caps import few_mappings
from tests.optimum.test_total import three_layers

BOTH = "energy, latency"
FRONTS = ("pointwise", "depthwise", "slow-noc", "padded", "strided", "nothing-fits")


def front_of_all(problem: AnyProblem) -> list[tuple[float, float]]:
    """The cycles and energies that no mapping has better in both, by brute force."""
    cycles, energy = every_pair(problem)
    pairs = list(zip(cycles.tolist(), energy.tolist(), strict=True))
    return sorted(one for one in pairs if not any(other != one and _no_worse(other, one) for other in pairs))


def _no_worse(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]


def small_problems() -> Iterator[AnyProblem]:
    """Of 1 to 7 points, and one that has no feasible mapping; on machines of levels too."""
    for cases in (certify_cases.SMALL, certify_loopnest_cases.SMALL):
        yield from (case.problem(BOTH) for case in cases if case.name in FRONTS)
    yield from (problem.with_changes(objective=BOTH) for problem in list(few_mappings())[5:])


@pytest.mark.parametrize(
    "problem", list(small_problems()), ids=lambda one: f"{one.model.name}-{one.layer.type}"
)
def test_the_front_is_that_of_all_mappings(problem: AnyProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_few_points(monkeypatch)
    # The front itself is held against every mapping.
    monkeypatch.setattr("dse.optimum.front.RANDOM_MAPPINGS", 2000)
    monkeypatch.setattr("dse.optimum.verification.RANDOM_MAPPINGS", 2000)
    found = certify_front(problem, cache=False)
    if not front_of_all(problem):
        assert (found.status, found.points) == ("infeasible", ())
        return
    assert found.status == "optimal"
    assert [(point.cycles, point.energy_nj) for point in found.points] == front_of_all(problem)
    assert all(check.passed for check in verify_front(found))


def test_a_front_whose_time_ran_out_says_what_is_left_and_goes_on(tmp_path: Path) -> None:
    problem = real_problem("resnet18:11", "edge", BOTH, "loopnest")
    whole = certify_front(problem, cache=False)
    assert len(whole.points) > 3
    first = certify_front(problem, 1e-9, cache=tmp_path)
    assert first.status == "bounded"
    assert first.open is not None
    assert first.open["energy"] <= whole.points[-1].energy_nj * 1e-9
    assert first.open["gap"] is None or first.open["gap"] > 0
    again = first
    for _ in range(2):
        again = certify_front(problem, cache=tmp_path)
    assert again.status == "optimal"
    assert again.points == whole.points
    assert all(step.certificate.cached for step in again.steps)


def test_a_check_finds_a_front_that_lacks_a_point() -> None:
    problem = next(one for one in certify_loopnest_cases.SMALL if one.name == "padded").problem(BOTH)
    found = certify_front(problem, cache=False)
    assert len(found.points) == 7
    lacking = Front(problem, (found.steps[0], *found.steps[2:]))
    assert [check.passed for check in verify_front(lacking)] == [True, False, False]
    step = found.steps[1]
    false = replace(step.certificate, lower_bound=0.5 * step.certificate.lower_bound)
    untrue = Front(problem, (found.steps[0], Step(step.objective, false), *found.steps[2:]))
    assert not verify_front(untrue)[0].passed


def test_what_is_on_or_above_a_staircase_is_covered() -> None:
    points = certify_front(three_layers("maestro", BOTH)["product"], cache=False).points
    cycles = np.array([point.cycles for point in points])
    energy = np.array([point.energy_nj for point in points])
    assert pairs_covered(points, cycles, energy).all()
    assert not pairs_covered(points, cycles, energy * (1 - 1e-9)).any()
    assert not pairs_covered(points, cycles - 1, energy).any()
    assert pairs_covered(points, cycles + 1, energy + 1).all()


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_networks_front_is_that_of_all_choices_of_its_layers_mappings(model: str) -> None:
    problems = three_layers(model, BOTH)
    data = certify_network_front("small", "any", problems, NetworkOptions(cache=False))
    totals = {(0.0, 0.0)}
    for problem in problems.values():
        times = problem.layer.repeats
        own = [(times * c, times * e * 1e-9) for c, e in front_of_all(problem)]
        totals = {(s + more, j + spent) for s, j in totals for more, spent in own}
    left = sorted(one for one in totals if not any(o != one and _no_worse(o, one) for o in totals))
    found = [(point["latency"] * problem.criteria.hertz, point["energy"]) for point in data["points"]]
    assert (data["status"], data["epsilon"]) == ("optimal", 0.0)
    np.testing.assert_allclose(found, left, rtol=1e-12)
    fronts = [entry["points"] for entry in data["layers"]]
    for point in data["points"]:
        chosen = [front[place] for front, place in zip(fronts, point["layers"], strict=True)]
        repeats = [entry["repeats"] for entry in data["layers"]]
        spent = sum(times * one["energy"] for times, one in zip(repeats, chosen, strict=True))
        assert spent == pytest.approx(point["energy"], rel=1e-12)


def test_the_fronts_of_a_network_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def taking_a_second(problem: AnyProblem, limit: float, **options: object) -> Front:
        limits.append(limit)
        front = certify_front(problem, cache=False)
        first = replace(front.steps[0].certificate, seconds=1.0 - front.own_seconds, cached=False)
        return replace(front, steps=(*front.steps, Step("energy", first)))

    monkeypatch.setattr("dse.optimum.network_front.certify_front", taking_a_second)
    certify_network_front(
        "small", "any", three_layers("loopnest", BOTH), NetworkOptions(in_all=7.0, cache=False)
    )
    assert limits == pytest.approx([7 / 3, 6 / 2, 5])


def random_front(rng: np.random.Generator, points: int) -> tuple[FloatArray, FloatArray]:
    seconds = np.sort(rng.uniform(1, 3, points))
    return seconds, np.sort(rng.uniform(1, 3, points))[::-1]


def test_a_front_of_too_many_points_is_thinned_to_within_the_epsilon_that_it_states() -> None:
    rng = np.random.default_rng(1)
    fronts = [random_front(rng, 100) for _ in range(4)]
    exact, few = summed_fronts(fronts, most=10**6), summed_fronts(fronts, most=40)
    assert len(exact) > 1000 >= 40 >= len(few) > 10
    assert exact.epsilon == 0.0
    assert 0 < few.epsilon < 0.1
    for seconds, joules in zip(exact.cycles, exact.energy, strict=True):
        near = (few.cycles <= seconds * (1 + few.epsilon)) & (few.energy <= joules)
        assert near.any()
    assert thinned_points(exact, len(exact)) is exact


def test_a_front_is_shown_written_and_verified(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "mlp:1", "--accelerator", "eyeriss-small", "--objective", "latency,energy")
    outcome = dse("certify", *where, "--verify", "--out", str(tmp_path))
    assert outcome.code == 0
    assert "exact front by 2 proofs" in outcome.out
    assert outcome.out.count("verified: ") == 3
    assert (tmp_path / "front.png").stat().st_size > 5000
    data = json.loads((tmp_path / "front.json").read_text())
    assert (data["status"], data["layer"]) == ("optimal", "mlp:1")
    (point,) = data["points"]
    assert point["latency"] == point["cycles"] / 1e9
    page = (tmp_path / "front.html").read_text(encoding="utf-8")
    assert page.count("<circle") == page.count("<details") == 1
    assert f"{point['latency'] * 1e3:.5f} ms" in page
    assert page.count("mlp:1") == 3
    assert "<script" not in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--objective", "latency,power"), "the front of 'latency, energy' can be certified"),
        (("--objective", "latency,energy,area"), "the front of 'latency, energy' can be certified"),
        (
            ("--objective", "latency,energy", "--space", "paper"),
            "of space 'default' and one accelerator only",
        ),
        (("--objective", "latency,energy,"), "lacks a figure"),
        (("--objective", "latency,energy", "--format", "nest", "--out", "o"), "are of one objective"),
    ],
)
def test_what_has_no_exact_front_is_refused_in_a_line(dse: Dse, options: tuple[str, ...], said: str) -> None:
    outcome = dse("certify", "--layer", "resnet18:3", "--accelerator", "edge", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_of_several_objectives_the_optimum_is_no_single_one() -> None:
    from dse.optimum import certify

    with pytest.raises(InputError, match="2 objectives"):
        certify(real_problem("resnet18:5", "edge", BOTH))
