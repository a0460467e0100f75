"""Every shape of a problem once more, to count those that a bound does not rule out: see `outer_check`."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.check.enumeration import Groups, allowed_orders, allowed_parallels, group_keys
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.check.outer_check import Outer, output_words
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors
from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest


@dataclass(frozen=True)
class Coverage:
    """How many shapes there are, and which are below a target: tiles, cluster size, parallel dim."""

    shapes: int
    below: list[tuple[tuple[int, ...], int, str]]


def cover_shapes(problem: Problem, target: tuple[float, float]) -> Coverage:
    """The shapes that are not ruled out at `target`: a loss and its tie break."""
    shapes, below = 0, []
    for tiles, clusters in Groups(problem).chunks():
        for parallel in allowed_parallels(problem, "outer"):
            shapes += len(clusters)
            # With one cluster all parallel dims are the same.
            alone = clusters == problem.accelerator.num_pes
            alone &= parallel != allowed_parallels(problem, "outer")[0]
            rows = np.flatnonzero(~alone)
            outer = Outer(problem, tiles, clusters, parallel).rows(rows)
            outer = outer.rows(np.flatnonzero(outer.fits & outer.busy_enough))
            if not len(outer.clusters):
                continue
            left = outer.rows(np.flatnonzero(_not_ruled_out(problem, outer, target)))
            below += [(*group, parallel) for group in group_keys(left.tiles, left.clusters)]
    return Coverage(shapes, below)


def _not_ruled_out(problem: Problem, outer: Outer, target: tuple[float, float]) -> BoolArray:
    """Whether some outer order of a shape could have less than the target."""
    found = _below(figures(problem, *outer.least_of_any_order), target)
    # Orders are gone through only where words and work alone do not rule a shape out.
    rows = np.flatnonzero(found)
    part = outer.rows(rows)
    found[rows] = False
    for order in allowed_orders(problem, "outer"):
        if len(rows):
            found[rows] |= _below(figures(problem, *part.least(order)), target)
    return found


def _below(found: tuple[FloatArray, FloatArray], target: tuple[float, float]) -> BoolArray:
    losses, tie_breaks = found
    less: BoolArray = (losses < target[0]) | ((losses == target[0]) & (tie_breaks < target[1]))
    return less


def figures(problem: Problem, cycles: IntArray, dram: IntArray) -> tuple[FloatArray, FloatArray]:
    """The least loss and its tie break: every word goes over the NoC, each once."""
    layer = problem.layer
    of_input, of_weights, of_output = of_tensors(layer, problem.accelerator)
    inputs = layer.C * of_input
    for outputs, (stride, window, *_) in zip(layer.output, layer.reads, strict=True):
        inputs *= outputs * min(stride, window) + max(window - stride, 0)
    words = inputs + layer.K * layer.C * of_weights + of_output * output_words(layer)
    constants = in_units(cast("LoopNest", problem.model).constants, problem.accelerator)
    energy = 1e-3 * (
        layer.macs * constants.mac_pj
        + (float(l1_a_mac(problem.accelerator)) * layer.macs + words) * constants.l1_pj
        + words * constants.noc_pj
        + (words + dram) * constants.l2_pj
        + dram * constants.dram_pj
    )
    figures = SimpleNamespace(cycles=cycles, energy_nj=energy)
    losses = objective_named(problem.objective).value(figures, problem.accelerator.hertz)
    tie_breaks = cycles.astype(np.float64) if objective_named(problem.objective).of_energy_alone else energy
    return np.asarray(losses, dtype=np.float64), np.asarray(tie_breaks, dtype=np.float64)
