"""What environments of a search share: its samples, its best mapping, and agents with groups of genes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gymnasium import spaces
from pettingzoo import ParallelEnv

from dse.search.record import Record
from dse.support.errors import InputError
from searchers.environments.view import RENDER_MODES, Observations, View, partition_genes

Told = tuple[
    dict[str, Observations], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
]
"""What a step tells each agent: its observation, reward, whether it is terminated, truncated, and an info."""


class Viewed:
    """An environment of one search."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 1}
    _view: View
    render_mode: str | None

    @property
    def record(self) -> Record:
        """All samples drawn; with an `evaluator` given, its owner has it (InputError)."""
        return self._view.record

    def render(self) -> str | None:
        """The best mapping so far as a text, with the render mode `ansi`."""
        return self._view.render() if self.render_mode else None


class Grouped(Viewed, ParallelEnv[str, Observations, Any]):  # type: ignore[misc]
    """One agent a group of genes, named by them, joined by `+`; all observe, earn and hear the same."""

    def _begin(self, view: View, groups: Sequence[Sequence[str | int]] | None) -> None:
        """Deal the genes of the view to agents."""
        self._view, self.render_mode = view, view.render_mode
        parts = partition_genes(groups, view.names)
        names = ["+".join(view.names[gene] for gene in part) for part in parts]
        self.groups: dict[str, tuple[int, ...]] = dict(zip(names, parts, strict=True))
        self.possible_agents = names
        self.agents: list[str] = []
        self.observation_spaces: dict[str, spaces.Space[Any]] = {}
        self.action_spaces: dict[str, spaces.Space[Any]] = {}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What the agent observes, as all do."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """What the agent chooses for its genes."""
        return self.action_spaces[agent]

    def _all_begin(self, first: Observations) -> tuple[dict[str, Observations], dict[str, dict[str, Any]]]:
        """What `reset` returns."""
        self.agents = list(self.possible_agents)
        return {agent: first.copy() for agent in self.agents}, {agent: {} for agent in self.agents}

    def _acting(self) -> list[str]:
        """The agents of this step; InputError where the episode is over."""
        if not self.agents:
            raise InputError("the episode is over: reset the environment before the next step")
        return self.agents

    def _told(
        self, observation: Observations, reward: float, ended: bool, cut: bool, info: dict[str, Any]
    ) -> Told:
        """What `step` returns; nobody acts after an end."""
        agents = self.agents
        if ended or cut:
            self.agents = []
        return (
            {agent: observation.copy() for agent in agents},
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, ended),
            dict.fromkeys(agents, cut),
            {agent: {**info} for agent in agents},
        )
