"""Replay: what happened, kept, and drawn again at random to learn from.

Three arms hold the same and differ in how they are laid out and drawn from. `per-agent` and `neighbor` are
those of Gogineni, Wei, Lan and Venkataramani, "Towards Efficient Multi-Agent Learning Systems": a buffer an
agent, a Python gather for each index and agent. `contiguous` is ours: one array, one row a step, one gather;
`contiguous-neighbor` draws by neighbours from it, the same steps as `neighbor` in less time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from learners.arrays import IntArray, SingleArray
from learners.errors import unknown_name

NEIGHBORS = 3
"""The reach n of Algorithm 1: neighbours are at most so many steps before or after."""


@dataclass(frozen=True)
class Transitions:
    """Steps of a whole team, or many: arrays (..., agents, width), rewards and `ended` (..., agents).

    `ended` is 1 where an agent's episode came to its end there, so that nothing follows; one that was merely
    cut off goes on. `following` is what was observed next.
    """

    observations: SingleArray
    actions: SingleArray
    rewards: SingleArray
    following: SingleArray
    ended: SingleArray


class Replay(Protocol):
    """A memory of the last `capacity` steps."""

    def __len__(self) -> int:
        """How many steps are held."""
        ...

    def add(self, step: Transitions) -> None:
        """Keep a step, in place of the oldest where the memory is full."""
        ...

    def sample(self, rng: np.random.Generator, batch: int) -> Transitions:
        """So many steps drawn at random: arrays (batch, agents, ...)."""
        ...


def sample_uniformly(rng: np.random.Generator, batch: int, held: int) -> IntArray:
    """Indices (batch,) of steps below `held`, each as likely as any other."""
    return rng.integers(held, size=batch)


def sample_neighbors(rng: np.random.Generator, batch: int, held: int) -> IntArray:
    """Algorithm 1: for random i, all j in [i - n, i + n] that are held, but i, until the batch is full."""
    if held < 2:
        return np.zeros(batch, np.int64)
    chosen: list[int] = []
    while len(chosen) < batch:
        i = int(rng.integers(held))
        near = range(max(0, i - NEIGHBORS), min(held, i + NEIGHBORS + 1))
        chosen.extend(j for j in near if j != i)
    return np.array(chosen[:batch])


Draw = Callable[[np.random.Generator, int, int], IntArray]
"""Indices for a mini-batch of so many steps, of so many that are held."""


class PerAgentReplay:
    """A ring of tuples for each agent, gathered index by index, as the study's baseline does it."""

    def __init__(self, capacity: int, draw: Draw = sample_uniformly) -> None:
        self._capacity = capacity
        self._draw = draw
        self._steps = 0
        self._buffers: list[list[tuple[SingleArray, ...]]] = []

    def __len__(self) -> int:
        return min(self._steps, self._capacity)

    def add(self, step: Transitions) -> None:
        """See Replay."""
        agents = len(step.rewards)
        self._buffers = self._buffers or [[] for _ in range(agents)]
        for agent, buffer in enumerate(self._buffers):
            # A copy each: the study's agents have each memory of their own.
            held = tuple(np.array(column[agent]) for column in _columns(step))
            if len(buffer) < self._capacity:
                buffer.append(held)
            else:
                buffer[self._steps % self._capacity] = held
        self._steps += 1

    def sample(self, rng: np.random.Generator, batch: int) -> Transitions:
        """See Replay."""
        indices = self._draw(rng, batch, len(self)).tolist()
        gathered = [self._gather(buffer, indices) for buffer in self._buffers]
        return Transitions(*(np.stack(column, axis=1) for column in zip(*gathered, strict=True)))

    def _gather(self, buffer: list[tuple[SingleArray, ...]], indices: list[int]) -> list[SingleArray]:
        columns: list[list[SingleArray]] = [[] for _ in buffer[0]]
        for index in indices:
            for column, value in zip(columns, buffer[index], strict=True):
                column.append(value)
        return [np.array(column) for column in columns]


class ContiguousReplay:
    """One array, a row a step that holds all agents side by side, drawn from by one gather.

    It grows by doubling, up to `capacity` rows.
    """

    def __init__(self, capacity: int, draw: Draw = sample_uniformly) -> None:
        self._capacity = capacity
        self._draw = draw
        self._steps = 0
        self._shapes: list[tuple[int, ...]] = []
        self._rows: SingleArray = np.empty((0, 0), np.float32)

    def __len__(self) -> int:
        return min(self._steps, self._capacity)

    def add(self, step: Transitions) -> None:
        """See Replay."""
        columns = _columns(step)
        row = np.concatenate([column.ravel() for column in columns])
        if not self._shapes:
            self._shapes = [column.shape for column in columns]
        place = self._steps % self._capacity
        if place >= len(self._rows):
            grown = np.empty((min(self._capacity, max(1024, 2 * len(self._rows))), len(row)), np.float32)
            if len(self._rows):
                grown[: len(self._rows)] = self._rows
            self._rows = grown
        self._rows[place] = row
        self._steps += 1

    def sample(self, rng: np.random.Generator, batch: int) -> Transitions:
        """See Replay."""
        rows = self._rows.take(self._draw(rng, batch, len(self)), axis=0)
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])[:-1]
        parts = np.split(rows, ends.astype(np.int64), axis=1)
        return Transitions(
            *(part.reshape(batch, *shape) for part, shape in zip(parts, self._shapes, strict=True))
        )


REPLAYS: dict[str, Callable[[int], Replay]] = {
    "per-agent": PerAgentReplay,
    "neighbor": lambda capacity: PerAgentReplay(capacity, sample_neighbors),
    "contiguous": ContiguousReplay,
    "contiguous-neighbor": lambda capacity: ContiguousReplay(capacity, sample_neighbors),
}
"""The arms, by name: each takes how many steps it is to hold."""


def make_replay(arm: str, capacity: int) -> Replay:
    """The replay of that name."""
    if arm not in REPLAYS:
        raise unknown_name("replay", arm, REPLAYS)
    return REPLAYS[arm](capacity)


def _columns(step: Transitions) -> tuple[SingleArray, ...]:
    return step.observations, step.actions, step.rewards, step.following, step.ended
