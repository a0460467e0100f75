"""The bounds of a proof over a space of perfect factors, under `loopnest`.

1. A group is a *shape*: a choice of outer tiles, cluster size and outer parallel dim. It alone decides what
   L2 must hold and, with the outer order, all DRAM traffic. Its bound: its orders' exact DRAM words and time
   on the link, with no less in an outer step than the busiest PE's work (`shapes`).
2. To solve a shape, its inner parallel dims and inner tiles are gone through dim by dim: all that begin with
   the same tiles are left out together if they can be (`pieces`). What is left gets a bound: the words of
   three cases, by which tensor can stay in L1 as the innermost loop advances (`tiles`).
3. Where that is below the best loss found, all orders that differ are priced, exactly (`orders`).

The rules of feasibility beyond the buffers never decide here: the model counts all MACs, and each of its
steps takes the busiest PE's work, so cycles are below neither floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dse.domains.clustered.limits import FIGURES
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Choice, Groups, Rounds, Solution, Value, Winner
from dse.models.loopnest.proof.boxes.bounds import BoxBounds
from dse.models.loopnest.proof.instance import refuse
from dse.models.loopnest.units import in_units, of_tensors
from dse.support.arrays import FloatArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest
    from dse.models.loopnest.proof.instance import Instance

__all__ = ["GROUP", "LoopNestBounds", "least_area", "make_bounds", "refuse"]

KERNELS = "dse.models.loopnest.proof.kernels"
BOXES = "dse.models.loopnest.proof.boxes.kernels"
USED = ("dse.models.loopnest",)
"""The price kernel, whose formulas both share."""
GROUP = "outer tiles, cluster size and parallel dims"


@dataclass(frozen=True)
class LoopNestBounds:
    """A problem's shapes under `loopnest`; `kernels` are compiled, and take the arrays of `instance`."""

    instance: Instance
    kernels: Any

    rounds: ClassVar[Rounds] = Rounds(first=8, most=256, blocks=4)
    # Shapes are too many to list.
    lists_solved: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = tuple(FIGURES)

    @property
    def groups(self) -> int:
        """How many shapes there are."""
        return self.instance.shapes

    @property
    def nothing_fits(self) -> bool:
        """Whether no inner tiles fit in L1."""
        return not self.instance.inner_tiles[:, 0].all()

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """The least of a shape's outer orders, with the least work in a step."""
        self.kernels.bound_shapes(start, stop, *self.instance.arrays, losses, tie_breaks)

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best of all inner tiles, parallel dims and orders of the shapes that could have it."""
        kernels = self.kernels
        best, place = np.array(to_beat), np.zeros(kernels.AT_HAND, np.int64)
        done = np.zeros(kernels.DONE, np.int64)
        bounds = groups.numbers, groups.losses, groups.tie_breaks
        kernels.search_shapes(*bounds, *self.instance.arrays, best, place, done)
        value = (float(best[0]), float(best[1]))
        winner = self._winner(place.tolist()) if value < to_beat else None
        return Solution(value, winner, int(done[kernels.LOOKED_AT]))

    def _winner(self, place: list[int]) -> Winner:
        """The mapping that stands there."""
        kernels, instance, choice = self.kernels, self.instance, np.empty(6, np.int64)
        kernels.read_shape.py_func(
            place[kernels.SHAPE], instance.outer_tiles, instance.clusters, instance.parallels, choice
        )
        outer_tiles = [int(instance.outer_tiles[dim, 1 + choice[dim]]) for dim in range(4)]
        inner_tiles = place[kernels.TILES : kernels.TILES + 4]
        return Winner(
            Choice(int(instance.parallels[0, 1 + choice[5]]), place[kernels.OUTER_ORDER], outer_tiles),
            int(instance.clusters[choice[4]]),
            Choice(place[kernels.PARALLEL], place[kernels.INNER_ORDER], inner_tiles),
        )

    def floor(self) -> float:
        """The loss of full use of all lanes and links, every word moved once."""
        instance = self.instance
        return float(self.kernels.floor(instance.params, instance.constants, instance.terms, instance.real))


def make_bounds(problem: Problem) -> LoopNestBounds | BoxBounds:
    """The problem's shapes, or its boxes where tiles are of any size, if it is not refused."""
    if problem.tiles == "any":
        return BoxBounds(problem, load_kernels(BOXES, *USED))
    kernels = load_kernels(KERNELS, *USED)
    return LoopNestBounds(kernels.make_instance(problem), kernels)


def least_area(problem: Problem) -> float:
    """The area of one PE with buffers for tiles of one output, which every mapping needs."""
    layer = problem.layer
    # A window of inputs, its weights and the output, all of them twice.
    taps, machine = layer.R * layer.S, problem.accelerator
    of_input, of_weights, of_output = of_tensors(layer, machine)
    need = 2 * (taps * of_input + of_weights + of_output)
    constants = in_units(cast("LoopNest", problem.model).constants, machine)
    lanes = min(problem.parts.values_of("simd_lanes", problem.accelerator))
    return float(constants.area_of(1, lanes, need, need))
