"""The vectorised mapping environment in the form that stable-baselines3 asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from dse.support.arrays import SingleArray
from searchers.environments import MappingVectorEnv


class StableBaselinesEnv(VecEnv):
    """A MappingVectorEnv as a VecEnv: one call to the evaluator a step.

    Infos are empty, but where a time limit ends an episode: then they say so, and what was observed last, for
    what could follow to count.

    `idle` is the number of points drawn since the last one that was rewarded more than all before it.
    """

    def __init__(self, env: MappingVectorEnv) -> None:
        self._env = env
        self._actions: NDArray[Any] = np.empty(0)
        self._best = -np.inf
        self.idle = 0
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> SingleArray:
        """Begin new episodes, the first by the seed that the agent was given."""
        seed = self._seeds[0]
        self._reset_seeds()
        return self._env.reset(seed=seed)[0]

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the step; `step_wait` makes it."""
        self._actions = actions

    def step_wait(self) -> tuple[SingleArray, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Draw the points; where an episode ends, the observation is of the next one."""
        observations, rewards, terminated, truncated, said = self._env.step(self._actions)
        highest = float(rewards.max())
        self.idle = 0 if highest > self._best else self.idle + self.num_envs
        self._best = max(self._best, highest)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for place in np.flatnonzero(truncated & ~terminated):
            infos[place] = {"TimeLimit.truncated": True, "terminal_observation": said["final_obs"][place]}
        return observations, rewards, terminated | truncated, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute, once for each environment asked for."""
        return [getattr(self._env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: the environments are one."""
        raise NotImplementedError("the environments share their attributes")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refused: the environments are one."""
        raise NotImplementedError("the environments share their methods")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None is."""
        return [False for _ in self._get_indices(indices)]
