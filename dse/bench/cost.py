"""How fast things are, measured on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dse.core.cost_models import DEFAULT_COST_MODEL
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.parts import SPACES, Parts
from dse.support.arrays import IntArray

BATCH, SINGLE_ROWS, BASELINE_ROWS = 50_000, 200, 100
REPEATS, BASELINE_REPEATS = 25, 2
Row = dict[str, Any]


def cost(
    layer: Layer,
    accelerator: Accelerator,
    model: str = DEFAULT_COST_MODEL,
    parts: Parts = SPACES["default"],
) -> dict[str, list[Row]]:
    """The pricing rates of `model` for random feasible mappings of one layer, with both kinds of tiles.

    `cost`: mappings a second in batches on one and on two threads (on one where each has a machine of its
    own). `drawn`: the same on one thread for points as they are drawn, feasible or not, with their losses:
    what a search gets. `one_row`: microseconds that
    Problem.price takes for a single point. `baselines`: milliseconds that other implementations take for
    one of the same mappings, and how many times faster the batches are. All are the best of several repeats.
    """
    report: dict[str, list[Row]] = {"cost": [], "drawn": [], "one_row": [], "baselines": []}
    for tiles in ("factors", "any"):
        problem = Problem(layer, accelerator, cost_model=model, tiles=tiles, space=parts)
        genes = feasible_points(problem, BATCH)
        batch = problem.space.decode(genes)
        several = (1, 2) if batch.machines is None else (1,)
        rates = {threads: len(batch) / _batch_seconds(problem, batch, threads) for threads in several}
        what = {"model": model, "tiles": tiles}
        for threads, rate in rates.items():
            report["cost"].append({**what, "threads": threads, "mappings_per_second": rate})
        drawn = problem.space.sample(np.random.default_rng(1), BATCH)
        rate = BATCH / best_seconds(partial(problem.price, drawn))
        report["drawn"].append({**what, "points_per_second": rate})
        report["one_row"].append({**what, "microseconds": _single_row_seconds(problem, genes) * 1e6})
        for name, seconds in _baselines(problem, batch).items():
            entry = {"name": name, "milliseconds": seconds * 1e3, "ratio": seconds * rates[1]}
            report["baselines"].append({**what, **entry})
    return report


def feasible_points(problem: Problem, count: int, seed: int = 0) -> IntArray:
    """`count` random points of the problem's space that are feasible: genes (count, genes)."""
    rng = np.random.default_rng(seed)
    found: list[IntArray] = []
    while sum(map(len, found)) < count:
        genes = problem.space.sample(rng, count)
        found.append(genes[problem.price(genes).reason == 0])
    return np.concatenate(found)[:count]


def best_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of `repeats` runs of `work`, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _batch_seconds(problem: Problem, batch: MappingBatch, threads: int) -> float:
    accelerator, model = problem.accelerator, problem.model
    layer = problem.layer if model.prices_strides else problem.layer.lowered()
    if batch.machines is not None:
        price_each = model.prepared_each(layer, accelerator)
        return best_seconds(partial(price_each, batch.rows, batch.machines))
    return best_seconds(lambda: model.evaluate(layer, accelerator, batch, threads=threads))


def _single_row_seconds(problem: Problem, genes: IntArray) -> float:
    rows = [genes[index : index + 1] for index in range(SINGLE_ROWS)]

    def price_each() -> None:
        for row in rows:
            problem.price(row)

    return best_seconds(price_each) / SINGLE_ROWS


def _baselines(problem: Problem, batch: MappingBatch) -> dict[str, float]:
    """Seconds that other implementations of the problem's cost model take for one mapping."""
    seconds = {}
    for name, baseline in problem.model.baselines(problem.layer, problem.accelerator).items():
        mappings = MappingBatch(batch.rows[: min(baseline.mappings, BASELINE_ROWS)])
        shortest = best_seconds(partial(baseline.price_each, mappings), BASELINE_REPEATS)
        seconds[name] = shortest / len(mappings)
    return seconds
