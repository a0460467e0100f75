"""Several networks on one machine, weighed by shares."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.core.layer import Layer
from dse.optimum.codesign import by_shares, together
from dse.optimum.codesign.fronts import codesign_front
from dse.optimum.verification.codesign import verify_codesign
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.codesign.spaces import gemmini
from tests.optimum.codesign.enumerated import LAYERS, every_point, least_of_network, sums_of_network
from tests.optimum.codesign.test_codesign import KB, small

FIRST, SECOND = LAYERS[:1], LAYERS[1:]


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("objective", ["edp"])
def test_the_best_for_shares_is_that_of_going_through_all(objective: str, proofs: Path) -> None:
    work, space = by_shares(FIRST, [(SECOND, 0.3)]), small()
    assert work.times == pytest.approx([0.7 * 2, 0.3, 0.3 * 3])
    sums = [sums_of_network(LAYERS, space.machine(point), work.times) for point in every_point(space)]
    found = dse.codesign(work, space, objective, cache=proofs)
    assert found.status == "optimal"
    assert found.best["value"] == pytest.approx(min(least_of_network(one, 1e-9, objective) for one in sums))
    assert all(check.passed for check in verify_codesign(found))


def test_the_totals_are_the_weighted_sums_of_a_run_of_each(proofs: Path) -> None:
    best = dse.codesign(by_shares(FIRST, [(SECOND, 0.3)]), small(), "edp", cache=proofs).best
    first, second = best["networks"]
    assert (first["share"], second["share"]) == (pytest.approx(0.7), 0.3)
    for figure in ("latency", "energy"):
        assert best["totals"][figure] == pytest.approx(0.7 * first[figure] + 0.3 * second[figure])
    assert best["totals"]["edp"] == pytest.approx(best["totals"]["latency"] * best["totals"]["energy"])
    assert best["value"] == pytest.approx(best["totals"]["edp"])
    assert second["cycles"] == sum(one["repeats"] * one["cycles"] for one in best["layers"][1:])


def test_shares_of_tenths_are_as_good_as_runs(proofs: Path) -> None:
    shares = dse.codesign(by_shares(FIRST, [(SECOND, 0.25)]), small(), "edp", cache=proofs)
    runs = dse.codesign(together([(FIRST, 3), (SECOND, 1)]), small(), "edp", cache=proofs)
    assert shares.best["parameters"] == runs.best["parameters"]
    assert 16 * shares.best["value"] == pytest.approx(runs.best["value"])
    assert runs.best["networks"][0]["runs"] == 3
    assert runs.best["networks"][0]["latency"] == pytest.approx(shares.best["networks"][0]["latency"])


def test_a_front_is_of_shares_too(proofs: Path) -> None:
    space = gemmini([2], KB[:2], KB[1:2], area_mm2="scratchpad_kb")
    work = by_shares(FIRST, [(SECOND, 0.3)])
    found = codesign_front(work, space, "latency, energy", exact=True, cache=proofs)
    least = dse.codesign(work, space, "energy", cache=proofs).best["value"]
    assert min(point["totals"]["energy"] for point in found.points) == pytest.approx(least)


OTHER = (Layer.fc(6, 8, name="other"),)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([(SECOND, 1)], "must be below 1, got 1"),
        ([(SECOND, 0.0)], "must be a finite number above 0"),
        ([(SECOND, 0.6), (OTHER, 0.4)], "add up to 1: they must be below 1"),
        ([(SECOND, 0.2), (SECOND, 0.2)], "is there twice"),
        ([(FIRST, 0.2)], "is there twice"),
        ([(by_shares(FIRST, [(SECOND, 0.5)]), 0.2)], "several networks by shares"),
    ],
)
def test_shares_that_are_none_are_refused(others: list, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=said):
        by_shares(FIRST, others)


def test_a_searcher_has_whole_runs_alone() -> None:
    with pytest.raises(InputError, match="whole runs"):
        dse.codesign(by_shares(FIRST, [(SECOND, 0.5)]), small(), "edp", searcher="random", budget=5)


def test_the_command_weighs_networks(dse: Dse, given: tuple[str, ...]) -> None:
    found = dse("codesign", *given, "--also", "mlp=0.25")
    assert "0.75 x tiny + 0.25 x mlp" in found.out
    assert "weighted sum:" in found.out
    assert "a run of each network" in found.out
    for also, said in (
        (("mlp=1.5",), "above 0 and below 1, got 'mlp=1.5'"),
        (("mlp=-0.5",), "above 0 and below 1"),
        (("nothing=0.5",), "unknown network 'nothing'"),
        (("mlp=0.5", "mlp=0.2"), "network 'mlp' is there twice"),
        (("mlp=0.5", "alexnet=0.5"), "add up to 1"),
        (("mlp=0.5", "alexnet"), "has runs and shares"),
        ((f"{given[1]}=0.5",), "is there twice"),
    ):
        options = [option for one in also for option in ("--also", one)]
        assert said in dse("codesign", *given, *options).refused()
