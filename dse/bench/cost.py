"""How fast cost models price, measured on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dse.core.cost_models import DEFAULT_COST_MODEL
from dse.core.domains import domain_of, make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.support.arrays import IntArray
from dse.support.errors import InputError

BATCH, SINGLE_ROWS = 50_000, 200
DRAWS = 20
"""Batches that are drawn to find as many feasible points as one has."""
REPEATS, OTHER_REPEATS = 25, 2
Row = dict[str, Any]


def cost(
    layer: Layer, hardware: str, model: str = DEFAULT_COST_MODEL, space: Any = "default"
) -> dict[str, list[Row]]:
    """The pricing rates of `model` for random feasible designs of one layer, with each kind of tiles.

    `cost`: mappings a second in batches on one and on two threads (on one where each has a machine of its
    own). `drawn`: the same on one thread for points as they are drawn, feasible or not, with their losses:
    what a search gets. `one_row`: microseconds that the problem's `price` takes for a single point, and the
    cost model alone, made ready (`prepared_microseconds`).
    `baselines`: milliseconds that other implementations take for one of the same mappings, and how many times
    faster the batches are. All are the best of several repeats.
    """
    report: dict[str, list[Row]] = {"cost": [], "drawn": [], "one_row": [], "baselines": []}
    for problem in _problems(layer, hardware, model, space):
        genes = feasible_points(problem, BATCH)
        timed = domain_of(problem.model).timed(problem, genes)
        rates = {count: len(genes) / best_seconds(partial(timed.price, count)) for count in timed.threads}
        what = {"model": model, "tiles": problem.options["tiles"]}
        for threads, rate in rates.items():
            report["cost"].append({**what, "threads": threads, "mappings_per_second": rate})
        drawn = problem.space.sample(np.random.default_rng(1), BATCH)
        rate = BATCH / best_seconds(partial(problem.price, drawn))
        report["drawn"].append({**what, "points_per_second": rate})
        report["one_row"].append({**what, **_single_row(problem, genes, timed.single)})
        for name, other in timed.others.items():
            seconds = best_seconds(other.price, OTHER_REPEATS) / other.count
            entry = {"name": name, "milliseconds": seconds * 1e3, "ratio": seconds * rates[1]}
            report["baselines"].append({**what, **entry})
    return report


def _problems(layer: Layer, hardware: str, model: str, space: Any) -> Iterator[AnyProblem]:
    yield make_problem(layer, hardware, "latency", model, "factors", space=space)
    try:
        other = make_problem(layer, hardware, "latency", model, "any", space=space)
    except InputError:
        # Some designs have tiles that divide only.
        return
    yield other


def feasible_points(problem: AnyProblem, count: int, seed: int = 0) -> IntArray:
    """`count` random points of the problem's space that are feasible: genes (count, genes).

    Of a space with few of them, those found in DRAWS batches are repeated.
    """
    rng = np.random.default_rng(seed)
    found: list[IntArray] = []
    for _ in range(DRAWS):
        genes = problem.space.sample(rng, count)
        found.append(genes[problem.price(genes).reason == 0])
        if sum(map(len, found)) >= count:
            break
    points = np.concatenate(found)
    if not len(points):
        raise InputError(f"no random point of {problem.accelerator.name} is feasible; choose larger hardware")
    return points[np.arange(count) % len(points)]


def best_seconds(work: Callable[[], object], repeats: int | None = None) -> float:
    """The shortest of `repeats` runs of `work`, after one that warms up."""
    work()
    times = []
    for _ in range(REPEATS if repeats is None else repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _single_row(problem: AnyProblem, genes: IntArray, single: Callable[[int], object]) -> dict[str, float]:
    places = range(min(SINGLE_ROWS, len(genes)))
    rows = [genes[place : place + 1] for place in places]
    ways: dict[str, Callable[[], object]] = {
        "microseconds": lambda: [problem.price(row) for row in rows],
        "prepared_microseconds": lambda: [single(place) for place in places],
    }
    return {name: best_seconds(work) / len(rows) * 1e6 for name, work in ways.items()}
