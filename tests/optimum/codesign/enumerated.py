"""The best machine and mappings by going through all of them, for small spaces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np

from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.codesign.space import HardwareSpace, Point, Priced
from dse.support.arrays import FloatArray

LAYERS = (
    Layer("CONV", 8, 6, 4, 1, 1, 1, name="one", repeats=2),
    Layer("CONV", 4, 2, 3, 4, 2, 1, name="two"),
    Layer("CONV", 6, 2, 8, 1, 1, 1, name="three", repeats=3),
)
"""A network so small that every mapping of it can be priced."""


def every_point(space: HardwareSpace) -> Iterator[Point]:
    """Every machine."""
    yield from product(*(range(len(values)) for values in space.parameters.values()))


@cache
def every_cost(layer: Layer, priced: Priced) -> frozenset[tuple[float, int]]:
    """The energies in nJ and the cycles of every mapping that fits."""
    problem = make_problem(layer, priced.hardware, "edp", priced.model)
    sizes = problem.space.sizes
    found = problem.price(np.indices(sizes).reshape(len(sizes), -1).T)
    fits = found.reason == 0
    return frozenset(zip(found.energy_nj[fits].tolist(), found.cycles[fits].tolist(), strict=True))


def least_of_network(sums: Iterable[tuple[float, float]], cycle_seconds: float, objective: str) -> float:
    """The least value of a network's sums of energy and cycles."""
    energy_nj, cycles = np.array(list(sums), np.float64).reshape(-1, 2).T
    costs = SimpleNamespace(energy_nj=energy_nj, cycles=cycles)
    return float(np.min(objective_named(objective).value(costs, 1 / cycle_seconds), initial=math.inf))


def sums_of_network(
    layers: Sequence[Layer], priced: Priced, times: Sequence[float] = ()
) -> set[tuple[float, float]]:
    """What a network costs on a machine with all choices of mappings, but for those that others dominate."""
    sums: set[tuple[float, float]] = {(0.0, 0)}
    for layer, count in zip(layers, times or [layer.repeats for layer in layers], strict=True):
        costs = _not_dominated(every_cost(layer, priced))
        sums = _not_dominated({(e + count * e2, c + count * c2) for e, c in sums for e2, c2 in costs})
    return sums


def every_sum_of_network(layers: Sequence[Layer], priced: Priced) -> FloatArray:
    """Energies and cycles (n, 2) of a network with all choices of mappings, whatever dominates them."""
    sums = np.zeros((1, 2))
    for layer in layers:
        costs = np.array(sorted(every_cost(layer, priced)), float).reshape(-1, 2)
        sums = (sums[:, np.newaxis] + layer.repeats * costs).reshape(-1, 2)
        sums = np.unique(sums, axis=0)
    return sums


def _not_dominated(costs: Iterable[tuple[float, float]]) -> set[tuple[float, float]]:
    kept, fewest = set(), math.inf
    for energy, cycles in sorted(costs):
        if cycles < fewest:
            kept.add((energy, cycles))
            fewest = cycles
    return kept
