"""Mappings onto machines of levels as boxes, for the engine (`dse.proof`).

A box is a `Node`: a choice of what levels keep, a pattern of the orders, and some factors of every component
of dims. Its bound is that of `relaxation`, which leaves out factors that cannot beat the best mapping. A node
is divided by what the innermost loop of a level is, from the outermost level in, and then by how large tiles
are. Of one with few choices left the mappings are priced by the problem itself, in all orders of its pattern;
so are all mappings of a space of few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from dse.core.clock import Clock
from dse.core.objective import objective_named
from dse.domains.levels.layout import RowArray
from dse.domains.levels.nests import nest_keys
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.bounds import GROUP
from dse.models.timeloop.proof.branches import branches_of
from dse.models.timeloop.proof.floors import least_cycles, least_loss
from dse.models.timeloop.proof.nodes import (
    MOST_KEPT,
    Node,
    WholeChains,
    every_chain,
    pack_nodes,
    put_away,
    unpack_nodes,
)
from dse.models.timeloop.proof.room import SLACK
from dse.models.timeloop.proof.terms import unit_of_loss
from dse.proof.contract import Bounded, Children, Found, Rounds, boxes_of
from dse.support.arrays import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.domains.levels.mapping import HierarchyMapping

ROUNDS = 24
"""Of the relaxation, for one node."""
ALIKE = 0.005
"""Bounds of latency that differ by less are alike: most nodes have the least latency, or nearly so."""
PRICED_AT_ONCE = 256
MAX_WHOLE = 8192
"""Mappings up to which a space is priced whole: to bound parts of it takes longer."""
ROWS_AT_ONCE = 100_000
"""Rows that are priced at once where chains are written in every order."""
MAX_TIED = 200_000
"""Mappings equal to the best but for rounding, up to which each is priced: beyond, one of them is enough."""
WHOLE = 1e-6
"""By how much a number of cycles, which are whole, may be off."""


class LevelBoxes:
    """The boxes of a problem: see `dse.proof.contract`. Within, bounds are logarithms, in cycles and pJ.

    With `every`, no nest gives way to one that is as good or better: for lists of all that are good. When the
    time of `clock` is over, a call looks at its first box and leaves the others as they are.
    """

    kind = GROUP

    def __init__(
        self,
        problem: MachineProblem,
        *,
        may_be_small: bool = True,
        every: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._problem, self._every, self._clock = problem, every, clock or Clock()
        objective, self._hertz = objective_named(problem.objective), float(problem.criteria.hertz)
        self._unit = unit_of_loss(objective, self._hertz)
        self._of_latency = objective.exponents == {"latency": 1}
        self.rounds = Rounds(least=8, most=8, share=1, alike=ALIKE if self._of_latency else 0.0)
        self.is_small = may_be_small and problem.space.mappings <= MAX_WHOLE and not problem.accelerator.even
        self._branches = branches_of(problem, every=every)
        self._tied = self._tied_before = 0
        self._counting = Lock()

    @cached_property
    def _floor(self) -> float:
        """What no mapping costs less than, whatever levels store."""
        if self._of_latency:
            return math.ceil(least_cycles(self._problem) - WHOLE) / self._hertz
        return least_loss(self._problem) * (1 - SLACK)

    def mapping_of(self, row: RowArray) -> HierarchyMapping:
        """The mapping that a row is."""
        return self._problem.space.layout.decode(row)

    def roots(self) -> AnyArray:
        """See Boxes: one for every choice of what levels keep; none if too few MACs can be at work."""
        return boxes_of(self._branches.roots())

    def bound(self, boxes: AnyArray, to_beat: float) -> Bounded:
        """See Boxes. On the way some whole chains near where relaxations ended are priced."""
        losses, found, target = np.zeros(len(boxes)), [], self._target(to_beat)
        for place, node in enumerate(() if self.is_small else boxes):
            if not node.chains or self._is_late(place):
                losses[place], boxes[place] = self._floor, put_away(node)
                continue
            new, near = self._branches[node.branch].relaxed(node, target, ROUNDS)
            if new is None:
                losses[place] = to_beat
                continue
            found += self._price(new, near, to_beat)
            losses[place] = self._loss(new.bound)
            boxes[place] = put_away(new) if self._is_many(new) else new
        return Bounded(losses, _found(found))

    def divide(self, boxes: AnyArray, bounds: FloatArray, to_beat: float) -> Children:
        """See Boxes."""
        # All that is settled and bounded in a round goes by what was tied before it.
        self._tied_before, parts, parents = self._tied, [], []
        target = self._target(to_beat)
        for place, node in enumerate(boxes):
            if self._is_late(place):
                here = [node]
            else:
                known = self._known(node, target)
                here = [] if known is None else self._parts(known, target) or []
            parts += here
            parents += [place] * len(here)
        return Children(boxes_of(parts), np.array(parents, dtype=np.int64))

    def settle(self, boxes: AnyArray, to_beat: float) -> Found:
        """See Boxes."""
        found, target = [], self._target(to_beat)
        for node in boxes:
            known = self._known(node, target)
            if known is not None and self._parts(known, target) is None:
                found += self._price(known, self._whole(known, target), to_beat)
        return _found(found)

    def keys(self, designs: Sequence[RowArray]) -> IntArray:
        """See Boxes: of rows that are the same nest."""
        return nest_keys(self._problem.accelerator, self._problem.space.layout, np.array(designs))

    def pack(self, boxes: AnyArray, bounds: FloatArray) -> bytes:
        """See Boxes."""
        return pack_nodes(boxes, bounds)

    def unpack(self, kept: bytes) -> tuple[AnyArray, FloatArray]:
        """See Boxes."""
        nodes, bounds = unpack_nodes(kept)
        return boxes_of(nodes), bounds

    def _is_late(self, place: int) -> bool:
        return place > 0 and self._clock.over

    def _is_many(self, node: Node) -> bool:
        """Whether a node's chains are rather made again: of uneven nests there are many such nodes."""
        return self._problem.accelerator.even is not None and node.held > MOST_KEPT

    def _target(self, to_beat: float) -> float:
        """The logarithm, in cycles, pJ or both, of what a loss below `to_beat` is below."""
        best = to_beat / self._unit
        if best == math.inf:
            return math.inf
        if self._of_latency:
            # What is as fast as the limit of a list, but for rounding, is on it, or is left out by its loss.
            best = math.floor(best + WHOLE) if self._every else math.ceil(best - WHOLE) - 1
            return math.log(best + WHOLE) if best >= 0 else -math.inf
        if best <= 0:
            return -math.inf
        return math.log(best) + (SLACK if self._every or self._tied_before <= MAX_TIED else -SLACK)

    def _loss(self, bound: float) -> float:
        """The loss that a mapping has at least where that is the logarithm of it: cycles are whole."""
        if self._of_latency:
            return math.ceil(math.exp(bound) - WHOLE) / self._hertz
        return math.exp(bound - SLACK) * self._unit

    def _known(self, node: Node, target: float) -> Node | None:
        """A node as its relaxation left it, which is not kept from run to run; None if that rules it out."""
        if node.base > -math.inf or self.is_small or not node.chains:
            return node
        return self._branches[node.branch].relaxed(node, target, ROUNDS)[0]

    def _parts(self, node: Node, target: float) -> list[Node] | None:
        """The parts of a node; None where its mappings are to be priced."""
        if not node.chains:
            return self._branches.parts(node)
        return None if self.is_small else self._branches[node.branch].parts(node, target)

    def _whole(self, node: Node, target: float) -> WholeChains:
        return every_chain(node) if self.is_small else self._branches[node.branch].whole(node, target)

    def _price(self, node: Node, found: WholeChains, to_beat: float) -> list[tuple[float, RowArray]]:
        """Whole chains in the orders of a node's pattern, the likeliest first: each mapping that is better
        than those before it, with its loss; where `every` one is asked for, each below `to_beat`.
        """
        if self._every:
            return self._price_every(node, found, to_beat)
        ranked, better, target = np.argsort(found.losses, kind="stable"), [], self._target(to_beat)
        for start in range(0, len(ranked), PRICED_AT_ONCE):
            chosen = ranked[start : start + PRICED_AT_ONCE]
            if found.losses[chosen[0]] - SLACK >= target:
                break
            branch = self._branches[node.branch]
            rows = branch.rows.write(node.pattern, branch.keep, found.chains[chosen])
            if not len(rows):
                continue
            losses = self._problem.price_rows(rows).loss
            best, tied = int(losses.argmin()), int((found.losses[chosen] >= target - 3 * SLACK).sum())
            with self._counting:
                self._tied += tied
            if losses[best] < to_beat:
                to_beat = float(losses[best])
                target = self._target(to_beat)
                better.append((to_beat, rows[best].copy()))
        return better

    def _price_every(self, node: Node, found: WholeChains, to_beat: float) -> list[tuple[float, RowArray]]:
        """Whole chains in every order of a node's pattern: the mappings below `to_beat`."""
        near, target = [], self._target(to_beat)
        chains, at, count = found.chains[found.losses - SLACK < target], 0, 16
        while at < len(chains):
            branch, chosen = self._branches[node.branch], chains[at : at + count]
            rows = branch.rows.write(node.pattern, branch.keep, chosen)
            at, count = at + count, max(1, min(PRICED_AT_ONCE, ROWS_AT_ONCE * count // max(len(rows), 1)))
            if len(rows):
                losses = self._problem.price_rows(rows).loss
                here = np.flatnonzero(losses < to_beat)
                near += list(zip(losses[here].tolist(), rows[here], strict=True))
        return near


def _found(better: Sequence[tuple[float, RowArray]]) -> Found:
    return Found(np.array([loss for loss, _ in better]), [row for _, row in better])
