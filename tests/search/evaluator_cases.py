"""Problems and evaluators for the tests of the gate."""

from __future__ import annotations

import numpy as np

from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.search.record import COLUMNS, Record
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")


TINY = Problem(
    load_layer("mobilenet_v2:1"),
    PRESETS["edge"],
    cost_model="maestro",
    fixed={gene.name: "K" for gene in PROBLEM.space.genes if gene.kind == "categorical"}
    | {gene.name: "KCYX" for gene in PROBLEM.space.genes if gene.kind == "permutation"}
    | {f"{level}.tile.{dim}": 1 for level in ("outer", "inner") for dim in "KCY"}
    | {"cluster": 16, "inner.tile.X": 1},
)


RNG = np.random.default_rng


def points(n: int, seed: int = 0, problem: Problem = PROBLEM) -> np.ndarray:
    return problem.space.sample(RNG(seed), n)


def gate(budget: int, problem: Problem = PROBLEM, **more) -> tuple[Evaluator, Record]:
    record = Record(13)
    return Evaluator(problem, budget, record=record, **more), record


def assert_same(one: Evaluations, other: Evaluations) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
