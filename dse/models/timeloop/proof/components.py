"""The factors of a problem's dims, by component: dims that share an axis of a tensor are of one component.

The rows P and R of a convolution move one axis of its inputs, so that no count is a product of what P and of
what R contribute. Of components it is: tiles, deliveries, fan-outs and steps are products over them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Generic, TypeVar

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import FACTORS, TEMPORAL, FactorChain, Slot, chain_of
from dse.domains.levels.uneven import storage_parts, stored_by_level
from dse.domains.levels.workload import Workload
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

Value = TypeVar("Value")
MAX_CHAINS = 1_000_000
"""Chains of one component up to which optima are proven."""


@dataclass(frozen=True)
class Component:
    """All factors of some dims: `temporal` and `spatial` are (chains, dims, levels).

    Where tiles need not divide, `tiles` (chains, dims, 1 + 2 x levels) are how long each dim is, and what
    each loop leaves of it.
    """

    dims: tuple[int, ...]
    temporal: IntArray
    spatial: IntArray
    tiles: IntArray | None = None

    def __len__(self) -> int:
        return len(self.temporal)

    @cached_property
    def box(self) -> IntArray:
        """How long a dim is at a level, and at the MACs: (chains, dims, levels + 1)."""
        if self.tiles is not None:
            return self.tiles[..., ::2]
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
        if self.tiles is not None:
            return self.tiles[..., 1:].reshape(len(self), -1)
        after_temporal = self.box[..., 1:] * self.spatial
        both = np.stack([after_temporal, self.box[..., 1:]], axis=-1)
        return both.reshape(len(self), -1)

    def less(self, left: BoolArray | IntArray) -> Component:
        """The component with those chains that are left."""
        tiles = None if self.tiles is None else self.tiles[left]
        return Component(self.dims, self.temporal[left], self.spatial[left], tiles)


def components_of(problem: MachineProblem) -> list[Component]:
    """The components of a problem's dims, each with all its chains.

    Chains that fit nowhere, whatever the other dims do, are left out. InputError if there are too many.
    """
    found = []
    for dims in dims_by_component(problem.space.workload):
        slots = [problem.space.chains[dim].slots for dim in dims]
        found.append(component_of(problem, dims, slots))
    return found


def component_of(
    problem: MachineProblem, dims: tuple[int, ...], slots: Sequence[tuple[Slot, ...]]
) -> Component:
    """The component of some dims whose loops are at these slots."""
    workload, levels, count = problem.space.workload, len(problem.accelerator.levels), 1
    temporal = np.empty((1, 0, levels), dtype=np.int64)
    spatial, tiles = temporal, np.empty((1, 0, 2 * levels + 1), dtype=np.int64)
    for dim, own in zip(dims, slots, strict=True):
        chain = problem.space.chains[dim]
        chains, lengths = _factors_of(chain_of(chain.dim, chain.size, own, problem.tiles), levels)
        count = len(temporal) * len(chains)
        if count > 4 * MAX_CHAINS:
            raise _too_many(workload, dims, count)
        left = np.repeat(np.arange(len(temporal)), len(chains))
        right = np.tile(np.arange(len(chains)), len(temporal))
        temporal = np.concatenate([temporal[left], chains[right, np.newaxis, :, 0]], axis=1)
        spatial = np.concatenate([spatial[left], chains[right, np.newaxis, :, 1]], axis=1)
        tiles = np.concatenate([tiles[left], lengths[right, np.newaxis]], axis=1)
    said = None if problem.tiles == FACTORS else tiles
    component = _fitting(problem, Component(dims, temporal, spatial, said))
    if len(component) > MAX_CHAINS:
        raise _too_many(workload, dims, len(component))
    return component


def _too_many(workload: Workload, dims: tuple[int, ...], count: int) -> InputError:
    names = " and ".join(workload.names[dim] for dim in dims)
    return InputError(
        f"{count:,} ways to factor {names} are too many to certify; at most {MAX_CHAINS:,}: fix some "
        "factors, as LEVEL.temporal.DIM, or say in the machine which dims a level loops over"
    )


def dims_by_component(workload: Workload) -> list[tuple[int, ...]]:
    """The dims by component, each in the order of the workload's."""
    names, group = workload.names, list(range(len(workload.names)))
    for tensor in workload.tensors:
        for axis in tensor.axes:
            members = [names.index(dim) for dim, factor in axis if factor and workload.sizes[dim] > 1]
            for dim in members[1:]:
                old, new = group[dim], group[members[0]]
                group = [new if one == old else one for one in group]
    return [tuple(dim for dim, one in enumerate(group) if one == number) for number in dict.fromkeys(group)]


