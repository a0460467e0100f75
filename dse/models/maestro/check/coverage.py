"""Outer levels of a problem once more, in every order: the least losses that they leave to inner levels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.check.enumeration import allowed_orders
from dse.domains.clustered.check.limits import room_of
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.support.arrays import FloatArray, IntArray

Elements = int | IntArray | FloatArray

COUNTER = 2**31
"""MAESTRO counts the steps of a case in 32 bits. From here on it refuses a mapping or drops work, which it
reports where there are no halos: no such mapping is feasible."""


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
    area, power = built_of(machine, l1, l2)
    figures = SimpleNamespace(cycles=cycles, energy_nj=energy, power=power, area=area)
    value = objective_named(problem.objective).value(figures, machine.hertz)
    return np.asarray(value, dtype=np.float64)


def built_of(machine: Accelerator, l1: Elements, l2: Elements) -> tuple[FloatArray, FloatArray]:
    """The area and the power of buffers as large as these needs, with PEs and NoC (sections 9.6 and 9.7)."""
    pes, lanes, bandwidth = float(machine.num_pes), machine.simd_lanes, machine.noc_bandwidth
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc_area = 101.7938 * bus * bandwidth + max(395.473 * gates, 395.473)
    noc_power = 0.8 * bus / 1000 * bandwidth + max(0.34 * gates / 1000, 0.34)
    area = pes * (283 * lanes + 0.104 * l1) + 0.104 * l2 + noc_area
    power = pes * (1.2223 * lanes + 0.00345 * l1) + 0.00345 * l2 + noc_power
    return np.asarray(area), np.asarray(power)
