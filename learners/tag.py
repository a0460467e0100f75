"""`simple_tag` of mpe2 in arrays: the same game for its predators, computed for all bodies at once.

Where episodes begin is drawn by mpe2 itself; what a step does is worked out here, to the same numbers (a test
steps both). As mpe2 comes, twelve predators take two milliseconds a step, which is most of a fast learner's
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from learners.arrays import FloatArray, SingleArray

OBSTACLES, STEPS = 2, 25
"""The obstacles, and the length of an episode."""

SIGHT = 0.2
"""How far the prey sees; a predator that is within 0.125 touches it."""

UNITS = np.array([(0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)])
"""Where each action leads."""

TICK, DAMPING, FORCE, MARGIN = 0.1, 0.25, 1e2, 1e-3
"""Of all worlds of mpe2: seconds of a step, the share of speed lost in it, and how bodies push each other."""

_CAUGHT = 10.0


def flight_action(place: FloatArray, predators: FloatArray) -> int:
    """What the prey does at a `place`, (2,), with predators (n, 2) from there.

    It stays until one is within SIGHT, and then goes where the nearest is far. It pays for being outside
    [-0.9, 0.9]: that counts as nearer, by ten times as far as it is outside.
    """
    if np.square(predators).sum(axis=1).min() > SIGHT**2:
        return 0
    reached = 0.3 * UNITS
    nearest = np.sqrt(np.square(predators - reached[:, None]).sum(axis=2)).min(axis=1)
    outside = np.maximum(abs(place + reached) - 0.9, 0).sum(axis=1)
    return int((nearest - 10 * outside).argmax())


class ArrayTag(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """Predators that hunt a prey. Bodies are the predators, the prey, the obstacles, in this order."""

    metadata: ClassVar[dict[str, Any]] = {"name": "array_tag_v0", "render_modes": []}

    def __init__(self, world: Any, predators: int) -> None:
        """`world` is mpe2's own game, for one prey."""
        self._game, self._predators = world, predators
        self.possible_agents = [f"adversary_{place}" for place in range(predators)]
        self.agents: list[str] = []
        seen = spaces.Box(-np.inf, np.inf, (6 + 2 * (predators + OBSTACLES),), np.float32)
        self._seen, self._does = seen, spaces.Discrete(len(UNITS))
        bodies = world.world.entities
        sizes = np.array([body.size for body in bodies])
        self._near = sizes[:, None] + sizes
        self._apart = ~np.eye(len(bodies), dtype=np.bool_)
        self._accelerations = np.array([[body.accel] for body in bodies[: predators + 1]])
        self._fastest = np.array([[body.max_speed] for body in bodies[: predators + 1]])
        self._others = _others(len(bodies), predators)
        self._places: FloatArray = np.zeros((len(bodies), 2))
        self._speeds: FloatArray = np.zeros((predators + 1, 2))
        self._steps = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What a predator observes: its velocity and place, and from there obstacles, others and the prey."""
        return self._seen

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Where a predator goes: nowhere, left, right, down, up."""
        return self._does

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self._game.reset(seed=seed, options=options)
        self._places = np.array([body.state.p_pos for body in self._game.world.entities])
        self._speeds = np.zeros((self._predators + 1, 2))
        self._steps, self.agents = 0, list(self.possible_agents)
        return dict(zip(self.agents, self._observed(), strict=True)), {name: {} for name in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let all move."""
        agents, prey = self.agents, self._places[self._predators]
        chosen = [actions[name] for name in agents]
        chosen.append(flight_action(prey, self._places[: self._predators] - prey))
        self._move(self._accelerations * UNITS[chosen])
        self._steps += 1
        over = self._steps >= STEPS
        if over:
            self.agents = []
        return (
            dict(zip(agents, self._observed(), strict=True)),
            dict.fromkeys(agents, _CAUGHT * self._caught()),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            {name: {} for name in agents},
        )

    def _move(self, forces: FloatArray) -> None:
        """A step of the world under the forces that predators and prey exert, (predators + 1, 2)."""
        movers = self._predators + 1
        offsets = self._places[:movers, None] - self._places
        distances = np.sqrt(np.square(offsets).sum(axis=2)) + ~self._apart[:movers]
        depths = np.logaddexp(0, -(distances - self._near[:movers]) / MARGIN) * MARGIN
        pushes = (FORCE * depths * self._apart[:movers] / distances)[..., None] * offsets
        self._places[:movers] += self._speeds * TICK
        speeds = self._speeds * (1 - DAMPING) + (forces + pushes.sum(axis=1)) * TICK
        rates = np.sqrt(np.square(speeds).sum(axis=1, keepdims=True))
        self._speeds = np.where(
            rates > self._fastest, speeds / np.maximum(rates, 1e-300) * self._fastest, speeds
        )

    def _caught(self) -> int:
        """How many predators touch the prey."""
        offsets = self._places[: self._predators] - self._places[self._predators]
        reach = self._near[self._predators, : self._predators]
        return int((np.sqrt(np.square(offsets).sum(axis=1)) < reach).sum())

    def _observed(self) -> SingleArray:
        """What the predators observe: (predators, numbers)."""
        own = self._places[: self._predators]
        offsets = (self._places - own[:, None])[self._others].reshape(self._predators, -1)
        prey = np.broadcast_to(self._speeds[-1], own.shape)
        return np.hstack((self._speeds[:-1], own, offsets, prey)).astype(np.float32)


def _others(bodies: int, predators: int) -> tuple[Any, Any]:
    """For each predator, the bodies that it sees, as mpe2 has them: the obstacles, then who moves."""
    obstacles = list(range(predators + 1, bodies))
    rows = [[*obstacles, *(o for o in range(predators + 1) if o != own)] for own in range(predators)]
    return np.arange(predators)[:, None], np.array(rows)
