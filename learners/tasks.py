"""Tasks that nobody here wrote, of the package mpe2, for any number of agents: navigation and predator-prey.

They are `simple_spread` and `simple_tag` of Lowe et al. (arXiv:1706.02275), as they come but for one thing:
the only prey of `simple_tag` plays by a script, so that the predators are the team.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from learners.arrays import FloatArray
from learners.errors import InputError
from learners.tag import OBSTACLES, STEPS, ArrayTag, flight_action


def navigation(agents: int) -> ParallelEnv:
    """Cooperative navigation: so many agents are to cover as many landmarks, and not to collide."""
    return _mpe2("simple_spread_v3").parallel_env(N=agents, max_cycles=STEPS)


def predator_prey(agents: int) -> ParallelEnv:
    """So many predators are to catch a prey that is faster, between two obstacles."""
    return ScriptedPrey(_mpe2("simple_tag_v3").parallel_env(**_tag(agents)), agents)


def fast_predator_prey(agents: int) -> ParallelEnv:
    """The same game, computed in arrays."""
    return ArrayTag(_mpe2("simple_tag.simple_tag").raw_env(**_tag(agents)), agents)


def _tag(agents: int) -> dict[str, int]:
    return {"num_good": 1, "num_adversaries": agents, "num_obstacles": OBSTACLES, "max_cycles": STEPS}


class ScriptedPrey(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """`simple_tag` for its predators alone: the prey flees (see learners.tag)."""

    metadata: ClassVar[dict[str, Any]] = {"name": "scripted_prey_v0", "render_modes": []}

    def __init__(self, env: ParallelEnv, predators: int) -> None:
        self._env, self._predators = env, predators
        self.possible_agents = [name for name in env.possible_agents if name.startswith("adversary")]
        (self._prey,) = set(env.possible_agents) - set(self.possible_agents)
        self.agents: list[str] = []
        self._seen: FloatArray = np.zeros(0)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """As the environment has it."""
        found: spaces.Space[Any] = self._env.observation_space(agent)
        return found

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """As the environment has it."""
        found: spaces.Space[Any] = self._env.action_space(agent)
        return found

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        seen, infos = self._env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._hunt(seen), self._of_team(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let all move."""
        seen, *rest = self._env.step({**actions, self._prey: self._flight()})
        self.agents = [name for name in self._env.agents if name != self._prey]
        return self._hunt(seen), *(self._of_team(part) for part in rest)

    def _hunt(self, seen: dict[str, Any]) -> dict[str, Any]:
        self._seen = seen[self._prey]
        return self._of_team(seen)

    def _of_team(self, part: dict[str, Any]) -> dict[str, Any]:
        return {name: part[name] for name in self.possible_agents if name in part}

    def _flight(self) -> int:
        # It observes its velocity, its place, and from there the obstacles and the predators.
        predators = self._seen[4 + 2 * OBSTACLES :][: 2 * self._predators]
        return flight_action(self._seen[2:4], predators.reshape(-1, 2))


def _mpe2(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"mpe2.{name}")
    except ImportError:
        raise InputError("reference tasks need mpe2: pip install 'dse-arena[learners]'") from None
