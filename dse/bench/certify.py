"""How long proofs take on this machine, and how near those are that have a limit of time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from dse.bench.searchers import peak_mb
from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate
from dse.core.clock import Clock
from dse.core.domains import prover_of
from dse.core.objective import names_several, parse_objectives
from dse.core.problem import AnyProblem
from dse.optimum.front import Front, certify_front

NETWORKS = ("mobilenet_v2", "vgg16", "resnet18", "alexnet")
ACCELERATORS = ("eyeriss", "eyeriss-small", "edge", "tpu-like")
OBJECTIVES = ("latency", "energy", "edp")

Row = dict[str, Any]
Names = tuple[str, str, str]
"""A network, an accelerator and an objective."""
Set = tuple[*Names, Mapping[str, AnyProblem]]
Sets = Iterable[Set]
"""The problems of each, by their layers' names."""
NOW = time.process_time
"""Seconds are of computing, all threads together: those that one core takes, whatever else it does."""


def drawn_problems(sets: Sets, rng: np.random.Generator) -> Iterator[tuple[*Names, str, AnyProblem]]:
    """All problems of some sets in an order that `rng` draws, each with its set's names and its layer's.

    So any number of them, from the first on, is a sample of all.
    """
    every = [(*names, layer, problem) for *names, problems in sets for layer, problem in problems.items()]
    # Layer by layer of a network, then permuted: a sample is the same in whatever order the sets come.
    places = {name: place for place, name in enumerate(dict.fromkeys((one[0], one[3]) for one in every))}
    every.sort(key=lambda one: places[one[0], one[3]])
    for at in rng.permutation(len(every)):
        network, accelerator, objective, layer, problem = every[at]
        yield network, accelerator, objective, layer, problem


def sample(sets: Sets, number: int, rng: np.random.Generator) -> Sets:
    """So many problems of all sets, the first of those of `drawn_problems`,
    again as sets, in the order of these."""
    sets = [*sets]
    chosen = {one[:4] for one, _ in zip(drawn_problems(sets, rng), range(number), strict=False)}
    for network, accelerator, objective, problems in sets:
        left = {
            layer: problem
            for layer, problem in problems.items()
            if (network, accelerator, objective, layer) in chosen
        }
        if left:
            yield network, accelerator, objective, left


def prove(problems: Mapping[str, AnyProblem], time_limit: float | None = None) -> list[Row]:
    """Prove each problem's optimum, or its front of several objectives, nothing kept.

    A row each with its `layer`, `status`, `seconds` and `gap`: 0 unless the time ran out, then how far the
    best mapping is above the bound, as a share; inf if there is none.
    """
    rows = []
    for problem in list(problems.values())[:1]:
        # Loading the kernels, and once compiling them, is no problem's time.
        alone = parse_objectives(problem.objective)[0].name
        prover_of(problem.with_changes(objective=alone)).solve(Clock(1e-9), None)
    for spec, problem in problems.items():
        found = (
            certify_front(problem, time_limit, cache=False, now=NOW)
            if names_several(problem.objective)
            else prover_of(problem).solve(Clock(time_limit, NOW), None)
        )
        rows.append({"layer": spec, "status": found.status, "seconds": found.own_seconds, "gap": _gap(found)})
    return rows


def _gap(found: Certificate | Front) -> float:
    """What a proof or a front leaves open."""
    if found.status != BOUNDED:
        return 0.0
    gap = found.gap if isinstance(found, Certificate) else (found.open or {})["gap"]
    return math.inf if gap is None else gap


def summary(rows: Sequence[Row], **about: object) -> Row:
    """The rows of some proofs in one: how many and of what, the median and worst seconds, the worst layer.

    `about` says what they have in common. `optimal_share` is of those that are not infeasible, None if all
    are; `largest_gap` is as of `prove`; `peak_mb` is the largest memory that this process has held so far.
    """
    worst = max(rows, key=lambda row: float(row["seconds"]))
    optimal, infeasible = (sum(row["status"] == status for row in rows) for status in (OPTIMAL, INFEASIBLE))
    return {
        **about,
        "layers": len(rows),
        "optimal": optimal,
        "optimal_share": optimal / (len(rows) - infeasible) if infeasible < len(rows) else None,
        "infeasible": infeasible,
        "median_seconds": median(float(row["seconds"]) for row in rows),
        "worst_seconds": worst["seconds"],
        "worst_layer": worst["layer"],
        "seconds_of": "computing",
        "largest_gap": max(row["gap"] for row in rows),
        "peak_mb": peak_mb(),
    }


def report(sets: Sets, time_limit: float | None = None) -> dict[str, list[Row]]:
    """`certify`: a row for each network, accelerator and objective; `certify_all`: one for all proofs.

    `sets` yields the three names with the problems of that set, by layer. No proof computes longer than
    `time_limit` seconds; then it is not optimal.
    """
    every: list[Row] = []
    table: list[Row] = []
    for network, accelerator, objective, problems in sets:
        rows = prove(problems, time_limit)
        every += rows
        table.append(summary(rows, network=network, accelerator=accelerator, objective=objective))
    return {"certify": table, "certify_all": [summary(every)] if every else []}
