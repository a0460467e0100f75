"""What an analytical cost model says of mappings that another one judges: its optimum, its counts; and what a
judge may refuse in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.core.clock import Clock
from dse.core.domains import prover_of
from dse.core.layer import DIMS, Layer
from dse.core.listed import Wanted
from dse.core.reasons import Reason
from dse.core.space import Space
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.terms import terms_of
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

MISFITS = (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)
POINTS, ROUNDS, KEPT = 2000, 12, 12
USUAL, SUMMED, ACROSS, FULL, BOXES = 0.03, 0.1, 0.3, 0.03, 0.6
"""Chances that a judge refuses what a mapping does: with a dim; with one that outputs sum over; with such a
one across clusters; with a buffer that is nearly full; and where the boxes of tensors overflow any."""
SHARES = (0.5, 0.65, 0.8)
"""Of a buffer, what a judge that counts otherwise may take for all of it."""
COUNT = len(DIMS)


def advised_space(space: Space) -> MappingSpace | None:
    """The space, if an adviser of mappings of two levels onto one machine can price it."""
    return space if isinstance(space, MappingSpace) and not space.has_machines else None


class Adviser:
    """A cost model of the same space, as the problem that it would have the searcher solve."""

    def __init__(self, space: MappingSpace, objective: str, name: str) -> None:
        """InputError if there is no such model, or if it does not price these mappings."""
        self.problem = Problem(
            space.priced, space.accelerator, objective, name, space.tiles, space.fixed, space.parts
        )
        self._space = space

    def usable(self, genes: IntArray) -> BoolArray:
        """Which points (n, genes) it prices and finds to fit into the buffers."""
        found: BoolArray = self.problem.price(genes).reason == 0
        return found

    def losses(self, genes: IntArray) -> FloatArray:
        """What it makes of the points (n, genes), inf where it does not."""
        return self.problem.price(genes).loss

    def terms(self, genes: IntArray) -> tuple[tuple[str, ...], FloatArray]:
        """The terms by name, and those of n points: (n, terms)."""
        found = terms_of(self.problem, self._space.decode(genes))
        return tuple(found), np.stack(list(found.values()), axis=1)

    def traits(self, genes: IntArray) -> tuple[BoolArray, FloatArray]:
        """What n points do that a judge may refuse, (n, traits), and the chances that it does: (traits,)."""
        return traits_of(self._space.layer, self._space.accelerator, self._space.decode(genes).rows)

    def best(self, most: int, rng: np.random.Generator) -> IntArray:
        """Its best points, the best first: those proven where it can be proven, else those that it finds."""
        try:
            prover: Any = prover_of(self.problem)
            prover.refuse()
            if prover.floor_only or self.problem.hardware_genes or self._space.tiles != "factors":
                raise InputError("a proof would take too long")
            best = prover.solve(Clock(), None).best
            if best is None:
                return np.empty((0, len(self._space.sizes)), np.int64)
            found = np.array([best.genes])
        except InputError:
            return self._descended(self._space.sample(rng, POINTS), most)
        try:
            if not hasattr(prover, "refuse_list"):
                raise InputError("its proofs list no mappings")
            prover.refuse_list()
        except InputError:
            return np.concatenate([found, self._descended(found, most)])[:most]
        listed = prover.list_best(best, Wanted(most=most), Clock())
        return np.array([one.genes for one in listed])

    def _descended(self, points: IntArray, most: int) -> IntArray:
        """The best points that neighbours of the best lead to, from some points."""
        for _ in range(ROUNDS):
            losses = self.losses(points)
            points = points[np.argsort(losses, kind="stable")[: max(most, KEPT)]]
            near = [block.neighbours(point) for point in points[:KEPT] for block in self._space.blocks]
            points = np.unique(self._space.canonical(np.concatenate([points, *near])), axis=0)
        losses = self.losses(points)
        order = np.argsort(losses, kind="stable")[:most]
        return points[order[np.isfinite(losses[order])]]


def traits_of(layer: Layer, machine: Accelerator, rows: IntArray) -> tuple[BoolArray, FloatArray]:
    """What n mappings do that a judge may refuse, (n, traits), and the chances that it does: (traits,).

    That they spread a dim over clusters, or over PEs, that they cut a dim at the outer level, or below, and
    how full the buffers are of tensors' boxes.
    """
    sizes = np.array([layer.loops[dim] for dim in DIMS])
    cut = [rows[:, first : first + COUNT] < sizes for first in (OUTER_TILE, INNER_TILE)]
    spread = [rows[:, [at]] == np.arange(COUNT) for at in (OUTER_PARALLEL, INNER_PARALLEL)]
    l1, l2 = _fullness(layer, machine, rows)
    full = [share[:, np.newaxis] > np.array(SHARES) for share in (l1, l2)]
    over = (np.maximum(l1, l2) > 1)[:, np.newaxis]
    chances = [share if dim in "CRS" else USUAL for share in (ACROSS, SUMMED) for dim in DIMS]
    chances += [SUMMED if dim in "RS" else USUAL for dim in DIMS] * 2
    chances += [FULL] * 2 * len(SHARES) + [BOXES]
    return np.concatenate([*spread, *cut, *full, over], axis=1), np.array(chances)


def _fullness(layer: Layer, machine: Accelerator, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """How full one PE's L1 and L2 are, (n,) each, of two boxes of each tensor, rows between strides too."""
    sizes, each = np.array([layer.loops[dim] for dim in DIMS], np.float64), np.arange(len(rows))
    outer = np.clip(rows[:, OUTER_TILE : OUTER_TILE + COUNT], 1, sizes)
    inner = np.clip(rows[:, INNER_TILE : INNER_TILE + COUNT], 1, outer)
    spread = rows[:, OUTER_PARALLEL]
    outer[each, spread] *= np.maximum(machine.num_pes // np.maximum(rows[:, CLUSTER], 1), 1)
    outer = np.minimum(outer, sizes)
    held = []
    for tile, capacity in ((inner, machine.l1_size), (outer, machine.l2_size)):
        k, c, y, x, r, s = tile.T
        height = (y - 1) * layer.stride[0] + (r - 1) * layer.dilation[0] + 1
        width = (x - 1) * layer.stride[1] + (s - 1) * layer.dilation[1] + 1
        held.append(2 * (c * height * width + k * c * r * s + k * y * x) / max(capacity, 1))
    return held[0], held[1]
