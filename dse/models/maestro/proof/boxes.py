"""Boxes of mappings under MAESTRO, as the engine of proofs has them (`dse.proof.contract`).

1. A root is a cluster size and an outer parallel dim, with all tiles of both levels. Outer tiles decide, with
   the outer order, energy, the need of L2, and how long each step waits for its data: they are divided first,
   until one is left for each dim.
2. Then the inner parallel dim is chosen, and inner tiles are divided, that of the parallel dim first, until
   few mappings are left: those are priced, by the cost model itself (`settled`).

Perfect factors are the same search over fewer tiles: they leave no edges, so that bounds are closer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import RowBoxes
from dse.domains.clustered.proof.choices import allowed_orders, cluster_sizes, parallel_dims, tile_chains
from dse.models.maestro.proof import box
from dse.models.maestro.proof.near import Pool
from dse.models.maestro.proof.outer import energy_nj
from dse.models.maestro.proof.records import DIMS, Given, make_given, make_scratch, of_buffers
from dse.models.maestro.proof.settled import HIGH, INNER_HIGH, LOW, Settled, inner_counts
from dse.proof.contract import Bounded, Children, Found, Rounds
from dse.support.arrays import FloatArray, IntArray
from dse.support.compiling import as_kernel
from dse.support.errors import InputError
from dse.support.numerics.losses import loss_value

FEW = 64
"""Inner tiles that are priced without being divided further."""

WORK_A_POOL, WORK_A_MAPPING = 400_000, 4
"""Boxes bounded, of which a mapping priced is worth so many, between two searches around the best one."""


@dataclass(frozen=True)
class MaestroBoxes(RowBoxes):
    """The boxes of a problem that is not refused: rows (n, 22), see `box`.

    With `every`, no order gives way to one that is as good or better: for lists of all that are good. What
    else is left out is infeasible, or not below what is to be beaten.
    """

    problem: Problem
    work: list[int] = field(default_factory=list)
    every: bool = False

    kind: ClassVar[str] = "cluster size, parallel dims and intervals of tiles"
    columns: ClassVar[int] = box.ROW
    # The search is mostly over before descents would have found a mapping.
    begin_late: ClassVar[bool] = True
    rounds: ClassVar[Rounds] = Rounds(least=16, most=4096, share=64)

    @cached_property
    def given(self) -> Given:
        """What the kernels know."""
        return make_given(self.problem, every=self.every)

    @cached_property
    def _settled(self) -> Settled:
        return Settled(self.problem, self.given, self.every)

    @cached_property
    def _pool(self) -> Pool:
        return Pool(self.problem)

    def roots(self) -> IntArray:
        """See Boxes."""
        problem, chains = self.problem, tile_chains(self.problem)
        choices = self._choices()
        rows = np.zeros((len(choices), box.ROW), np.int64)
        rows[:, HIGH] = [len(chain.outer_choices) - 1 for chain in chains]
        if not of_buffers(problem):
            # Else the smallest inner tiles are the best.
            rows[:, INNER_HIGH] = np.count_nonzero(self.given.inner_tiles, axis=1) - 1
        rows[:, [box.CLUSTER, box.PARALLEL, box.INNER, box.CLUSTERS, box.PES]] = choices
        rows[:, box.ORDERS] = sum(1 << order for order in allowed_orders(problem)[0])
        return rows

    def _choices(self) -> list[tuple[int, ...]]:
        """Cluster sizes, outer and inner parallel dims, numbers of clusters, and PEs."""
        problem, pes = self.problem, self.problem.accelerator.num_pes
        pairs = product(cluster_sizes(problem).tolist(), parallel_dims(problem)[0])
        return [(cluster, outer, -1, pes // cluster, pes) for cluster, outer in pairs]

    def bound(self, boxes: IntArray, to_beat: float) -> Bounded:
        """See Boxes."""
        losses = np.empty(len(boxes))
        box.bound_boxes(boxes, self.given, make_scratch(), to_beat, losses)
        self.work.append(len(boxes))
        return Bounded(losses)

    def divide(self, boxes: IntArray, bounds: FloatArray, to_beat: float) -> Children:
        """See Boxes."""
        wide = np.any(boxes[:, LOW] < boxes[:, HIGH], axis=1)
        chosen = boxes[:, box.INNER] >= 0
        counts = inner_counts(boxes)
        many = ~wide & chosen & (counts.prod(axis=1) > FEW)
        halved = np.flatnonzero(wide | many)
        lower = boxes[halved].copy()
        upper = lower.copy()
        outer = wide[halved]
        lower[outer], upper[outer] = self._halve_outer(lower[outer])
        lower[~outer], upper[~outer] = self._halve_inner(lower[~outer])
        unchosen = np.flatnonzero(~wide & ~chosen)
        dims = parallel_dims(self.problem)[1]
        spread = np.repeat(boxes[unchosen], len(dims), axis=0)
        spread[:, box.INNER] = np.tile(dims, len(unchosen))
        parents = [halved, halved, np.repeat(unchosen, len(dims))]
        return Children(np.concatenate([upper, lower, spread]), np.concatenate(parents))

    def _halve_outer(self, boxes: IntArray) -> tuple[IntArray, IntArray]:
        """Lower and upper parts of boxes: the parallel dim comes first, as its costs jump."""
        sizes, table, dims = self.given.layers["sizes"][0], self.given.outer_tiles, np.arange(DIMS)
        low, high = table[dims, boxes[:, LOW]], table[dims, boxes[:, HIGH]]
        # The dim whose steps differ most, by ratio; where none do, by a tenth of what tiles differ.
        fewer = np.maximum(-(-sizes // low) / -(-sizes // high), 1.0 + 0.1 * (high / low - 1.0))
        parallel, each = boxes[:, box.PARALLEL], np.arange(len(boxes))
        widest = np.where(low < high, fewer, 0.0).argmax(axis=1)
        dim = np.where(low[each, parallel] < high[each, parallel], parallel, widest)
        low, high, size = low[each, dim], high[each, dim], sizes[dim]
        last = np.where(dim == parallel, middle(low, high), last_of_lower(low, high, size))
        return halves(boxes, 2 * dim, dim, table, last)

    def _halve_inner(self, boxes: IntArray) -> tuple[IntArray, IntArray]:
        """Lower and upper parts of boxes by an inner tile, of the parallel dim first."""
        table, counts, each = self.given.inner_tiles, inner_counts(boxes), np.arange(len(boxes))
        parallel = boxes[:, box.INNER]
        # That of a filter dim is its piece.
        of_tiles = np.minimum(parallel, DIMS - 1)
        first = (parallel < DIMS) & (counts[each, of_tiles] > 1)
        dim = np.where(first, parallel, counts.argmax(axis=1))
        low, high = table[dim, boxes[each, 8 + 2 * dim]], table[dim, boxes[each, 9 + 2 * dim]]
        return halves(boxes, 8 + 2 * dim, dim, table, middle(low, high))

    def settle(self, boxes: IntArray, to_beat: float) -> Found:
        """See Boxes."""
        losses, designs = [np.empty(0)], [np.empty((0, self._settled.width), np.int64)]
        for rows in self._settled.rows(boxes):
            found = self._losses(rows)
            better = found < to_beat
            losses.append(found[better])
            designs.append(rows[better])
            self.work.append(WORK_A_MAPPING * len(rows))
        return Found(np.concatenate(losses), np.concatenate(designs))

    def _losses(self, rows: IntArray) -> FloatArray:
        """What rows of mappings cost."""
        return self.problem.evaluate(MappingBatch(rows)).loss

    def improve(self, design: Any, loss: float) -> Found:
        """Now and then, mappings around the best one: what a proof of latency ends with."""
        if sum(self.work) < WORK_A_POOL or self.given.perfect or self.every:
            return Found(np.empty(0), ())
        self.work.clear()
        return self._pool.improve(design, loss)

    def with_all(self) -> MaestroBoxes:
        """See MappingBoxes; InputError where the smallest inner tiles stand for all."""
        if of_buffers(self.problem):
            raise InputError(
                f"under cost model 'maestro' mappings near the optimum of {self.problem.objective!r} are not "
                "listed; those of latency, energy and products of their powers such as 'edp' are"
            )
        return replace(self, every=True)

    def floor(self) -> float:
        """The loss of full use of all lanes, with nothing read."""
        machine, terms = self.given.machines[0], self.given.terms
        if machine.of_buffers:
            return float(as_kernel(box.loss_of_buffers)(machine, 0, terms))
        cycles = -(-self.problem.layer.macs // int(machine.pes * machine.lanes))
        energy = energy_nj.py_func(self.given.layers[0], 0, 0, 0)
        return float(loss_value(terms, (cycles / machine.hertz, energy)))


def middle(low: IntArray, high: IntArray) -> IntArray:
    """The last tiles of lower halves, by their ratio."""
    return np.clip(np.sqrt(low.astype(float) * high).astype(np.int64), low, high - 1)


def last_of_lower(low: IntArray, high: IntArray, size: IntArray) -> IntArray:
    """The last tile of the lower half of intervals of a temporal loop: where the steps change, if they do.

    Else the smallest tile, which is mostly the best of so many steps.
    """
    half = middle(low, high)
    steps = -(-size // half)
    last = (size - 1) // np.maximum(steps - 1, 1)
    last = np.where((steps > 1) & (last < high), last, -(-size // steps) - 1)
    return np.where(-(-size // low) == -(-size // high), low, last)


def halves(
    boxes: IntArray, column: IntArray, dim: IntArray, table: IntArray, last: IntArray
) -> tuple[IntArray, IntArray]:
    """Parts of boxes (n, 22) whose interval in a `column` (n,) ends with the `last` tile, and the others.

    If that is none of the tiles of its `dim` in the `table`, with the one before it, or with the first.
    """
    each = np.arange(len(boxes))
    # In a sorted table, by halving: of all boxes at once.
    first, end = boxes[each, column], boxes[each, column + 1] - 1
    while np.any(first < end):
        at = (first + end + 1) // 2
        below = table[dim, at] <= last
        first, end = np.where(below, at, first), np.where(below, end, at - 1)
    lower, upper = boxes.copy(), boxes.copy()
    lower[each, column + 1], upper[each, column] = first, first + 1
    return lower, upper
