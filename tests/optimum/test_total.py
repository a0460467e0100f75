"""The least product of a whole network's totals: what all choices of its layers' mappings come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce

import numpy as np
import pytest

from dse.core.certificate import Certificate
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.optimum import certify
from dse.optimum.network import certify_network
from dse.optimum.network_options import NetworkOptions, NetworkTime
from tests.optimum import certify_cases, certify_loopnest_cases
from tests.optimum.certify_cases import every_pair

NAMES = ("product", "slow-noc", "pointwise")


def three_layers(model: str, objective: str) -> dict[str, AnyProblem]:
    """Three small layers with their repeats."""
    cases = certify_cases if model == "maestro" else certify_loopnest_cases
    small = {case.name: case for case in cases.SMALL}
    return {
        name: replace(
            small[name].problem(objective), layer=replace(small[name].layer, repeats=times, name=name)
        )
        for name, times in zip(NAMES, (1, 4, 2), strict=True)
    }


@cache
def all_totals(model: str) -> tuple[np.ndarray, np.ndarray]:
    """By brute force: every sum of the layers' totals, but for those that another is better than in both."""

    def add(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        sums = np.unique((one[:, :, np.newaxis] + two[:, np.newaxis]).reshape(2, -1), axis=1)
        least = np.minimum.accumulate(sums[1])
        return sums[:, np.concatenate([[True], least[1:] < least[:-1]])]

    totals = []
    for problem in three_layers(model, "edp").values():
        cycles, energy = every_pair(problem)
        # Of mappings that are as fast, the one that takes the least energy.
        front = np.unique(cycles, return_index=True)[1]
        pair = np.stack([cycles * problem.accelerator.cycle_seconds, energy * 1e-9])[:, front]
        totals.append(pair * problem.layer.repeats)
    seconds, joules = reduce(add, totals)
    return seconds, joules


def least_of_all_choices(model: str, objective: str) -> float:
    return min(
        objective_named(objective).total({"energy": float(e), "latency": float(d)})
        for d, e in zip(*all_totals(model), strict=True)
    )


@pytest.mark.parametrize(
    ("model", "objective"),
    [("loopnest", "edp"), ("maestro", "energy * latency^2")],
)
def test_the_least_total_is_that_of_all_choices_of_mappings(model: str, objective: str) -> None:
    assert_the_least_total(model, objective)


def assert_the_least_total(model: str, objective: str) -> None:
    """What is proven of three layers is what all choices of their mappings come to."""
    problems = three_layers(model, objective)
    data = certify_network("small", "any", problems, NetworkOptions(cache=False, check=True))
    assert data["status"] == "optimal"
    assert data["gap"] == 0.0
    assert data["totals"][objective] == pytest.approx(least_of_all_choices(model, objective), rel=1e-11)
    assert data["totals"][objective] <= data["layer_by_layer"][objective]
    assert all(check["passed"] for check in data["total"]["verified"])


def test_a_total_whose_proofs_ran_out_of_time_has_a_bound_below_the_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dse.optimum.lines.MAX_LINES", 20)
    problems = three_layers("loopnest", "edp")
    least = least_of_all_choices("loopnest", "edp")
    data = certify_network("small", "any", problems, NetworkOptions(cache=False, time_limit=1e-9))
    assert data["status"] in ("bounded", "optimal")
    assert 0 < data["lower_bound"] <= least * (1 + 1e-12) <= data["totals"]["edp"] * (1 + 2e-12)


def test_a_total_ends_where_the_gap_is_enough() -> None:
    problems = three_layers("maestro", "energy * latency^2")
    least = certify_network("small", "any", problems, NetworkOptions(cache=False))["lower_bound"]
    gaps: list[float] = []
    # A gap that the layers' own proofs leave, one that needs lines, and one that needs all of them.
    for gap, by_lines in ((0.5, False), (1e-4, True), (0.0, True)):
        data = certify_network(
            "small", "any", problems, NetworkOptions(cache=False, gap=gap), observe_total=gaps.append
        )
        assert ("total" in data, data["within"]) == (by_lines, gap)
        assert data["gap"] <= gap
        assert data["lower_bound"] <= least <= data["totals"]["energy * latency^2"] * (1 + 1e-12)
        assert (data["status"] == "optimal") == (gap == 0)
    assert gaps[-1] == 0.0
    assert max(gaps) > 1e-4


def test_the_time_of_a_network_is_shared_by_all_its_proofs_and_told() -> None:
    time = NetworkTime(60.0, 20.0, parts=4)
    assert time.of_next("one") == 5.0
    proof = certify(next(iter(three_layers("loopnest", "edp").values())), cache=False)
    time.note("one", replace(proof, seconds=8.0, cached=False))
    time.note("one", replace(proof, seconds=9.0, cached=True))
    time.parts -= 1
    assert (time.of_next("two"), time.seconds, time.over) == (4.0, 8.0, False)
    assert NetworkTime(60.0, None, 4, {"one": 50.0}).of_next("one") == 10.0
    assert NetworkTime(None, None, 4).of_next("one") is None
    problems = three_layers("loopnest", "edp")
    data = certify_network("small", "any", problems, NetworkOptions(cache=False, in_all=1e-9))
    assert data["time_limit"] == 1e-9
    assert data["seconds"] >= sum(entry["certificate"]["seconds"] for entry in data["layers"]) > 0
    assert 0 < data["lower_bound"] <= least_of_all_choices("loopnest", "edp") * (1 + 1e-12)


def test_a_check_of_a_total_fails_where_its_bound_says_too_much() -> None:
    from dse.optimum.total import least_total
    from dse.optimum.total_check import check_total

    problems = three_layers("maestro", "edp")
    own = [certify(problem, cache=False) for problem in problems.values()]

    def prove(asked: Sequence[tuple[str, AnyProblem]]) -> Iterator[Certificate]:
        return (certify(problem, cache=False) for _, problem in asked)

    found = least_total(problems, own, prove)
    assert found is not None
    data = found.to_dict()
    assert check_total(problems, data, own, found.proofs).passed
    assert not check_total(
        problems, {**data, "lower_bound": data["lower_bound"] * 1.001}, own, found.proofs
    ).passed
