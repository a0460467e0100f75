"""Every outer configuration of a problem once more, to check that none is below a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

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
from dse.models.maestro.check.inner_check import (
    cycles_below_none,
    least_steps,
    smallest_l1,
    steps_left,
)
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.support.arrays import BoolArray, FloatArray, IntArray

COUNTER = 2**31
"""MAESTRO counts the steps of a case in 32 bits. From here on it refuses a mapping or drops work, which it
reports where there are no halos: no such mapping is feasible."""


@dataclass(frozen=True)
class Coverage:
    """How many outer configurations there are, and the least loss that one of them could have.

    Losses at or above the target may be less than they could be. `where` says at what the least stands.
    """

    configurations: int
    least: float
    where: str


def cover(problem: Problem, solved: Mapping[tuple[Group, str], int], target: float) -> Coverage:
    """Look for outer configurations below `target`: `solved` groups take so many inner cycles, others more
    than can be ruled out. They are solved for an outer parallel dim where limits ask for busy PEs, else for
    all, ""; of 0 cycles are those that no inner level keeps busy.
    """
    layer, machine = problem.space.layer, problem.accelerator
    l1 = smallest_l1(problem)
    parallels = allowed_parallels(problem, "outer")
    ways = len(parallels) * len(allowed_orders(problem, "outer"))
    configurations, least, where = 0, math.inf, ""
    for tiles, clusters in Groups(problem).chunks():
        configurations += len(clusters) * ways
        if l1 > room_of(problem)[0]:
            continue
        below_none = cycles_below_none(problem, tiles, clusters)
        keys = group_keys(tiles, clusters)
        for parallel in parallels:
            inner = _inner_cycles(solved, keys, parallel, below_none)
            level = OuterLevel(layer, machine, tiles, clusters, parallel)
            losses = _least_losses(problem, level, np.maximum(inner, 1), l1, target)
            losses[(inner == 0) | ~_busy_enough(problem, tiles, clusters, parallel)] = math.inf
            row = int(np.argmin(losses))
            if losses[row] < least:
                least, where = float(losses[row]), f"{keys[row]} with {parallel} parallel"
    return Coverage(configurations, least, where)


def _inner_cycles(
    solved: Mapping[tuple[Group, str], int], keys: Sequence[Group], parallel: str, below_none: IntArray
) -> IntArray:
    """The inner cycles of groups: those claimed, or those that none is below."""
    found = [
        solved.get((key, parallel), solved.get((key, ""), cycles))
        for key, cycles in zip(keys, below_none.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _busy_enough(
    problem: Problem, tiles: dict[str, IntArray], clusters: IntArray, parallel: str
) -> BoolArray:
    """Which groups can have their busiest PE take as few steps as limits leave to it."""
    most = steps_left(problem, tiles, clusters, parallel)
    if most is None:
        return np.ones(len(clusters), dtype=bool)
    found: BoolArray = least_steps(problem, tiles, clusters) <= most
    return found


def _least_losses(problem: Problem, level: OuterLevel, inner: IntArray, l1: int, target: float) -> FloatArray:
    """The least loss of each row over the loop orders; inf where L2 is too small.

    Only rows that could be below the target are gone through order by order.
    """
    l2 = level.l2_need
    least = np.full(len(inner), np.inf)
    fits = l2 <= room_of(problem)[1]
    inputs, weights, _ = level.first
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
