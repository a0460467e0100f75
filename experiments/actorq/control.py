"""Tasks of dm_control as Gymnasium's: `pip install 'dse-arena[control]'`. They end by being cut off alone."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from dse.support.arrays import SingleArray
from dse.support.errors import InputError

TASKS = {"cartpole-balance": ("cartpole", "balance"), "walker-stand": ("walker", "stand")}
"""By name: domain and task."""


class Control(gymnasium.Env[SingleArray, Any]):
    """A task of dm_control: what is observed in one row, actions a box."""

    def __init__(self, name: str) -> None:
        # Nothing is drawn; without this, it says that there is no display.
        os.environ.setdefault("MUJOCO_GL", "disabled")
        try:
            from dm_control import suite
        except ImportError:
            raise InputError(f"{name} needs dm_control: pip install 'dse-arena[control]'") from None
        self._env = suite.load(*TASKS[name])
        numbers = sum(int(np.prod(part.shape)) for part in self._env.observation_spec().values())
        actions = self._env.action_spec()
        self.observation_space = spaces.Box(-np.inf, np.inf, (numbers,), np.float32)
        low, high = (np.broadcast_to(end, actions.shape) for end in (actions.minimum, actions.maximum))
        self.action_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[SingleArray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        if seed is not None:
            # To load it again would take as long as an episode.
            self._env.task.random.seed(seed)
        return self._seen(self._env.reset()), {}

    def step(self, action: Any) -> tuple[SingleArray, float, bool, bool, dict[str, Any]]:
        """Let a control step go by."""
        found = self._env.step(action)
        return self._seen(found), float(found.reward), False, bool(found.last()), {}

    def _seen(self, found: Any) -> SingleArray:
        return np.concatenate([np.ravel(part) for part in found.observation.values()]).astype(np.float32)
