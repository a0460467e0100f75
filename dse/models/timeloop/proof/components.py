"""The factors of a problem's dims, by component: dims that share an axis of a tensor are of one component.

The rows P and R of a convolution move one axis of its inputs, so that no count is a product of what P and of
what R contribute. Of components it is: tiles, deliveries, fan-outs and steps are products over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import SPATIAL, FactorChain
from dse.domains.levels.workload import Workload
from dse.models.timeloop.proof.arrangements import Arrangement
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

MAX_CHAINS = 1_000_000
"""Chains of one component up to which optima are proven."""


@dataclass(frozen=True)
class Component:
    """All factors of some dims: `temporal` and `spatial` are (chains, dims, levels)."""

    dims: tuple[int, ...]
    temporal: IntArray
    spatial: IntArray

    def __len__(self) -> int:
        return len(self.temporal)

    @cached_property
    def box(self) -> IntArray:
        """The product of a dim's factors from a level inwards: (chains, dims, levels + 1)."""
        inside = np.cumprod((self.temporal * self.spatial)[..., ::-1], axis=-1)[..., ::-1]
        return np.concatenate([inside, np.ones_like(inside[..., :1])], axis=-1)

    @cached_property
    def spread(self) -> FloatArray:
        """The product of a dim's spatial factors outside of a level: (chains, dims, levels + 1)."""
        passed = np.cumprod(self.spatial, axis=-1, dtype=np.float64)
        return np.concatenate([np.ones_like(passed[..., :1]), passed], axis=-1)

    @cached_property
    def lengths(self) -> IntArray:
        """What is left of a dim after each loop, outermost first: (chains, 2 x dims x levels)."""
        after_temporal = self.box[..., 1:] * self.spatial
        both = np.stack([after_temporal, self.box[..., 1:]], axis=-1)
        return both.reshape(len(self), -1)


def components_of(problem: MachineProblem, arranged: Arrangement | None = None) -> list[Component]:
    """The components of a problem's dims, each with all its chains; or with those of an arrangement.

    Chains that fit nowhere, whatever the other dims do, are left out. InputError if there are too many.
    """
    workload, keep = problem.space.workload, _may_keep(problem) if arranged is None else arranged.keep
    factors, found = _chain_factors(problem, arranged), []
    for dims in _sharing(workload):
        count = 1
        temporal = np.empty((1, 0, factors[0].shape[1]), dtype=np.int64)
        spatial = temporal
        for dim in dims:
            chains = factors[dim]
            count = len(temporal) * len(chains)
            if count > 4 * MAX_CHAINS:
                raise _too_many(workload, dims, count)
            left = np.repeat(np.arange(len(temporal)), len(chains))
            right = np.tile(np.arange(len(chains)), len(temporal))
            temporal = np.concatenate([temporal[left], chains[right, np.newaxis, :, 0]], axis=1)
            spatial = np.concatenate([spatial[left], chains[right, np.newaxis, :, 1]], axis=1)
        component = _fitting(problem, Component(dims, temporal, spatial), keep)
        if len(component) > MAX_CHAINS:
            raise _too_many(workload, dims, len(component))
        found.append(component)
    return found


def _too_many(workload: Workload, dims: tuple[int, ...], count: int) -> InputError:
    names = " and ".join(workload.names[dim] for dim in dims)
    return InputError(
        f"{count:,} ways to factor {names} are too many to certify; at most {MAX_CHAINS:,}: fix some "
        "factors, as LEVEL.temporal.DIM, or say in the machine which dims a level loops over"
    )


def _sharing(workload: Workload) -> list[tuple[int, ...]]:
    """The dims by component, each in the order of the workload's."""
    names, group = workload.names, list(range(len(workload.names)))
    for tensor in workload.tensors:
        for axis in tensor.axes:
            members = [names.index(dim) for dim, factor in axis if factor and workload.sizes[dim] > 1]
            for dim in members[1:]:
                old, new = group[dim], group[members[0]]
                group = [new if one == old else one for one in group]
    return [tuple(dim for dim, one in enumerate(group) if one == number) for number in dict.fromkeys(group)]


def _may_keep(problem: MachineProblem) -> BoolArray:
    """What levels keep in any case: (levels, tensors)."""
    names = problem.space.workload.tensor_names
    return np.array([[name in level.keeps for name in names] for level in problem.space.levels])


def _fitting(problem: MachineProblem, component: Component, keep: BoolArray) -> Component:
    """The chains whose tiles and fan-outs fit while all other dims are 1, of what levels `keep`."""
    workload, machine = problem.space.workload, problem.accelerator
    left = np.ones(len(component), dtype=bool)
    held = np.zeros((len(machine.levels), len(component)))
    for place, level in enumerate(machine.levels):
        left &= component.spatial[..., place].prod(axis=1) <= level.fan_out
        for number, tensor in enumerate(workload.tensors):
            if keep[place, number] and tensor.name not in level.holds:
                words = tile_words(workload, number, component, place)
                held[machine.storages[place]] += words * tensor.bits
    for place, room in enumerate(problem.use.rooms):
        if room is not None:
            left &= held[place] <= room
    if not left.any():
        # Nothing fits at all; what is too large is told chain by chain.
        return component
    return Component(component.dims, component.temporal[left], component.spatial[left])


def tile_words(workload: Workload, tensor: int, component: Component, level: int) -> FloatArray:
    """What a component contributes to the words of a tensor's tile at a level: (chains,)."""
    words = np.ones(len(component))
    for terms in axes_of(workload, tensor, component):
        words *= extent(terms, component, level)
    return words


def axes_of(workload: Workload, tensor: int, component: Component) -> list[list[tuple[int, int]]]:
    """The axes of a tensor that a component moves: of each, places of dims and words of a step."""
    found = []
    for axis in workload.tensors[tensor].axes:
        factors = dict(axis)
        terms = [
            (place, factors[workload.names[dim]])
            for place, dim in enumerate(component.dims)
            if factors.get(workload.names[dim])
        ]
        if terms:
            found.append(terms)
    return found


def extent(terms: list[tuple[int, int]], component: Component, level: int) -> FloatArray:
    """Words of an axis that the tiles of a level touch: (chains,)."""
    more = sum(factor * (component.box[:, place, level] - 1) for place, factor in terms)
    return 1.0 + np.asarray(more, dtype=np.float64)


def _chain_factors(problem: MachineProblem, arranged: Arrangement | None) -> list[IntArray]:
    """Of every dim its chains: (chains, levels, 2), the temporal and the spatial factor of each level."""
    levels, found = len(problem.accelerator.levels), []
    for dim, chain in enumerate(problem.space.chains):
        if arranged is not None:
            slots = (
                slot for slot in chain.slots if slot.kind == SPATIAL or dim in arranged.looped[slot.level]
            )
            chain = FactorChain(chain.dim, chain.size, tuple(slots))
        rows: list[list[tuple[int, int, int]]] = [[]]
        ends = [chain.size]
        for slot, step in zip(chain.slots, chain.choices, strict=True):
            kind = 0 if slot.kind == "temporal" else 1
            grown = [
                ([*row, (slot.level, kind, above // below)], below)
                for row, above in zip(rows, ends, strict=True)
                for below in step.get(above, ())
            ]
            rows, ends = [row for row, _ in grown], [below for _, below in grown]
        factors = np.ones((len(rows), levels, 2), dtype=np.int64)
        for place, row in enumerate(rows):
            for level, kind, factor in row:
                factors[place, level, kind] = factor
        found.append(factors)
    return found