def _fitting(problem: MachineProblem, component: Component) -> Component:
    """The chains whose tiles and fan-outs fit while all other dims are 1, of what levels keep in any case.

    Of a level in parts no tile is smaller than at the last of them.
    """
    workload, machine = problem.space.workload, problem.accelerator
    left = np.ones(len(component), dtype=bool)
    for place, level in enumerate(machine.levels):
        left &= component.spatial[..., place].prod(axis=1) <= level.fan_out
    for parts in storage_parts(machine):
        level, room = machine.levels[parts[0]], problem.use.rooms[parts[0]]
        if room is not None:
            keeps = (
                problem.space.levels[parts[0]].keeps if len(parts) == 1 else stored_by_level(machine, level)
            )
            held = sum(
                (
                    tile_words(workload, number, component, parts[-1]) * tensor.bits
                    for number, tensor in enumerate(workload.tensors)
                    if tensor.name in keeps and tensor.name not in level.holds
                ),
                np.zeros(len(component)),
            )
            left &= held <= room
    if not left.any():
        # Nothing fits at all; what is too large is told chain by chain.
        return component
    return component.less(left)


def tile_words(workload: Workload, tensor: int, component: Component, level: int) -> FloatArray:
    """What a component contributes to the words of a tensor's tile at a level: (chains,)."""
    words = np.ones(len(component))
    for terms in axes_of(workload, tensor, component):
        words *= touched_extent(terms, component, level)
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


def touched_extent(terms: list[tuple[int, int]], component: Component, level: int) -> FloatArray:
    """Words of an axis that the tiles of a level touch: (chains,)."""
    more = sum(factor * (component.box[:, place, level] - 1) for place, factor in terms)
    return 1.0 + np.asarray(more, dtype=np.float64)


class Recent(Generic[Value]):
    """What was made last, by key: at most `most` values, and of a `weight` of at most `heaviest` together.

    The last one is there in any case. Threads may ask at the same time: one of them makes a value.
    """

    def __init__(self, weigh: Callable[[Value], int], heaviest: int, most: int = 2**31) -> None:
        self._weigh, self._heaviest, self._most = weigh, heaviest, most
        self._kept: dict[Hashable, Value] = {}
        self._weight = 0
        self._making = RLock()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made if it is not there."""
        with self._making:
            if key in self._kept:
                value = self._kept.pop(key)
            else:
                value = make()
                self._weight += self._weigh(value)
            self._kept[key] = value
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._weight > self._heaviest):
                self._weight -= self._weigh(self._kept.pop(next(iter(self._kept))))
            return value


def _factors_of(chain: FactorChain, levels: int) -> tuple[IntArray, IntArray]:
    """As `_made_factors`, which are kept where they were asked for of late."""
    return _RECENT.of((chain, levels), lambda: _made_factors(chain, levels))


def _made_factors(chain: FactorChain, levels: int) -> tuple[IntArray, IntArray]:
    """The factors of a chain's slots, by level and kind: (chains, levels, 2), and how long the dim and what
    each leaves of it is: (chains, 1 + 2 x levels). One for all that ask.
    """
    lengths = np.array(chain.lengths)
    ends = np.array([len(lengths) - 1])
    steps: list[IntArray] = []
    kept: list[IntArray] = []
    for step in chain.choices:
        below = [np.searchsorted(lengths, step.get(length, ())) for length in chain.lengths]
        counts = np.array([len(one) for one in below])
        first = np.cumsum(counts) - counts
        every, many = np.concatenate(below).astype(np.int64), counts[ends]
        above = np.repeat(np.arange(len(ends)), many)
        within = np.arange(len(above)) - np.repeat(np.cumsum(many) - many, many)
        left = every[first[ends[above]] + within]
        steps = [one[above] for one in steps] + [-(-lengths[ends[above]] // lengths[left])]
        kept = [one[above] for one in kept] + [lengths[left]]
        ends = left
    factors = np.ones((len(ends), levels, 2), dtype=np.int64)
    tiles = np.full((len(ends), 1 + 2 * levels), chain.size, dtype=np.int64)
    for slot, factor, length in zip(chain.slots, steps, kept, strict=True):
        kind = 0 if slot.kind == TEMPORAL else 1
        factors[:, slot.level, kind] = factor
        tiles[:, 1 + 2 * slot.level + kind :] = length[:, np.newaxis]
    factors.setflags(write=False)
    tiles.setflags(write=False)
    return factors, tiles


_RECENT: Recent[tuple[IntArray, IntArray]] = Recent(lambda made: made[0].nbytes + made[1].nbytes, 2**27, 256)
