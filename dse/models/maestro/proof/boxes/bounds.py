"""The bounds of a proof over tiles of any size, under `maestro`.

1. A *box* is a cluster size, an outer parallel dim and for each dim an interval of outer tiles. They decide,
   with the outer order, energy, the need of L2, and how long each step waits for its data. A box's bound is
   that of its fewest steps and smallest tiles (`outer`), or of what all tiles of a loop bring together
   (`totals`), with no fewer cycles than its busiest PE (`inner`).
2. The box with the lowest bound is split in two, until one tile is left for each dim. Then all inner levels
   that could be better than the best mapping are priced, by the model's own kernel (`point`).
3. All boxes wait in one heap (`search`): the first of it is the bound of whatever is left.

The rules of feasibility decide here: MAESTRO drops work at edges, and of what is below the serial floor
nothing counts. So the best mapping is often one whose dropped work just makes up for its overhead, which is
hard to come by: a search begins (`near`). Losses alone are compared: of mappings with the same loss, any may
be the best one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered import feasibility_kernel
from dse.domains.clustered.limits import FIGURES
from dse.domains.clustered.mapping import (
    COLUMNS,
    INNER_ORDER,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_TILE,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Groups, Rounds, Solution, Value, winner_of
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    parallel_dims,
    tile_chains,
)
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.maestro import layer_row
from dse.models.maestro.grouped import MAX_GROUPS, WORK_ROWS
from dse.models.maestro.proof import level
from dse.models.maestro.proof.boxes.near import Pool
from dse.models.maestro.proof.groups import least_loss
from dse.models.maestro.proof.instance import AFTER_TABLE, distinct_orders, params_of
from dse.support.arrays import FloatArray, IntArray

MAPPED = len(MAPPED_DIMS)
WORK_A_CALL = 200_000
"""Mappings priced, or as much other work, between two looks at the clock: about a quarter of a second."""
FIRST_BOXES, MAX_BOXES = 2**14, 2**23
"""Places in the heap, to begin with and at most: a place takes 104 bytes."""


@dataclass
class Heap:
    """The boxes that are left: the first `count` of their bounds and rows, and how many there ever were."""

    bounds: FloatArray
    rows: IntArray
    count: int = 0
    came: int = 0

    def left(self, best: float) -> float | None:
        """The bound of what is left, if that is below the best loss."""
        return float(self.bounds[0]) if self.count and self.bounds[0] < best else None

    def grow(self) -> bool:
        """Make room for more, if there may be more."""
        room = len(self.bounds)
        if self.count + 2 <= room:
            return True
        if 2 * room > MAX_BOXES:
            return False
        self.bounds = np.concatenate([self.bounds, np.empty(room)])
        self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        return True


@dataclass(frozen=True)
class BoxBounds:
    """A problem's boxes, which are one group; see `dse.domains.clustered.proof.bounds.Bounds`."""

    problem: Problem
    kernels: Any
    heaps: list[Heap] = field(default_factory=list)

    rounds: ClassVar[Rounds] = Rounds(first=1, most=1, blocks=1, part=1)
    lists_solved: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = tuple(FIGURES)
    nothing_fits: ClassVar[bool] = False
    groups: ClassVar[int] = 1

    @cached_property
    def _figures(self) -> tuple[Any, ...]:
        """What all kernels take, in their order."""
        problem = self.problem
        fixed = np.array([chain.inner or 0 for chain in tile_chains(problem)], dtype=np.int64)
        parallels = np.zeros(MAPPED, dtype=bool)
        parallels[parallel_dims(problem)[1]] = True
        terms = objective_named(problem.objective).rows(("cycles", "energy_nj"))
        smallest = np.maximum(fixed, 1)
        return params_of(problem, smallest), problem.accelerator.hertz, terms, parallels, fixed, smallest

    @cached_property
    def _pool(self) -> Pool:
        return Pool(self.problem)

    @cached_property
    def _orders(self) -> tuple[IntArray, IntArray]:
        """By level, the orders that differ, by moving loops and parallel dim; all, with what is inside."""
        tables = np.stack([ORDER_TABLE, AFTER_TABLE])
        return np.array(
            [distinct_orders(allowed, best=False) for allowed in allowed_orders(self.problem)]
        ), tables

    @cached_property
    def _rules(self) -> tuple[IntArray, IntArray]:
        """The rules of feasibility, and the layer, as the model's kernels take them."""
        problem, machine = self.problem, self.problem.accelerator
        layer, kernel = problem.space.layer, feasibility_kernel
        rules = np.zeros(kernel.SIZES + kernel.DIM_COUNT, dtype=np.int64)
        rules[kernel.NUM_PES], rules[kernel.LANES] = machine.num_pes, machine.simd_lanes
        rules[kernel.L1], rules[kernel.L2], rules[kernel.MACS] = machine.l1_size, machine.l2_size, layer.macs
        rules[kernel.COMPUTE_FLOOR] = -(-layer.macs // (machine.num_pes * machine.simd_lanes))
        rules[kernel.DEPTHWISE] = layer.type == "DSCONV"
        rules[kernel.SIZES :] = [layer.loops[dim] for dim in (*MAPPED_DIMS, "R", "S")]
        return rules, layer_row(layer)[0]

    def _begin(self) -> Heap:
        """The heap to begin with: a box for each cluster size and outer parallel dim."""
        problem = self.problem
        tiles = [chain.outer_choices for chain in tile_chains(problem)]
        whole = [tile for found in tiles for tile in (found[0], found[-1])]
        choices = product(cluster_sizes(problem).tolist(), parallel_dims(problem)[0])
        roots = np.array([(*whole, *choice, 0, 0) for choice in choices], dtype=np.int64)
        heap = Heap(np.empty(FIRST_BOXES), np.empty((FIRST_BOXES, self.kernels.COLUMNS), np.int64))
        params = self._figures[0]
        if params[level.SMALLEST_L1] <= params[level.L1]:
            heap.count = self.kernels.begin(*self._figures, roots, *self._orders, heap.bounds, heap.rows)
        return heap

    def bound_of(self, box: list[int], cluster: int, spatial: int) -> float:
        """The bound of one box: the low and high outer tile of each dim."""
        root = np.array([(*box, cluster, spatial, 0, 0)], dtype=np.int64)
        bounds, rows = np.full(1, np.inf), np.empty_like(root)
        self.kernels.begin(*self._figures, root, *self._orders, bounds, rows)
        return float(bounds[0])

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """See Bounds. Of mappings with equal losses no proof is made: their tie breaks are the highest."""
        if start < stop:
            heap = self._begin()
            losses[:], tie_breaks[:] = heap.bounds[0] if heap.count else np.inf, np.inf
            self.heaps[:] = [heap]

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best of all mappings, if the work of one call is enough: otherwise what is left says so."""
        (heap,) = self.heaps
        best, row = np.array([to_beat[0]]), np.zeros(COLUMNS, np.int64)
        layer = self.problem.space.layer
        for order, tile in ((OUTER_ORDER, OUTER_TILE), (INNER_ORDER, INNER_TILE)):
            row[order + MAPPED : order + MAPPED + 2] = MAPPED, MAPPED + 1
            row[tile + MAPPED : tile + MAPPED + 2] = layer.R, layer.S
        done, found = np.zeros(self.kernels.DONE, np.int64), np.zeros_like(row)
        room = heap.grow()
        heap.count = self.kernels.go_on(
            heap.count, heap.came, WORK_A_CALL, *self._figures, *self._orders, *self._rules,
            heap.bounds, heap.rows, np.empty((WORK_ROWS, MAX_GROUPS), np.int64), row, best, found, done,
        )  # fmt: skip
        heap.came, loss = int(done[self.kernels.CAME_BY]), float(best[0])
        better = found if loss < to_beat[0] else None
        if heap.left(loss) is not None:
            better, loss = self._pool.improve(better, loss)
        priced, left = int(done[self.kernels.PRICED]), heap.left(loss)
        if better is None:
            return Solution(to_beat, None, priced, left=left, more=room)
        return Solution((loss, 0.0), winner_of(better), priced, left=left, more=room)

    def floor(self) -> float:
        """The loss of full use of all lanes, with nothing read."""
        params, hertz, terms = self._figures[:3]
        return float(least_loss(params, hertz, terms, self._rules[0][feasibility_kernel.COMPUTE_FLOOR]))
