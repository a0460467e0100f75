"""The bounds of a proof over a space of perfect factors, under MAESTRO.

Perfect factors leave one inner problem to a mapping (no tile is cut short), and the two levels meet in one
number, the inner cycles:

* energy, needed L2, area and power depend on the outer tiles, parallel dim and order and on the cluster
  size; needed L1 on the inner tiles;
* cycles rise with the inner cycles, which depend on the outer tiles, the cluster size and the inner level.

So the outer tiles and the cluster size make a *group*. Its bound is the least loss of its outer
configurations that fit in L2, were the inner level as fast as its longest-running PE and its first data let
it be. To solve it is to enumerate its inner levels for the fewest inner cycles. Where limits ask for busy
PEs, the outer parallel dim says how many steps are left to the inner level: a group is solved for each.

The rules of feasibility beyond the buffers never decide here. With perfect factors the serial floor is the
number of outer steps times that of inner steps times a step's work, each step costs its work at least, and
no lanes or clusters do more than their share: cycles are never below either floor, and the MACs that
MAESTRO reports are never below the layer's. The best mapping is priced by the problem all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.core.certificate import Solved
from dse.core.limits import PE_USE
from dse.domains.clustered.area import environment_area
from dse.domains.clustered.limits import FIGURES
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Choice, Groups, Rounds, Solution, Value, Winner
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.maestro.proof.boxes.bounds import BoxBounds
from dse.models.maestro.proof.instance import refuse
from dse.support.arrays import BoolArray, FloatArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.models.maestro.proof.instance import Instance

__all__ = ["GROUP", "MaestroBounds", "least_area", "make_bounds", "refuse"]

BOXES = "dse.models.maestro.proof.boxes.kernels"
USED = ("dse.models.maestro", "dse.models.maestro.proof")
"""The price kernel, and the formulas that both proofs share."""
GROUP = "outer tiles and cluster size"
NOTHING: Value = (math.inf, -math.inf)


@dataclass(frozen=True)
class MaestroBounds:
    """A problem's groups under MAESTRO; `kernels` are compiled, and take the arrays of `instance`."""

    problem: Problem
    instance: Instance
    kernels: Any

    # One at a time: a solution often rules out the next group, and a certificate lists each one.
    rounds: ClassVar[Rounds] = Rounds(first=1, most=1, blocks=1)
    lists_solved: ClassVar[bool] = True
    limits: ClassVar[tuple[str, ...]] = tuple(FIGURES)

    @property
    def groups(self) -> int:
        """How many choices of outer tiles and cluster size there are."""
        return self.instance.groups

    @property
    def nothing_fits(self) -> bool:
        """Whether the smallest inner tiles are too large for L1."""
        params = self.instance.params
        return bool(params[self.kernels.SMALLEST_L1] > params[self.kernels.L1])

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """The least of a group's outer configurations, with a bound of its inner cycles."""
        self.kernels.bound_groups(start, stop, *self.instance.outer, losses, tie_breaks)

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The same with the fewest inner cycles that there are."""
        best, winner, inner_levels, solved = to_beat, None, 0, []
        for number in groups.numbers:
            for dims, left, name in self._ways(number):
                value, found, tried, cycles = self._solve_one(number, dims, left)
                inner_levels += tried
                solved.append(Solved(tuple(found.outer.tiles), found.cluster, cycles, name))
                if cycles and value < best:
                    best, winner = value, found
        return Solution(best, winner, inner_levels, tuple(solved))

    def _ways(self, number: int) -> Iterator[tuple[BoolArray, int, str]]:
        """The outer parallel dims of a group together, or, where limits leave inner levels other steps with
        each, one by one: a mask, the steps that are left, and the dim's name.
        """
        kernels, instance = self.kernels, self.instance
        if PE_USE not in self.problem.use.limits:
            yield instance.parallels[0], int(instance.params[kernels.MOST_STEPS]), ""
            return
        tiles, left = np.empty((2, 4), np.int64)
        cluster = kernels.read_group.py_func(number, instance.outer_tiles, instance.clusters, tiles)
        both, fixed = instance.parallels, instance.fixed_inner
        kernels.steps_left(tiles, cluster, instance.params, both[0], both[1], fixed, left)
        for dim in np.flatnonzero(left).tolist():
            yield np.arange(4) == dim, int(left[dim]), MAPPED_DIMS[dim]

    def _solve_one(self, number: int, dims: BoolArray, left: int) -> tuple[Value, Winner, int, int]:
        """The value and place of a group's best mapping, inner levels looked at, and its inner cycles.

        It is that of some outer parallel `dims`, whose busiest PE has no more steps `left`; without an inner
        level of so few the cycles are 0.
        """
        kernels, instance = self.kernels, self.instance
        tiles, inner = np.empty(4, np.int64), np.empty(kernels.INNER, np.int64)
        place = np.zeros(kernels.BEST, np.int64)
        cluster = int(kernels.read_group.py_func(number, instance.outer_tiles, instance.clusters, tiles))
        params, *others = instance.inner
        params = params.copy()
        params[kernels.MOST_STEPS] = left
        tried = kernels.solve_inner(tiles, cluster, params, *others, inner)
        cycles, value = int(inner[kernels.CYCLES]), NOTHING
        if cycles == kernels.NO_CYCLES:
            cycles = 0
        else:
            level, scratch = instance.outer_level, kernels.level_scratch()
            value = kernels.group_loss(tiles, cluster, cycles, *level[:3], dims, *level[4:], *scratch, place)
        parallel, order = int(place[kernels.BEST_PARALLEL]), int(place[kernels.BEST_ORDER])
        inner_tiles = inner[kernels.TILES :].tolist()
        winner = Winner(
            Choice(parallel, order, tiles.tolist()),
            cluster,
            Choice(int(inner[kernels.PARALLEL]), int(inner[kernels.ORDER]), inner_tiles),
        )
        return value, winner, tried, cycles

    def floor(self) -> float:
        """The loss of full use of all lanes, with nothing read and no L2."""
        problem, machine = self.problem, self.problem.accelerator
        cycles = -(-problem.layer.macs // (machine.num_pes * machine.simd_lanes))
        return float(self.kernels.least_loss(*self.instance.outer_level[:3], cycles))


def make_bounds(problem: Problem) -> MaestroBounds | BoxBounds:
    """The problem's groups, or its boxes where tiles are of any size, if it is not refused."""
    if problem.tiles == "any":
        return BoxBounds(problem, load_kernels(BOXES, *USED))
    kernels = load_kernels("dse.models.maestro.proof.kernels")
    return MaestroBounds(problem, kernels.make_instance(problem), kernels)


def least_area(problem: Problem) -> float:
    """The area of the fewest PEs with buffers for tiles of one output, which every mapping needs."""
    layer, machine = problem.layer, problem.accelerator
    # MAESTRO charges the halo to the output too. One of the filter's dims may be in pieces of one.
    pieces = [size for dim, size in (("R", layer.R), ("S", layer.S)) if dim in problem.parts.dims]
    need = 3 * 2 * layer.R * layer.S // max(pieces, default=1)
    pes, l1, l2 = np.array([[min(problem.parts.values_of("num_pes", machine))], [need], [1]])
    return float(environment_area(pes, l1, l2)[0])
