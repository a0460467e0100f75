"""Every outer configuration of a problem once more, to check that none is below a bound."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.check.enumeration import (
    Group,
    Groups,
    allowed_orders,
    allowed_parallels,
    group_keys,
)
from dse.domains.clustered.check.limits import room_of
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.maestro.check.inner_check import cycles_below_none, least_steps, smallest_l1, steps_left
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.support.arrays import BoolArray, FloatArray, IntArray

COUNTER = 2**31
"""MAESTRO counts the steps of a case in 32 bits. From here on it refuses a mapping or drops work, which it
reports where there are no halos: no such mapping is feasible."""


class Below(NamedTuple):
    """Groups with an outer parallel dim that a loss, with a bound of the inner cycles, does not rule out."""

    losses: FloatArray
    places: list[tuple[Group, str]]

    def best_first(self) -> list[tuple[Group, str]]:
        """From the lowest loss on."""
        return [self.places[row] for row in np.argsort(self.losses, kind="stable")]


def cover_outer(problem: Problem, target: float) -> tuple[int, Below]:
    """How many outer configurations there are, and which could be below `target` by a bound."""
    l1, parallels = smallest_l1(problem), allowed_parallels(problem, "outer")
    ways = len(parallels) * len(allowed_orders(problem, "outer"))
    configurations, losses, places = 0, [np.empty(0)], []
    for tiles, clusters in Groups(problem).chunks():
        configurations += len(clusters) * ways
        if l1 > room_of(problem)[0]:
            continue
        below_none = cycles_below_none(problem, tiles, clusters)
        for parallel in parallels:
            fanout = problem.accelerator.num_pes // clusters
            found = least_losses(problem, tiles, fanout, parallel, below_none, l1, target)
            found[~_busy_enough(problem, tiles, clusters, parallel)] = math.inf
            rows = np.flatnonzero(found < target)
            keys = group_keys({dim: tile[rows] for dim, tile in tiles.items()}, clusters[rows])
            losses.append(found[rows])
            places += [(key, parallel) for key in keys]
    return configurations, Below(np.concatenate(losses), places)


def least_loss(problem: Problem, group: Group, parallel: str, cycles: int, target: float) -> float:
    """The least loss of a group with this outer parallel dim, whose inner level takes so many cycles.

    One that is not below the target may be less than it could be.
    """
    tiles = {dim: np.array([tile]) for dim, tile in zip(MAPPED_DIMS, group.tiles, strict=True)}
    inner = np.array([cycles]), smallest_l1(problem), target
    fanout = np.array([problem.accelerator.num_pes // group.cluster])
    return float(least_losses(problem, tiles, fanout, parallel, *inner)[0])


def _busy_enough(
    problem: Problem, tiles: dict[str, IntArray], clusters: IntArray, parallel: str
) -> BoolArray:
    """Which groups can have their busiest PE take as few steps as limits leave to it."""
    most = steps_left(problem, tiles, clusters, parallel)
    if most is None:
        return np.ones(len(clusters), dtype=bool)
    found: BoolArray = least_steps(problem, tiles, clusters) <= most
    return found


def least_losses(
    problem: Problem,
    tiles: dict[str, IntArray],
    fanout: IntArray,
    parallel: str,
    inner: IntArray,
    l1: int,
    target: float,
) -> FloatArray:
    """The least loss over the loop orders of outer tiles on so many clusters (n,); inf where L2 is too small.

    Only those that could be below the target are gone through order by order.
    """
    level = OuterLevel(problem.space.layer, problem.accelerator, tiles, fanout, parallel)
    l2 = level.l2_need
    least = np.full(len(inner), np.inf)
    fits = l2 <= room_of(problem)[1]
    inputs, weights, _ = level.first
    # Every step computes at least, and what the first one reads is read: true of all orders.
    rough = _figure(problem, level.steps * inner, inputs, weights, level.written, l1, l2)
    least[fits] = rough[fits]
    rows = np.flatnonzero(fits & (rough < target))
    if not len(rows):
        return least
    part = level.rows(rows)
    least[rows] = np.inf
    for order in allowed_orders(problem, "outer"):
        sums = part.totals("".join(order), inner[rows])
        losses = _figure(problem, sums.cycles, sums.read_input, sums.read_weights, sums.written, l1, l2[rows])
        losses = np.where(sums.largest < COUNTER, losses, np.inf)
        least[rows] = np.minimum(least[rows], losses)
    return least


def _figure(
    problem: Problem,
    cycles: IntArray,
    read_input: IntArray,
    read_weights: IntArray,
    written: IntArray,
    l1: int,
    l2: IntArray,
) -> FloatArray:
    """The objective, from the model's energy, area and power (sections 9.3, 9.6 and 9.7)."""
    layer, machine = problem.space.layer, problem.accelerator
    inputs = layer.C * layer.Y * layer.X
    weights = layer.K * layer.C * layer.R * layer.S
    energy = 0.00023 * (
        read_input * 18.61 + inputs * 18.61 + read_weights * 18.61 + weights * 18.61 + written * 18.61
    )
    pes, lanes, bandwidth = float(machine.num_pes), machine.simd_lanes, machine.noc_bandwidth
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc_area = 101.7938 * bus * bandwidth + max(395.473 * gates, 395.473)
    noc_power = 0.8 * bus / 1000 * bandwidth + max(0.34 * gates / 1000, 0.34)
    area = pes * (283 * lanes + 0.104 * l1) + 0.104 * l2 + noc_area
    power = pes * (1.2223 * lanes + 0.00345 * l1) + 0.00345 * l2 + noc_power
    figures = SimpleNamespace(cycles=cycles, energy_nj=energy, power=power, area=area)
    value = objective_named(problem.objective).value(figures, machine.hertz)
    return np.asarray(value, dtype=np.float64)
