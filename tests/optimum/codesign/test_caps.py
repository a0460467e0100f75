"""Caps on the network's run, held against going through all machines and mappings."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign import by_shares
from dse.optimum.verification.codesign import verify_codesign
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import (
    LAYERS,
    every_point,
    every_sum_of_network,
    least_of_network,
    sums_of_network,
)
from tests.optimum.codesign.test_codesign import KB, small
from tests.optimum.codesign.test_fronts import front_of_machine

TWO = LAYERS[:2]
CAP = 1.62e-7


@pytest.fixture(scope="module")
def machines_choices() -> FloatArray:
    """Energy in nJ and cycles (n, 2) of the network with all choices that no other is better than."""
    space = small()
    return np.array(
        [cost for point in every_point(space) for cost in sums_of_network(LAYERS, space.machine(point))]
    )


@pytest.mark.parametrize(
    ("objective", "share"), [("edp", 0.02), ("edp", 0.3), ("energy", 0.3), ("energy + 0.001 * latency", 0.8)]
)
def test_the_best_within_a_cap_on_latency_is_that_of_going_through_all(
    objective: str, share: float, machines_choices: FloatArray, proofs: Path
) -> None:
    space, every = small(), machines_choices
    cap = float(np.quantile(every[:, 1], share)) * 1e-9
    found = dse.codesign(LAYERS, space, objective, max_latency=cap, cache=proofs)
    kept = every[every[:, 1] * 1e-9 <= cap * (1 + 1e-12)]
    assert (found.status, found.gap) == ("optimal", 0)
    assert found.best["totals"]["latency"] <= cap * (1 + 1e-12)
    assert found.best["value"] == pytest.approx(least_of_network(kept.tolist(), 1e-9, objective), rel=1e-12)


def two_chips() -> HardwareSpace:
    return gemmini([2, 4], KB[1:2], KB[1:2])


@cache
def choices_of_two() -> FloatArray:
    """Energy in nJ and cycles (n, 2) of two layers with all choices of mappings on both chips."""
    space = two_chips()
    return np.concatenate([every_sum_of_network(TWO, space.machine(point)) for point in every_point(space)])


@pytest.mark.parametrize(("objective", "share"), [("edp", 0.1), ("edp", 0.6), ("latency", 0.6)])
def test_a_cap_on_power_has_a_bound_below_every_run_that_keeps_it(
    objective: str, share: float, proofs: Path
) -> None:
    space, every = two_chips(), choices_of_two()
    power = every[:, 0] / every[:, 1]
    cap = float(np.quantile(power, share))
    least = least_of_network(every[power <= cap].tolist(), 1e-9, objective)
    found = dse.codesign(TWO, space, objective, max_power=cap, cache=proofs)
    assert found.lower_bound <= least * (1 + 1e-9)
    assert found.ended
    if found.best is not None:
        assert found.best["value"] >= least * (1 - 1e-9)
        assert found.best["totals"]["mean_power_mw"] <= cap * 1e3 * (1 + 1e-12)
    assert found.status != "infeasible"


def test_a_cap_that_the_best_keeps_changes_nothing(proofs: Path) -> None:
    free = dse.codesign(LAYERS, small(), "edp", cache=proofs)
    totals = free.best["totals"]
    caps = {"max_latency": totals["latency"], "max_power": totals["mean_power_mw"] / 1e3 * (1 + 1e-9)}
    found = dse.codesign(LAYERS, small(), "edp", **caps, cache=proofs)
    assert (found.status, found.best["value"]) == ("optimal", free.best["value"])
    assert {name: found.to_dict()[name] for name in caps} == caps


@pytest.mark.usefixtures("few_draws")
def test_that_no_run_is_so_fast_is_proven(proofs: Path) -> None:
    fastest = dse.codesign(LAYERS, small(), "latency", cache=proofs).lower_bound
    found = dse.codesign(LAYERS, small(), "energy", max_latency=fastest * 0.999, cache=proofs)
    assert (found.status, found.best, found.lower_bound) == ("infeasible", None, math.inf)
    assert all(check.passed for check in verify_codesign(found))
    assert fastest * 0.999 < found.least_latency <= fastest * (1 + 1e-9)
    just = dse.codesign(LAYERS, small(), "energy", max_latency=fastest, cache=proofs)
    assert (just.status, just.best["totals"]["latency"]) == ("optimal", fastest)


def settled_by_fronts(proofs: Path) -> Any:
    """A result where a machine took more than lines."""
    space = chips(num_pes=[16], l1_size=[8, 64], l2_size=[1024])
    found = dse.codesign(LAYERS, space, "energy", max_latency=CAP, cache=proofs)
    assert any(box.get("fronts") for box in found.certificate["boxes"])
    return found


def test_what_fronts_settle_is_the_best_of_the_layers_fronts(proofs: Path) -> None:
    found = settled_by_fronts(proofs)
    every = np.concatenate(
        [front_of_machine(LAYERS, found.space, point) for point in every_point(found.space)]
    )
    assert found.status == "optimal"
    assert found.best["value"] == pytest.approx(every[every[:, 0] <= CAP, 1].min(), rel=1e-12)


def test_more_sums_than_are_gone_through_leave_a_gap(proofs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = settled_by_fronts(proofs)
    monkeypatch.setattr("dse.optimum.codesign.caps.MOST", 1)
    found = dse.codesign(LAYERS, whole.space, "energy", **whole.caps, cache=False)
    assert (found.status, found.ended) == ("bounded", True)
    assert found.lower_bound < whole.lower_bound <= found.best["value"]


@pytest.mark.usefixtures("few_draws")
def test_what_fronts_settle_is_checked_by_other_code(proofs: Path) -> None:
    found = settled_by_fronts(proofs)
    assert all(check.passed for check in verify_codesign(found))

    def failing(**changes: Any) -> list[str]:
        return [check.name for check in verify_codesign(replace(found, **changes)) if not check.passed]

    raised = copy.deepcopy(found.certificate)
    next(box for box in raised["boxes"] if box.get("fronts"))["bound"] *= 1.01
    assert failing(certificate=raised) == ["bounds follow from the lemmas"]
    bold = copy.deepcopy(found.certificate)
    for box in bold["boxes"]:
        box["fronts"] = [[(cycles, 9 * nj) for cycles, nj in front] for front in box.get("fronts", [])]
    assert "random mappings are not beyond the fronts" in failing(certificate=bold)
    late = {"max_latency": found.caps["max_latency"] / 2}
    assert "the best machine and mappings cost what is claimed" in failing(caps=late)


def test_a_cap_goes_with_shares(proofs: Path) -> None:
    work = by_shares(LAYERS[:1], [(LAYERS[1:], 0.3)])
    space = small()
    every = np.array(
        [
            cost
            for point in every_point(space)
            for cost in sums_of_network(work.layers, space.machine(point), work.times)
        ]
    )
    cap = float(np.median(every[:, 1])) * 1e-9
    found = dse.codesign(work, space, "energy", max_latency=cap, cache=proofs)
    kept = every[every[:, 1] * 1e-9 <= cap * (1 + 1e-12)]
    assert found.status == "optimal"
    assert found.best["value"] == pytest.approx(least_of_network(kept.tolist(), 1e-9, "energy"), rel=1e-9)


def test_a_time_limit_leaves_a_bound(proofs: Path, tmp_path: Path) -> None:
    whole = settled_by_fronts(proofs)
    found = dse.codesign(LAYERS, whole.space, "energy", **whole.caps, time_limit=1e-6, cache=tmp_path)
    assert found.status == "bounded"
    assert not found.ended
    assert found.lower_bound <= whole.lower_bound


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_latency": 0}, "max_latency must be a finite number above 0"),
        ({"max_power": -1}, "max_power must be a finite number above 0"),
        ({"max_power": 1, "searcher": "random", "budget": 10}, "are of proofs"),
    ],
)
def test_caps_that_are_none_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        dse.codesign(LAYERS, small(), **changes)


@pytest.mark.usefixtures("few_draws")
def test_the_command_says_the_caps_and_what_they_leave(dse: Dse, given: tuple[str, ...]) -> None:
    free = dse("codesign", *given, "--json").json["best"]["totals"]
    capped = ("--max-latency", repr(free["latency"] * 0.9))
    found = dse("codesign", *given, *capped, "--objective", "energy", "--verify")
    assert found.code == 0 or "keeps the caps" in found.out
    assert "latency at most" in found.out
    none = dse("codesign", *given, "--max-latency", "1e-9")
    assert none.code == 1
    said = "no run on any of the machines keeps the caps, that is proven: every run takes at least"
    assert said in " ".join(none.out.split())
    assert "--max-latency must be" in dse("codesign", *given, "--max-latency", "0").refused()
    assert "--max-power must be" in dse("codesign", *given, "--max-power", "nan").refused()
    assert "of one objective" in dse("codesign", *given, *capped, "--objective", "edp,area").refused()
    search = ("--searcher", "random", "--budget", "9")
    assert "a search has none" in dse("codesign", *given, *capped, *search).refused()


def test_what_is_open_under_a_cap_on_power_is_said(dse: Dse, given: tuple[str, ...]) -> None:
    power = dse("codesign", *given, "--objective", "energy", "--json").json["best"]["totals"]["mean_power_mw"]
    found = dse("codesign", *given, "--objective", "energy", "--max-power", repr(power / 1e3 * 0.99))
    assert "mean power at most" in found.out
    assert "slower mappings alone may keep the caps" in " ".join(found.out.split())


def test_a_cap_on_power_that_no_run_keeps_is_answered_with_the_least_that_one_does(
    dse: Dse, given: tuple[str, ...]
) -> None:
    none = dse("codesign", *given, "--max-power", "1e-9")
    assert none.code == 1
    assert "no run that keeps the caps was found: the least mean power" in " ".join(none.out.split())


def test_the_least_power_of_runs_is_what_a_run_keeps(proofs: Path) -> None:
    least = dse.codesign(LAYERS, small(), "energy", max_power=1e-9, cache=proofs).least_power
    kept = dse.codesign(LAYERS, small(), "energy", max_power=least * (1 + 1e-9), cache=proofs)
    assert kept.best["totals"]["mean_power_mw"] == pytest.approx(least * 1e3, rel=1e-8)
    assert dse.codesign(LAYERS, small(), "energy", max_power=least * 0.999, cache=proofs).best is None
