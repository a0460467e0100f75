"""Proofs of small problems that have all options at once, beside what pricing every mapping finds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.widths import Widths
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof import search
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError
from tests.domains.levels.proof.test_certify_machines import MAX, least, random_machine, with_waits
from tests.domains.levels.test_held import held
from tests.domains.levels.test_uneven import open_levels
from tests.domains.levels.test_widths import with_widths
from tests.optimum.any_cases import count, least_loss, random_problem
from tests.optimum.limit_cases import with_random_limits
from tests.optimum.small_proofs import begin_with_few_points
from tests.optimum.test_limits import least_of_factors

P = TypeVar("P", bound=AnyProblem)
MOST = 30_000
OBJECTIVES = ("latency", "energy", "edp", "energy * latency^2", "energy + 0.25 * latency")
NUMBER = 200
CHECKED = 4
"""Every so many problems are verified too."""


def of_clusters(model: str, rng: np.random.Generator) -> Problem | None:
    """Dilation, words of widths, data held, two parallel dims allowed, limits; None if there are too many."""
    objective = str(rng.choice(OBJECTIVES[: 5 if model == "loopnest" else 4]))
    problem = random_problem(rng, objective, MOST, model)
    layer, machine = problem.layer, problem.accelerator
    if rng.random() < 0.3 and layer.type != "GEMM":
        rows, columns = rng.integers(1, 3, 2).tolist()
        size = layer.Y + (rows - 1) * (layer.R - 1), layer.X + (columns - 1) * (layer.S - 1)
        layer = replace(layer, dilation=(rows, columns), Y=size[0], X=size[1])
    if rng.random() < 0.3 and model == "loopnest":
        bits = {name: int(rng.choice([2, 4, 8, 16])) for name in "WIO"}
        machine = replace(machine, bits=Widths.read(bits, "bits"), word_bits=8)
    if rng.random() < 0.2 and model == "loopnest":
        machine = replace(machine, holds=tuple(name for name in "WIO" if rng.random() < 0.5))
    fixed: dict[str, Any] = dict(problem.fixed)
    for level in ("outer", "inner"):
        if rng.random() < 0.25:
            fixed[f"{level}.parallel"] = rng.choice(list(MAPPED_DIMS), 2, replace=False).tolist()
    tiles = "factors" if rng.random() < 0.4 else "any"
    try:
        problem = problem.with_changes(layer=layer, accelerator=machine, fixed=fixed, tiles=tiles)
    except InputError:
        return None
    problem = with_random_limits(problem, rng) if rng.random() < 0.35 else problem
    return problem if tiles == "factors" or count(problem) <= 3 * MOST else None


def of_levels(rng: np.random.Generator) -> MachineProblem | None:
    """Waits, words of widths, data held, uneven nests, any tiles; None if there are too many mappings."""
    machine: Machine = random_machine(rng) if rng.random() < 0.7 else open_levels(rng)
    for share, change in ((0.4, with_waits), (0.35, with_widths), (0.25, held)):
        machine = change(machine, rng) if rng.random() < share else machine
    rows, columns, stride = rng.integers(1, 4, 3).tolist()
    filters, channels, inputs = rng.integers(1, 7, 3).tolist()
    layer = Layer.gemm(filters, channels, inputs)
    if rng.random() < 0.5:
        layer = Layer("CONV", filters, channels, rows + 4, columns, rows, 1, stride=(stride, 1))
    objective = str(rng.choice([*OBJECTIVES, "energy where latency <= 4e-8"]))
    options: dict[str, Any] = {"fixed": {"nests": "uneven"}} if rng.random() < 0.35 else {}
    options |= {"tiles": "any"} if rng.random() < 0.35 else {}
    try:
        problem = MachineProblem(layer, machine, objective, "timeloop", **options)
    except InputError:
        return None
    return problem if problem.space.vectors <= MAX else None


def agrees(number: int, problem: P, least_of: Callable[[P], float]) -> str:
    """The status of the proof, if it is what all mappings say and, of every so many, its check passes."""
    found, least = certify(problem, cache=False), least_of(problem)
    best = found.best.loss if found.best else math.inf
    assert (found.lower_bound, best) == pytest.approx((least, least), rel=1e-9), (number, problem)
    assert number % CHECKED or not failed_checks(verify(problem, found)), (number, problem)
    return found.status


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_the_optimum_of_a_problem_with_all_options_is_that_of_all_its_mappings(model: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(NUMBER):
        if problem := of_clusters(model, np.random.default_rng([29, number])):
            least_of = least_of_factors if problem.tiles == "factors" else least_loss
            seen[agrees(number, problem, least_of)] += 1
    assert seen["optimal"] > NUMBER / 2
    assert seen["infeasible"]


def test_so_it_is_on_machines_of_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_few_points(monkeypatch)
    monkeypatch.setattr(search, "good_mapping", lambda *_: None)
    seen: Counter[str] = Counter()
    for number in range(NUMBER):
        if problem := of_levels(np.random.default_rng([29, number])):
            seen[agrees(number, problem, least)] += 1
    assert seen["optimal"] > NUMBER / 4
    assert seen["infeasible"]
