"""`simple_speaker_listener` of mpe2 in arrays, many games side by side; a test steps these and mpe2's.

A speaker, which stands still, sees the colour of one of three landmarks and says one of three words; a
listener hears it a step later, and is to go to that landmark, which it cannot tell from the others. There are
25 steps, for each of which both are paid the square of the distance that is left.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import FloatArray, IntArray, SingleArray
from learners.spread import PULL
from learners.tag import DAMPING, STEPS, TICK, UNITS
from learners.team import Team

LANDMARKS = WORDS = 3
_COLOURS = 0.15 + 0.5 * np.eye(LANDMARKS)
_OBSERVED = 2 + 2 * LANDMARKS + WORDS


class ArrayListener:
    """So many games, each in an episode of its own. `places` are of listener and landmarks, (games, 4, 2)."""

    team = Team(
        ("speaker_0", "listener_0"),
        _OBSERVED,
        True,
        np.arange(len(UNITS)) < np.array([WORDS, len(UNITS)])[:, np.newaxis, np.newaxis],
    )
    length = STEPS

    def __init__(self, games: int) -> None:
        self.places: FloatArray = np.zeros((games, 1 + LANDMARKS, 2))
        self.speeds: FloatArray = np.zeros((games, 2))
        self.goals: IntArray = np.zeros(games, np.int64)
        self.heard: FloatArray = np.zeros((games, WORDS))
        """One-hot; zeros when an episode begins."""

    def begin(self, rng: np.random.Generator) -> SingleArray:
        """Begin an episode in each: what agents observe, (games, agents, numbers)."""
        self.places = rng.uniform(-1, 1, self.places.shape)
        self.goals = rng.integers(LANDMARKS, size=self.goals.shape)
        self.speeds, self.heard = np.zeros_like(self.speeds), np.zeros_like(self.heard)
        return self.observed()

    def step(self, actions: IntArray) -> tuple[SingleArray, FloatArray]:
        """Let them speak and move, (games, agents): what they observe then, and what each earns, (games,)."""
        self.places[:, 0] += self.speeds * TICK
        self.speeds = self.speeds * (1 - DAMPING) + PULL * UNITS[actions[:, 1]] * TICK
        self.heard = np.eye(WORDS)[actions[:, 0]]
        left = self.places[:, 0] - self.places[np.arange(len(self.goals)), 1 + self.goals]
        return self.observed(), -np.square(left).sum(axis=1)

    def observed(self) -> SingleArray:
        """The speaker sees a colour; the listener its velocity, landmarks from there, and a word."""
        landmarks = self.places[:, 1:] - self.places[:, :1]
        seen = np.zeros((len(self.goals), 2, _OBSERVED), np.float32)
        seen[:, 0, :LANDMARKS] = _COLOURS[self.goals]
        seen[:, 1] = np.hstack((self.speeds, landmarks.reshape(len(landmarks), -1), self.heard))
        return seen
