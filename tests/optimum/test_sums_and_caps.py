"""Proofs of weighted sums and under caps: what going through every mapping finds, under every model."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from dse.core.certificate import INFEASIBLE, OPTIMAL
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.domains.levels.problem import MachineProblem
from dse.optimum import certify, verify
from dse.optimum.ties import settle_ties
from dse.optimum.verification import failed_checks
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from tests.domains.levels.proof.test_certify_machines import MAX, random_machine
from tests.optimum import certify_cases, certify_loopnest_cases
from tests.optimum.certify_cases import every_pair, real_problem
from tests.optimum.small_proofs import begin_with_few_points


def few_mappings() -> Iterator[AnyProblem]:
    """Small problems whose fronts have more than one point."""
    for name in ("product", "slow-noc"):
        for cases in (certify_cases.SMALL, certify_loopnest_cases.SMALL):
            yield next(case for case in cases if case.name == name).problem()
    rng = np.random.default_rng(3)
    layer = Layer("CONV", 4, 2, 9, 1, 3, 1, stride=(2, 1))
    machines = (MachineProblem(layer, random_machine(rng)) for _ in range(200))
    # Machines whose fastest mapping takes more energy than the cheapest.
    yield from [one for one in machines if one.space.vectors <= MAX][:3]


def objectives(problem: AnyProblem, cycles: FloatArray, joules: FloatArray) -> list[str]:
    """Sums of slopes around that of the fastest and the cheapest mapping, and caps at and between points."""
    seconds = cycles / problem.criteria.hertz
    slope = joules.min() / seconds.min()
    middle = float(np.sort(joules)[len(joules) // 2])
    return [
        *(f"energy + {float(slope * by)!r} * latency" for by in (0.02, 0.3, 1.0, 7.0)),
        f"latency where energy <= {float(joules.min())!r}",
        f"latency where energy <= {middle!r}",
        f"energy where latency <= {float(seconds.min())!r}",
        f"edp where energy <= {middle!r} and latency <= {float(np.median(seconds))!r}",
        f"energy where latency <= {float(seconds.min()) * 0.9!r}",
        "energy^2 * latency",
        "energy * latency^1.5",
    ]


@pytest.mark.parametrize("number", range(7))
def test_sums_and_capped_figures_are_proven_as_every_mapping_says(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with_few_points(monkeypatch)
    problem = list(few_mappings())[number]
    cycles, energy = every_pair(problem)
    costs = SimpleNamespace(cycles=cycles, energy_nj=energy)
    for objective in objectives(problem, cycles, energy * 1e-9):
        losses = objective_named(objective).value(costs, problem.criteria.hertz)
        found = certify(problem.with_changes(objective=objective), cache=False)
        assert found.lower_bound == losses.min(), objective
        assert found.status == (OPTIMAL if np.isfinite(losses.min()) else INFEASIBLE)
        assert (found.best is None) == (found.status == INFEASIBLE)


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_of_equal_losses_the_proof_has_the_other_figures_least(model: str) -> None:
    cases = certify_cases if model == "maestro" else certify_loopnest_cases
    problem = next(case for case in cases.SMALL if case.name == "slow-noc").problem()
    cycles, energy = every_pair(problem)
    cap = float(np.median(energy)) * 1e-9
    capped = problem.with_changes(objective=f"latency where energy <= {cap!r}")
    found = settle_ties(capped, certify(capped, cache=False), cache=False)
    assert found.best is not None
    fastest = cycles[energy * 1e-9 <= cap].min()
    assert found.best.energy_nj == energy[cycles == fastest].min()


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("objective", ["energy + 40 * latency", "latency where energy <= 0.00041"])
def test_checks_in_other_code_pass_for_sums_and_caps(model: str, objective: str) -> None:
    problem = real_problem("resnet18:5", "edge", objective, model)
    found = certify(problem, cache=False)
    assert found.status in (OPTIMAL, INFEASIBLE)
    assert failed_checks(verify(problem, found)) == []


def test_exponents_that_leave_the_range_of_floats_are_refused_on_machines_of_levels() -> None:
    machine = random_machine(np.random.default_rng(0))
    with pytest.raises(InputError, match="add up to at most 8 can be certified, got 9"):
        certify(MachineProblem(Layer.gemm(2, 2, 2), machine, "energy^9"))
