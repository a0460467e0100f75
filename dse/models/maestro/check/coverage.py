"""Outer levels of a problem once more, in every order: the least losses that they leave to inner levels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.check.enumeration import allowed_orders
from dse.domains.clustered.check.limits import room_of
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.support.arrays import FloatArray, IntArray

COUNTER = 2**31
"""MAESTRO counts the steps of a case in 32 bits. From here on it refuses a mapping or drops work, which it
reports where there are no halos: no such mapping is feasible."""


def least_losses(
    problem: Problem,
    tiles: dict[str, IntArray],
    fanout: IntArray,
    parallel: str,
    inner: IntArray,
    target: float,
) -> FloatArray:
    """The least loss over the loop orders of outer tiles on so many clusters (n,); inf where L2 is too small.

    Only those that could be below the target are gone through order by order.
    """
    level = OuterLevel(problem.space.layer, problem.accelerator, tiles, fanout, parallel)
    least = np.full(len(inner), np.inf)
    fits = level.l2_need <= room_of(problem)[1]
    inputs, weights, _ = level.first
    # Every step computes at least, and what the first one reads is read: true of all orders.
    rough = _figure(problem, level.steps * inner, inputs, weights, level.written)
    least[fits] = rough[fits]
    rows = np.flatnonzero(fits & (rough < target))
    if not len(rows):
        return least
    part = level.rows(rows)
    least[rows] = np.inf
    for order in allowed_orders(problem, "outer"):
        sums = part.totals("".join(order), inner[rows])
        losses = _figure(problem, sums.cycles, sums.read_input, sums.read_weights, sums.written)
        losses = np.where(sums.largest < COUNTER, losses, np.inf)
        least[rows] = np.minimum(least[rows], losses)
    return least


def _figure(
    problem: Problem,
    cycles: IntArray,
    read_input: IntArray,
    read_weights: IntArray,
    written: IntArray,
) -> FloatArray:
    """The objective, from the model's energy (section 9.3)."""
    layer = problem.space.layer
    inputs = layer.C * layer.Y * layer.X
    weights = layer.K * layer.C * layer.R * layer.S
    energy = 0.00023 * (
        read_input * 18.61 + inputs * 18.61 + read_weights * 18.61 + weights * 18.61 + written * 18.61
    )
    figures = SimpleNamespace(cycles=cycles, energy_nj=energy)
    value = objective_named(problem.objective).value(figures, problem.accelerator.hertz)
    return np.asarray(value, dtype=np.float64)
