"""How fast mappings onto machines of any number of levels are priced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from dse.bench.cost import BASELINE_REPEATS, BATCH, SINGLE_ROWS, best_seconds
from dse.bench.timeloop_program import seconds_each
from dse.core.chains import primes
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.models.timeloop import Machine, Workload, layout_of, prepared, reference
from dse.domains.levels.models.timeloop.presets import load_machine
from dse.domains.levels.workload import workload_of
from dse.support.errors import InputError

MACHINES = ("gemmini", "eyeriss_like", "simba_like")
"""Of four, seven and nine levels."""

REFERENCE_ROWS, DRAWS = 20, 4
OUTER_WEIGHT = 6
"""How much more often than to another place a factor goes to the outermost level, so that tiles fit."""

Row = dict[str, Any]


def cost(layer: Layer, machines: tuple[str, ...] = MACHINES) -> dict[str, list[Row]]:
    """The pricing rates for random mappings of a layer that fit, in the tables of `dse.bench.cost.cost`."""
    report: dict[str, list[Row]] = {"cost": [], "drawn": [], "one_row": [], "baselines": []}
    workload, program_seconds = workload_of(layer), seconds_each(layer)
    for name in machines:
        machine = load_machine(name)
        rows, price = fitting_rows(workload, machine, BATCH), prepared(workload, machine)
        what = {"model": "timeloop", "tiles": "factors", "accelerator": name, "levels": len(machine.levels)}
        rates = {threads: len(rows) / best_seconds(partial(price, rows, threads)) for threads in (1, 2)}
        for threads, rate in rates.items():
            report["cost"].append({**what, "threads": threads, "mappings_per_second": rate})
        report["drawn"].append({**what, "points_per_second": drawn_rate(layer, machine)})
        single = [rows[place : place + 1] for place in range(SINGLE_ROWS)]
        seconds = best_seconds(partial(_each, price, single))
        report["one_row"].append({**what, "microseconds": seconds / len(single) * 1e6})
        mappings = [layout_of(workload, machine).decode(row) for row in rows[:REFERENCE_ROWS]]
        plain = partial(reference.evaluate, workload, machine)
        seconds = best_seconds(partial(_each, plain, mappings), BASELINE_REPEATS) / len(mappings)
        others = {"reference": seconds, **({"timeloop program": program_seconds} if program_seconds else {})}
        for other, each in others.items():
            entry = {"name": other, "milliseconds": each * 1e3, "ratio": each * rates[1]}
            report["baselines"].append({**what, **entry})
    return report


def drawn_rate(layer: Layer, machine: Machine, count: int = BATCH) -> float:
    """Points a second that a search gets: as they are drawn, on one thread, with their losses."""
    problem = make_problem(layer, machine, "edp", "timeloop")
    points = problem.space.sample(np.random.default_rng(1), count)
    return count / best_seconds(partial(problem.price, points))


def _each(price: Callable[[Any], object], mappings: Iterable[object]) -> None:
    for mapping in mappings:
        price(mapping)


def fitting_rows(workload: Workload, machine: Machine, count: int, seed: int = 0) -> RowArray:
    """`count` random mappings that fit, out of `DRAWS` times as many; repeated where fewer do."""
    rng, price = np.random.default_rng(seed), prepared(workload, machine)
    found = np.concatenate(
        [
            rows[price(rows).valid]
            for rows in (random_rows(workload, machine, count, rng) for _ in range(DRAWS))
        ]
    )
    if not len(found):
        raise InputError(f"no random mapping of the layer fits machine {machine.name}; choose a larger one")
    return found[rng.integers(len(found), size=count)]


def random_rows(workload: Workload, machine: Machine, count: int, rng: np.random.Generator) -> RowArray:
    """Rows whose factors multiply to the sizes, every prime of a dim at a random place that is open to it."""
    layout = layout_of(workload, machine)
    rows = np.ones((count, layout.columns), dtype=np.int32)
    for place, level in enumerate(machine.levels):
        dims = np.tile(np.arange(len(workload.dims)), (count, 1))
        rows[:, layout.order(place)] = rng.permuted(dims, axis=1)
        keeps = workload.tensor_names if place == 0 else level.keeps
        rows[:, layout.keep(place)] = [name in keeps for name in workload.tensor_names]
    for dim, (name, size) in enumerate(workload.dims):
        columns, weights = _places(layout, machine, dim, name)
        for prime in prime_factors(size):
            rows[np.arange(count), rng.choice(columns, size=count, p=weights / weights.sum())] *= prime
    return rows


def prime_factors(size: int) -> list[int]:
    """The prime factors of a size, each as often as it divides it."""
    found = []
    for prime in primes(size):
        while size % prime == 0:
            found.append(prime)
            size //= prime
    return found


def _places(layout: Layout, machine: Machine, dim: int, name: str) -> tuple[list[int], Any]:
    """The columns where factors of a dim may be, and how often they go there."""
    temporal = [layout.temporal(level).start + dim for level in range(layout.levels)]
    spatial = [
        layout.spatial(place).start + dim
        for place, level in enumerate(machine.levels)
        if level.fan_out > 1 and (level.spread is None or name in level.spread)
    ]
    weights = np.ones(len(temporal) + len(spatial))
    weights[0] = OUTER_WEIGHT
    return temporal + spatial, weights
