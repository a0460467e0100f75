"""What components contribute to the counts of the model, as logarithms: of every chain, under a pattern.

Deliveries, fan-outs and tiles are as in `dse.models.timeloop.reference`; where a count depends
on how loops of several dims follow each other, what stands here is not above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock

import numpy as np
from numpy.typing import ArrayLike

from dse.domains.levels.machine import Machine
from dse.domains.levels.workload import Workload
from dse.models.timeloop.proof.components import Component, axes_of, tile_words, touched_extent
from dse.models.timeloop.proof.orders import Outside
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

MOTIONS = "dse.models.timeloop.proof.motions"
Terms = list[tuple[int, int]]
"""An axis: places of the dims that move it, with the words of a step."""


class Store:
    """Columns of one component, (columns, chains), each kept once; threads count one after the other."""

    def __init__(self, chains: int) -> None:
        self.counting = RLock()
        self.columns = np.empty((16, chains))
        self._places: dict[object, int] = {}

    def place(self, key: object, parts: Sequence[FloatArray]) -> int:
        """Where the sum of the parts, which the key stands for, is kept."""
        if key not in self._places:
            place = len(self._places)
            if place == len(self.columns):
                self.columns = np.concatenate([self.columns, np.empty_like(self.columns)])
            self.columns[place] = parts[0] if parts else 0.0
            for part in parts[1:]:
                self.columns[place] += part
            self._places[key] = place
        return self._places[key]


@dataclass
class Counts:
    """The counts of one component. What has been counted is kept, and in the store what terms make of it."""

    workload: Workload
    machine: Machine
    component: Component
    _kept: dict[object, FloatArray] = field(default_factory=dict)

    @cached_property
    def store(self) -> Store:
        """Sums of counts, for all branches that have the component."""
        return Store(len(self.component))

    def delivered(self, tensor: int, level: int, outside: Outside) -> FloatArray:
        """Words that one instance of a level receives of a tensor over the run."""
        axes = axes_of(self.workload, tensor, self.component)
        still = self._still(tensor)
        slide = outside.slide
        windows = [self.component.dims[place] for terms in axes if len(terms) > 1 for place, _ in terms]
        if slide is not None and slide[1] not in windows:
            slide = None
        key = (
            "delivered", tensor, level, outside.run if still else None, slide,
            (outside.still, outside.known) if windows else None,
        )  # fmt: skip
        if key not in self._kept:
            words = np.ones(len(self.component))
            for terms in axes:
                words *= self._axis(terms, level, Outside(outside.run, slide, outside.still, outside.known))
            for place in still:
                words *= self._steps(place, outside.run)
            self._kept[key] = np.log(words)
        return self._kept[key]

    def may_meet(self, chains: IntArray) -> BoolArray:
        """Of these chains which have loops that move a window's axis alike, or undo each other."""
        found = np.zeros(len(chains), dtype=np.bool_)
        here = Counts(self.workload, self.machine, self.component.less(chains))
        for tensor in range(len(self.workload.tensors)):
            for terms in axes_of(self.workload, tensor, self.component):
                if len(terms) > 1:
                    _, moves = here._running(terms, len(self.machine.levels))
                    found |= load_kernels(MOTIONS).may_meet(moves)
        return found

    def shared_out(self, tensor: int, level: int, below: int) -> FloatArray:
        """How many different data the children of an instance of a level, down to `below`, ask for."""
        key = ("shared", tensor, level, below)
        if key not in self._kept:
            output = self.workload.tensors[tensor].output
            found = np.ones(len(self.component))
            for place in range(level, below):
                here = self.machine.levels[place]
                spatial = self.component.spatial[..., place]
                if here.reduction if output else here.multicast:
                    for terms in axes_of(self.workload, tensor, self.component):
                        found *= self._different(terms, place)
                else:
                    found *= spatial.prod(axis=1)
            self._kept[key] = np.log(found)
        return self._kept[key]

    def instances(self, level: int) -> FloatArray:
        """The instances of a level at work."""
        return self._once(("instances", level), lambda: self.component.spread[..., level].prod(axis=1))

    def over_instances(self, level: int) -> FloatArray:
        """What is shared out among the instances of a level at work."""
        return self._once(
            ("over instances", level), lambda: 1 / self.component.spread[..., level].prod(axis=1)
        )

    def still_instances(self, tensor: int, level: int) -> FloatArray:
        """Those of them that work on the same words of a tensor."""
        places = self._still(tensor)
        return self._once(
            ("still", tensor, level), lambda: self.component.spread[:, places, level].prod(axis=1)
        )

    def steps(self) -> FloatArray:
        """Steps of the run: temporal factors of all levels."""
        return self._once(("steps",), lambda: self.component.temporal.prod(axis=(1, 2), dtype=np.float64))

    def tile(self, tensor: int, level: int) -> FloatArray:
        """Words of a tensor's tile."""
        return self._once(
            ("tile", tensor, level), lambda: tile_words(self.workload, tensor, self.component, level)
        )

    def fan_out(self, level: int) -> FloatArray:
        """The product of a level's spatial factors."""
        return self._once(("fan out", level), lambda: self.component.spatial[..., level].prod(axis=1))

    def over_fan_out(self, level: int) -> FloatArray:
        """What a level asks for over the product of its spatial factors."""
        return self._once(
            ("over fan out", level), lambda: 1 / self.component.spatial[..., level].prod(axis=1)
        )

    def nothing(self) -> FloatArray:
        """A factor of 1."""
        return self._once(("nothing",), lambda: np.ones(len(self.component)))

    def _once(self, key: object, count: Callable[[], ArrayLike]) -> FloatArray:
        if key not in self._kept:
            self._kept[key] = np.log(np.asarray(count(), dtype=np.float64))
        return self._kept[key]

    def _still(self, tensor: int) -> list[int]:
        """Places of the dims that leave a tensor in place."""
        names, found = self.workload.names, self.workload.tensors[tensor]
        return [
            place for place, dim in enumerate(self.component.dims) if not any(found.coefficients(names[dim]))
        ]

    def _steps(self, place: int, level: int) -> FloatArray:
        """Steps of a dim's loops outside of a level."""
        steps: FloatArray = self.component.temporal[:, place, :level].prod(axis=1, dtype=np.float64)
        return steps

    def _axis(self, terms: Terms, level: int, outside: Outside) -> FloatArray:
        """Words along an axis that an instance receives."""
        steps = np.ones(len(self.component))
        for place, _ in terms:
            steps *= self._steps(place, level)
        whole = touched_extent(terms, self.component, level)
        if len(terms) == 1:
            return whole * steps
        if outside.slide is not None:
            return self._sliding(terms, level, outside.slide, whole, steps)
        if not outside.still and outside.known:
            return whole * steps
        again = whole * self._left_in_place(terms, level)
        if outside.known:
            return again * steps
        return np.minimum(again, self._least_motion(terms, level)) * steps

    def _sliding(
        self, terms: Terms, level: int, slide: tuple[int, int], whole: FloatArray, steps: FloatArray
    ) -> FloatArray:
        """Words along an axis where the innermost loop, of `slide`, moves it: only new rows come with that.

        Another loop brings new rows only, too, if it moves the tile on by as much: see `T_p = T_0`.
        """
        outer, dim = slide
        place = self.component.dims.index(dim)
        if place not in [one for one, _ in terms]:
            return whole * steps
        factor = dict(terms)[place]
        count = self.component.temporal[:, place, outer].astype(np.float64)
        motion = self._motion(place, factor, outer)
        new = np.minimum(whole, motion)
        sliding = (whole + (count - 1) * new) * (steps / count)
        where, moves = self._running(terms, level)
        moves[:, where.index((place, outer))] = 0.0
        alike = _sums_meet(moves, 2 * motion, False)
        return np.where(alike, new * steps, sliding)

    def _motion(self, place: int, factor: int, level: int) -> FloatArray:
        """Words by which a dim's loop at a level moves the axis."""
        component = self.component
        step = component.box[:, place, level + 1] * component.spatial[:, place, level]
        return factor * step.astype(np.float64)

    def _running(self, terms: Terms, level: int) -> tuple[list[tuple[int, int]], FloatArray]:
        """An axis' loops outside of a level, by place and level, and by how much each moves it: (chains,
        loops), 0 where it runs once.
        """
        where = [(place, outer) for place, _ in terms for outer in range(level)]
        moves = np.zeros((len(self.component), len(where)))
        for number, (place, outer) in enumerate(where):
            runs = self.component.temporal[:, place, outer] > 1
            moves[:, number] = np.where(runs, self._motion(place, dict(terms)[place], outer), 0.0)
        return where, moves

    def _left_in_place(self, terms: Terms, level: int) -> FloatArray:
        """The least share of deliveries along an axis that is not left out, where the innermost loop does not
        move the tensor: a loop that undoes what those inside of it moved leaves it in place as well.
        """
        where, moves = self._running(terms, level)
        undone = _sums_meet(moves, np.zeros(len(moves)), True)
        least = np.full(len(moves), np.inf)
        for number, (place, outer) in enumerate(where):
            count = self.component.temporal[:, place, outer]
            least = np.where(moves[:, number] > 0, np.minimum(least, count), least)
        return np.where(undone, 1 - 1 / least, 1.0)

    def _least_motion(self, terms: Terms, level: int) -> FloatArray:
        """The least motion of a loop outside of a level that moves the axis, or all that there is."""
        least = touched_extent(terms, self.component, level)
        _, moves = self._running(terms, level)
        for motion in moves.T:
            least = np.where(motion > 0, np.minimum(least, motion), least)
        return least

    def _different(self, terms: Terms, level: int) -> FloatArray:
        """How many places along an axis the children of an instance of a level are at (rule 3)."""
        component = self.component
        counts = [component.spatial[:, place, level].astype(np.float64) for place, _ in terms]
        if len(terms) == 1:
            return counts[0]
        if len(terms) > 2:
            return np.asarray(np.maximum.reduce(counts))
        motions = [factor * component.box[:, place, level + 1] for place, factor in terms]
        common = np.gcd(*motions)
        first, second = (motion // common for motion in motions)
        apart = np.maximum(0, counts[0] - second) * np.maximum(0, counts[1] - first)
        return np.where(
            (counts[0] > 1) & (counts[1] > 1), counts[0] * counts[1] - apart, counts[0] * counts[1]
        )


def _sums_meet(moves: FloatArray, base: FloatArray, needs_another: bool) -> BoolArray:
    found: BoolArray = load_kernels(MOTIONS).sums_meet(moves, base, needs_another)
    return found
