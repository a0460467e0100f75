"""Small environments whose best policies are known."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Signals(ParallelEnv):
    """Each agent sees a signal of its own, one of `signals`, and is to name it; all are paid for how many do.

    Agents differ: the first sees a constant number more, the last has a choice more, which is never right.
    With `boxes`, an agent is to answer with the number 2 for signal 0 and 4 for the others. Episodes have two
    steps.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "signals_v0", "render_modes": []}

    def __init__(self, agents: int = 3, signals: int = 2, boxes: bool = False) -> None:
        self.possible_agents = [f"agent_{number}" for number in range(agents)]
        self.agents: list[str] = []
        self._signals, self._boxes = signals, boxes
        self._rng = np.random.default_rng(0)

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Box(0, 1, (self._signals + (agent == self.possible_agents[0]),), np.float32)

    def action_space(self, agent: str) -> spaces.Space:
        if self._boxes:
            return spaces.Box(1.0, 5.0, (1,), np.float32)
        return spaces.Discrete(self._signals + (agent == self.possible_agents[-1]), start=1)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents, self._steps = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        agents = self.agents
        for agent in agents:
            assert self.action_space(agent).contains(actions[agent]), actions
        if self._boxes:
            wanted = {agent: 4.0 if self._now[agent] else 2.0 for agent in agents}
            pay = -np.mean([abs(float(actions[agent][0]) - wanted[agent]) for agent in agents])
        else:
            pay = np.mean([actions[agent] - 1 == self._now[agent] for agent in agents])
        self._steps += 1
        if self._steps == 2:
            self.agents = []
        none = dict.fromkeys(agents, False)
        seen, infos = self._seen(), {agent: {} for agent in agents}
        return seen, dict.fromkeys(agents, float(pay)), dict.fromkeys(agents, self._steps == 2), none, infos

    def _seen(self) -> dict:
        self._now = {agent: int(self._rng.integers(self._signals)) for agent in self.possible_agents}
        seen = {}
        for agent, signal in self._now.items():
            seen[agent] = np.ones(self.observation_space(agent).shape, np.float32)
            seen[agent][: self._signals] = np.eye(self._signals, dtype=np.float32)[signal]
        return seen
