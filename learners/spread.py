"""`simple_spread` of mpe2 in arrays: the same game, many of it side by side, a step computed for all at once.

Three agents are to cover three landmarks, for 25 steps; they are paid alike, by how far the nearest agent is
from each landmark (mpe2's `local_ratio=0`). What a step does is worked out to the same numbers as mpe2's (a
test steps both), at a tenth of the time of its own, which would be most of a small learner's.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import FloatArray, IntArray, SingleArray
from learners.tag import DAMPING, FORCE, MARGIN, STEPS, TICK, UNITS
from learners.team import Team

AGENTS = 3

PULL = 5.0
"""The force of who moves."""

_NEAR = 0.3
_OBSERVED = 4 + 2 * AGENTS + 4 * (AGENTS - 1)
_APART = ~np.eye(AGENTS, dtype=np.bool_)
_OTHERS = np.array([[other for other in range(AGENTS) if other != own] for own in range(AGENTS)])


class ArraySpread:
    """So many games, each in an episode of its own. `places` are of agents, then landmarks, (games, 6, 2)."""

    team = Team(
        tuple(f"agent_{place}" for place in range(AGENTS)),
        _OBSERVED,
        True,
        np.ones((AGENTS, 1, len(UNITS)), np.bool_),
    )
    length = STEPS

    def __init__(self, games: int) -> None:
        self.places: FloatArray = np.zeros((games, 2 * AGENTS, 2))
        self.speeds: FloatArray = np.zeros((games, AGENTS, 2))

    def begin(self, rng: np.random.Generator) -> SingleArray:
        """Begin an episode in each: what agents observe, (games, agents, numbers)."""
        self.places = rng.uniform(-1, 1, self.places.shape)
        self.speeds = np.zeros_like(self.speeds)
        return self.observed()

    def step(self, actions: IntArray) -> tuple[SingleArray, FloatArray]:
        """Let all move, (games, agents): what they observe then, and what each agent earns, (games,)."""
        agents = self.places[:, :AGENTS]
        offsets = agents[:, :, np.newaxis] - agents[:, np.newaxis]
        distances = np.sqrt(np.square(offsets).sum(axis=3)) + ~_APART
        depths = np.logaddexp(0, -(distances - _NEAR) / MARGIN) * MARGIN
        pushes = ((FORCE * depths * _APART / distances)[..., np.newaxis] * offsets).sum(axis=2)
        agents += self.speeds * TICK
        self.speeds = self.speeds * (1 - DAMPING) + (PULL * UNITS[actions] + pushes) * TICK
        offsets = agents[:, :, np.newaxis] - self.places[:, np.newaxis, AGENTS:]
        return self.observed(), -np.sqrt(np.square(offsets).sum(axis=3)).min(axis=1).sum(axis=1)

    def observed(self) -> SingleArray:
        """Of each agent its velocity and place, and from there landmarks and others; they are silent."""
        agents, games = self.places[:, :AGENTS], len(self.places)
        landmarks = self.places[:, np.newaxis, AGENTS:] - agents[:, :, np.newaxis]
        others = agents[:, _OTHERS] - agents[:, :, np.newaxis]
        seen = np.zeros((games, AGENTS, _OBSERVED), np.float32)
        parts = (self.speeds, agents, landmarks.reshape(games, AGENTS, -1), others.reshape(games, AGENTS, -1))
        wide = np.concatenate(parts, axis=2)
        seen[:, :, : wide.shape[2]] = wide
        return seen
