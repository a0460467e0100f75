"""What an analytical cost model says of mappings that another one judges: its optimum, its counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.core.clock import Clock
from dse.core.domains import prover_of
from dse.core.listed import Wanted
from dse.core.reasons import Reason
from dse.core.space import Space
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.terms import terms_of
from dse.domains.clustered.traits import traits_of
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

MISFITS = (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)
POINTS, ROUNDS, KEPT = 2000, 12, 12


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
