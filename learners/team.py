"""What the agents of an environment see and do, as arrays that hold all of them side by side.

Agents may differ in how much they see and in how many choices they have: rows are as wide as the widest, and
what an agent does not have is zero, and masked where it could be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from learners.arrays import BoolArray, IntArray, SingleArray
from learners.errors import InputError


@dataclass(frozen=True)
class Team:
    """The agents of an environment: their names, how many numbers the widest observes, and what each may do.

    `real` says which choices exist, (agents, parts, choices), where actions are discrete: an action is one
    choice in each part. For box actions it is (agents, 1, numbers), and `low` and `high`, (agents, numbers),
    are the ends; an action is then a number in [-1, 1] for each, stretched between them.
    """

    names: tuple[str, ...]
    observed: int
    discrete: bool
    real: BoolArray
    low: SingleArray | None = None
    high: SingleArray | None = None

    @property
    def width(self) -> int:
        """How many numbers an agent's action has: its choices one-hot, part by part, or its box's."""
        return int(self.real.shape[1] * self.real.shape[2])

    @staticmethod
    def of(env: ParallelEnv) -> Team:
        """The agents of `env`. InputError where an agent's actions are neither discrete nor a box."""
        names = tuple(env.possible_agents)
        observed = max(spaces.utils.flatdim(env.observation_space(name)) for name in names)
        offered = [env.action_space(name) for name in names]
        if all(isinstance(space, spaces.Discrete | spaces.MultiDiscrete) for space in offered):
            return Team(names, observed, True, _choices([_sizes(space) for space in offered]))
        for name, space in zip(names, offered, strict=True):
            if not (isinstance(space, spaces.Box) and space.is_bounded("both")):
                raise InputError(
                    f"agents must all have discrete actions, or all boxes with ends; {name!r} has {space}"
                )
        widest = max(int(np.prod(space.shape)) for space in offered)
        low, high = np.zeros((2, len(names), widest), np.float32)
        real = np.zeros((len(names), 1, widest), np.bool_)
        for agent, space in enumerate(offered):
            count = int(np.prod(space.shape))
            low[agent, :count], high[agent, :count] = space.low.ravel(), space.high.ravel()
            real[agent, 0, :count] = True
        return Team(names, observed, False, real, low, high)

    def refuse_other(self, other: Team) -> None:
        """Raise an InputError that says how `other` agents see or do something else than these."""
        if self.names != other.names:
            mine, theirs = _shown(self.names), _shown(other.names)
            raise InputError(f"the policy is for the agents {mine}; here they are {theirs}")
        if self.observed != other.observed:
            raise InputError(
                f"the policy's agents observe {self.observed} numbers, here they observe {other.observed}"
            )
        for agent, name in enumerate(self.names):
            mine, theirs = self._offer(agent), other._offer(agent)
            if mine != theirs:
                raise InputError(f"the policy's agent {name!r} chooses {mine}, here it chooses {theirs}")

    def _offer(self, agent: int) -> str:
        """What an agent may do, in words."""
        counts = self.real[agent].sum(axis=1).tolist()
        if not self.discrete:
            return f"{counts[0]} numbers"
        return f"among {' x '.join(str(count) for count in counts)} values"

    def observations(self, seen: Mapping[str, Any], env: ParallelEnv) -> SingleArray:
        """What each agent sees, (agents, observed); zeros for one that is no longer there."""
        rows = np.zeros((len(self.names), self.observed), np.float32)
        for row, name in zip(rows, self.names, strict=True):
            if name in seen:
                value = seen[name]
                # A box's numbers are as they are; to ask the space takes ten times as long.
                if not (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
                    value = np.asarray(spaces.utils.flatten(env.observation_space(name), value))
                row[: value.size] = value.ravel()
        return rows

    def actions(self, chosen: SingleArray, env: ParallelEnv) -> dict[str, Any]:
        """Actions (agents, width) as the environment takes them, for the agents that are there."""
        here = set(env.agents)
        if not self.discrete:
            return {
                name: self._numbers(agent, chosen[agent], env.action_space(name))
                for agent, name in enumerate(self.names)
                if name in here
            }
        picked = chosen.reshape(self.real.shape).argmax(axis=-1)
        return {
            name: _choice(row, env.action_space(name))
            for row, name in zip(picked, self.names, strict=True)
            if name in here
        }

    def _numbers(self, agent: int, levels: SingleArray, space: spaces.Space[Any]) -> Any:
        """Numbers in [-1, 1] stretched over the agent's box."""
        assert self.low is not None
        assert self.high is not None
        stretched = self.low[agent] + (levels + 1) / 2 * (self.high[agent] - self.low[agent])
        count = int(self.real[agent].sum())
        return np.clip(stretched[:count].reshape(space.shape), space.low, space.high)  # type: ignore[attr-defined]


def _choice(picked: IntArray, space: spaces.Space[Any]) -> Any:
    """What an agent has picked in each part, as its space has it."""
    if isinstance(space, spaces.Discrete):
        return int(space.start) + int(picked[0])
    return picked[: len(space.nvec)] + space.start  # type: ignore[attr-defined]


def _shown(names: tuple[str, ...]) -> str:
    """The first of the names, and how many there are."""
    return f"{names[0]!r}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _sizes(space: spaces.Space[Any]) -> list[int]:
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    return [int(size) for size in np.ravel(space.nvec)]  # type: ignore[attr-defined]


def _choices(sizes: list[list[int]]) -> BoolArray:
    """Which choices each agent has in each part; in a part that it lacks, the first, so that there is one."""
    parts, widest = max(map(len, sizes)), max(map(max, sizes))
    counts = np.ones((len(sizes), parts), np.int64)
    for agent, own in enumerate(sizes):
        counts[agent, : len(own)] = own
    real: BoolArray = np.arange(widest) < counts[:, :, np.newaxis]
    return real


class OneAgent(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """A Gymnasium environment as one whose only agent is `agent`."""

    metadata: ClassVar[dict[str, Any]] = {"name": "one_agent_v0", "render_modes": []}

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self._env = env
        self.possible_agents = ["agent"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What the agent observes."""
        return self._env.observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """What the agent may do."""
        return self._env.action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self.agents = ["agent"]
        observation, info = self._env.reset(seed=seed, options=options)
        return {"agent": observation}, {"agent": info}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let the agent act."""
        result = self._env.step(actions["agent"])
        if result[2] or result[3]:
            self.agents = []
        return tuple({"agent": part} for part in result)
