"""How long proofs take on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from dse.core.certificate import INFEASIBLE, OPTIMAL
from dse.core.clock import Clock
from dse.core.domains import prover_of
from dse.core.objective import parse_objectives, several
from dse.core.problem import AnyProblem
from dse.optimum.front import certify_front

NETWORKS = ("mobilenet_v2", "vgg16", "resnet18", "alexnet")
ACCELERATORS = ("eyeriss", "eyeriss-small", "edge", "tpu-like")
OBJECTIVES = ("latency", "energy", "edp")

Row = dict[str, Any]


def prove(problems: Mapping[str, AnyProblem], time_limit: float | None = None) -> list[Row]:
    """Prove each problem's optimum, or its front of several objectives, nothing kept.

    A row each with its `layer`, `status` and `seconds`.
    """
    rows = []
    for problem in list(problems.values())[:1]:
        # Loading the kernels, and once compiling them, is no problem's time.
        alone = parse_objectives(problem.objective)[0].name
        prover_of(problem.with_changes(objective=alone)).solve(Clock(1e-9), None)
    for spec, problem in problems.items():
        found = (
            certify_front(problem, time_limit, cache=False)
            if several(problem.objective)
            else prover_of(problem).solve(Clock(time_limit), None)
        )
        rows.append({"layer": spec, "status": found.status, "seconds": found.own_seconds})
    return rows


def summary(rows: Sequence[Row], **about: object) -> Row:
    """The rows of some proofs in one: how many and of what, the median and worst seconds, the worst layer.

    `about` says what they have in common.
    """
    worst = max(rows, key=lambda row: float(row["seconds"]))
    return {
        **about,
        "layers": len(rows),
        "optimal": sum(row["status"] == OPTIMAL for row in rows),
        "infeasible": sum(row["status"] == INFEASIBLE for row in rows),
        "median_seconds": median(float(row["seconds"]) for row in rows),
        "worst_seconds": worst["seconds"],
        "worst_layer": worst["layer"],
    }


def report(
    sets: Iterable[tuple[str, str, str, Mapping[str, AnyProblem]]], time_limit: float | None = None
) -> dict[str, list[Row]]:
    """`certify`: a row for each network, accelerator and objective; `certify_all`: one for all proofs.

    `sets` yields the three names with the problems of that set, by layer. No proof takes longer than
    `time_limit` seconds; then it is not optimal.
    """
    every: list[Row] = []
    table: list[Row] = []
    for network, accelerator, objective, problems in sets:
        rows = prove(problems, time_limit)
        every += rows
        table.append(summary(rows, network=network, accelerator=accelerator, objective=objective))
    return {"certify": table, "certify_all": [summary(every)] if every else []}
