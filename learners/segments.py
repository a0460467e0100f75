"""Steps in a row, kept and drawn again: what targets over several steps are made of."""

from __future__ import annotations

import numpy as np

from learners.arrays import BoolArray, IntArray
from learners.errors import InputError
from learners.replay import Transitions


class Segments:
    """The last `capacity` steps of a team, drawn in runs of neighbours of one episode."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._steps = 0
        self._held: list[np.ndarray] = []
        self._goes_on: BoolArray = np.zeros(0, np.bool_)
        self._before: Transitions | None = None

    def __len__(self) -> int:
        return min(self._steps, self._capacity)

    def add(self, step: Transitions) -> None:
        """Keep a step. It goes on from the one before if it observed what that one led to."""
        columns = [np.asarray(getattr(step, name)) for name in Transitions.__dataclass_fields__]
        place = self._steps % self._capacity
        if not self._held or place >= len(self._held[0]):
            self._grow(columns)
        goes_on = self._before is not None and np.array_equal(self._before.following, step.observations)
        goes_on = goes_on and not (self._before is not None and self._before.ended.all())
        for held, column in zip(self._held, columns, strict=True):
            held[place] = column
        self._goes_on[place] = goes_on
        self._before = step
        self._steps += 1

    def sample(self, rng: np.random.Generator, batch: int, length: int) -> tuple[Transitions, BoolArray]:
        """Runs of `length` steps, (batch, length, agents, ...), and which of their steps there are.

        A run ends where its episode does, or where no later step is held; what is beyond is to be ignored.
        """
        return self.at(rng.integers(len(self), size=batch), length)

    def begun(self, rng: np.random.Generator, batch: int, length: int) -> tuple[Transitions, BoolArray]:
        """Runs that begin where episodes do. InputError where of none the first step is still held."""
        oldest = self._steps - len(self)
        rows = (oldest + np.arange(len(self))) % self._capacity
        firsts = np.flatnonzero(~self._goes_on[rows])
        if not len(firsts):
            raise InputError(
                f"a memory must hold an episode, and this one holds {self._capacity} steps of it"
            )
        return self.at(rng.choice(firsts, size=batch), length)

    def at(self, places: IntArray, length: int) -> tuple[Transitions, BoolArray]:
        """The runs that begin at the steps `places`, counted from the oldest held."""
        oldest = self._steps - len(self)
        numbers = oldest + places[:, np.newaxis] + np.arange(length)
        rows = numbers % self._capacity
        there = (numbers < self._steps) & self._goes_on[np.minimum(rows, len(self) - 1)]
        there[:, 0] = True
        there = np.logical_and.accumulate(there, axis=1)
        rows = np.where(there, rows, rows[:, :1])
        return Transitions(*(held[rows] for held in self._held)), there

    def _grow(self, columns: list[np.ndarray]) -> None:
        before = len(self._goes_on)
        room = min(self._capacity, max(1024, 2 * before))
        for place, column in enumerate(columns):
            grown = np.zeros((room, *column.shape), np.float32)
            if before:
                grown[:before] = self._held[place]
                self._held[place] = grown
            else:
                self._held.append(grown)
        self._goes_on = np.concatenate([self._goes_on, np.zeros(room - before, np.bool_)])
