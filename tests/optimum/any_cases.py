"""Small problems with tiles of any size, drawn at random, and what pricing every mapping of them finds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import (
    CLUSTER,
    COLUMNS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS

CHUNK = 1 << 17


def random_problem(
    rng: np.random.Generator, objective: str, most: int, cost_model: str = "loopnest"
) -> Problem:
    """A problem of at most so many mappings: strides, paddings, depthwise, products, odd machines."""
    while True:
        problem = Problem(_layer(rng), _machine(rng), objective, cost_model, tiles="any", fixed=_fixed(rng))
        if count(problem) <= most:
            return problem


def with_several_orders(rng: np.random.Generator, problem: Problem) -> Problem:
    """The problem with two loop orders at a level, one or two at the other."""
    drawn = rng.choice(len(ORDERS), 4, replace=False).tolist()
    names = ["".join(ORDERS[place]) for place in drawn]
    fixed = {"outer.order": names[:2], "inner.order": names[2 : 3 + int(rng.integers(2))]}
    return problem.with_changes(fixed=fixed)


def _layer(rng: np.random.Generator) -> Layer:
    def up_to(most: int) -> int:
        return int(rng.integers(1, most + 1))

    kind = rng.random()
    if kind < 0.2:
        return Layer.gemm(up_to(8), up_to(8), up_to(8))
    rows, columns = up_to(3), up_to(3)
    stride, padding = (up_to(3), up_to(2)), (int(rng.integers(rows)), int(rng.integers(columns)))
    height, width = rows + up_to(6), columns + up_to(3)
    if kind < 0.45:
        return Layer("DSCONV", 1, up_to(7), height, width, rows, columns, stride=stride, padding=padding)
    return Layer("CONV", up_to(6), up_to(5), height, width, rows, columns, stride=stride, padding=padding)


def _machine(rng: np.random.Generator) -> Accelerator:
    pes, l1, l2, noc, offchip, latency, lanes = rng.integers(
        [1, 12, 40, 1, 1, 0, 1], [8, 120, 400, 6, 4, 3, 3]
    ).tolist()
    return Accelerator(pes, l1, max(l1, l2), noc, offchip, latency, lanes)


def _fixed(rng: np.random.Generator) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    if rng.random() < 0.7:
        fixed[f"{rng.choice(['outer', 'inner'])}.order"] = "".join(ORDERS[int(rng.integers(24))])
    if rng.random() < 0.3:
        fixed["outer.parallel"] = str(rng.choice(list(MAPPED_DIMS)))
    return fixed


def count(problem: Problem) -> int:
    """How many rows `every_row` has."""
    pairs = math.prod(size * (size + 1) // 2 for size in _sizes(problem))
    loops = math.prod(len(choices) for choices in _loops(problem))
    return pairs * loops


def _sizes(problem: Problem) -> list[int]:
    return [problem.layer.loops[dim] for dim in MAPPED_DIMS]


def _loops(problem: Problem) -> list[list[Any]]:
    fixed: Any = problem.space.fixed
    named = [fixed.get(f"{level}.order") for level in ("outer", "inner")]
    orders = [[order for order in ORDERS if some is None or list(order) in (some, *some)] for some in named]
    parallels = [
        [
            place
            for place, dim in enumerate(MAPPED_DIMS)
            if dim in (fixed.get(f"{level}.parallel") or MAPPED_DIMS)
        ]
        for level in ("outer", "inner")
    ]
    return [list(problem.accelerator.cluster_sizes), *parallels, *orders]


def every_row(problem: Problem) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """Every mapping of the space, as rows of a MappingBatch, some at a time."""
    pairs = [
        np.array([(outer, inner) for outer in range(1, size + 1) for inner in range(1, outer + 1)])
        for size in _sizes(problem)
    ]
    choices = np.stack(_every_choice(pairs), axis=1)
    *places, outer_orders, inner_orders = _loops(problem)
    orders = [
        np.array([[DIMS.index(dim) for dim in (*order, "R", "S")] for order in some])
        for some in (outer_orders, inner_orders)
    ]
    loops = _every_choice([*map(np.array, places), *orders])
    columns = CLUSTER, OUTER_PARALLEL, INNER_PARALLEL, _order_at(OUTER_ORDER), _order_at(INNER_ORDER)
    together = max(1, CHUNK // len(choices))
    for start in range(0, len(loops[0]), together):
        some = [one[start : start + together, np.newaxis] for one in loops]
        rows = np.empty((len(some[0]), len(choices), COLUMNS), dtype=np.int64)
        for column, values in zip(columns, some, strict=True):
            rows[..., column] = values
        for column, level in ((OUTER_TILE, 0), (INNER_TILE, 1)):
            rows[..., column : column + 4] = choices[:, :, level]
            rows[..., column + 4 : column + 6] = problem.layer.R, problem.layer.S
        yield rows.reshape(-1, COLUMNS)


def _every_choice(among: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """All choices of one from each list, the last one's changing fastest."""
    places = np.indices([len(one) for one in among]).reshape(len(among), -1)
    return [one[place] for one, place in zip(among, places, strict=True)]


def _order_at(column: int) -> slice:
    """The columns of an order that begins there."""
    return slice(column, column + 6)


def least_loss(problem: Problem) -> float:
    """The least loss of all mappings; inf if none is feasible."""
    return min(float(problem.evaluate(MappingBatch(rows)).loss.min()) for rows in every_row(problem))


def least_pairs(problem: Problem) -> list[tuple[int, float]]:
    """The cycles and energies (nJ) that no mapping has better in both, the fastest first."""
    found: set[tuple[int, float]] = set()
    for rows in every_row(problem):
        costs = problem.evaluate(MappingBatch(rows))
        feasible = costs.reason == 0
        pairs = zip(costs.cycles[feasible].tolist(), costs.energy_nj[feasible].tolist(), strict=True)
        least, kept = math.inf, set[tuple[int, float]]()
        for cycles, energy in sorted(found | {*pairs}):
            if energy < least:
                kept.add((cycles, energy))
                least = energy
        found = kept
    return sorted(found)
