"""What teams with centralised critics share: networks with their targets, replay, mini-batches.

Axes: `S` mini-batches (one for each of the `P` agents that learn, or one for all of them), `B` steps in each,
`N` agents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from learners.arrays import SingleArray
from learners.heads import Head
from learners.networks import ClippedAdam, Networks
from learners.phases import ACTIONS, P_LOSS, Q_LOSS, SAMPLING, TARGET_Q, UPDATE, Phases
from learners.policy import Policy
from learners.replay import Transitions, make_replay
from learners.settings import OffPolicy
from learners.team import Team


@dataclass(frozen=True)
class Batch:
    """Mini-batches as tensors: observations, actions and following (S, B, N, ...), others (S, B, N)."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    following: Tensor
    ended: Tensor

    def rows(self, column: Tensor, agents: slice) -> Tensor:
        """What is each agent's in the mini-batch that is its own, or in that of all: (P, B, ...)."""
        if len(column) == 1:
            return column[0].transpose(0, 1)[agents]
        places = torch.arange(column.shape[2])[agents]
        return column[torch.arange(len(column)), :, places]


class Part:
    """Agents that are updated together: their networks, in the memory of the team's, and their optimisers."""

    def __init__(self, agents: slice, networks: TeamNetworks, settings: OffPolicy) -> None:
        self.agents = agents
        self.count = agents.stop - agents.start
        self.head = networks.head.of(agents)
        self.actors = networks.actors.of(agents)
        self.critics = networks.critics.of(agents)
        self.target_actors = networks.target_actors.of(agents)
        self.target_critics = networks.target_critics.of(agents)
        self.actor_optimiser = ClippedAdam(self.actors, settings.learning_rate, settings.max_grad_norm)
        self.critic_optimiser = ClippedAdam(self.critics, settings.learning_rate, settings.max_grad_norm)
        names, observed, width = len(networks.team.names), networks.team.observed, networks.team.width
        self._centralised = settings.centralised
        # Where the critics' rows have each agent's own action.
        starts = observed + settings.centralised * torch.arange(names)[agents] * (observed + width)
        self._places = torch.arange(self.count)[:, None], starts[:, None] + torch.arange(width)

    def critic_rows(self, batch: Batch, observations: Tensor, actions: Tensor) -> Tensor:
        """What the critics look at, all observations and actions: (S, B, N * (observed + width)).

        Where they are not centralised, it is each agent's own: (P, B, observed + width).
        """
        everything = torch.cat((observations, actions), dim=-1)
        return everything.flatten(2) if self._centralised else batch.rows(everything, self.agents)

    def values_with(self, batch: Batch, fresh: Tensor) -> Tensor:
        """What the critics make of the team's actions with each agent's own, (P, B, width), in their place.

        Gradients reach these alone: what all did goes through the first layer without them.
        """
        if self.critics.rounding is not None:
            return self._rounded_values(batch, fresh)
        changed = fresh - batch.rows(batch.actions, self.agents)
        with torch.no_grad():
            first = self.critics.first(self.critic_rows(batch, batch.observations, batch.actions))
        matrix = self.critics.weights[0].detach()[self._places[0], self._places[1]]
        return self.critics.frozen_after(torch.baddbmm(first, changed, matrix))[..., 0]

    def _rounded_values(self, batch: Batch, fresh: Tensor) -> Tensor:
        """The same where inputs are rounded, each row as a whole."""
        rows = self.critic_rows(batch, batch.observations, batch.actions).expand(self.count, -1, -1)
        columns = self._places[1][:, None].expand(-1, rows.shape[1], -1)
        return self.critics(rows.scatter(2, columns, fresh))[..., 0]


class TeamNetworks:
    """The networks of a team and their targets, its memory, and the randomness that it acts and learns by."""

    def __init__(
        self, settings: OffPolicy, team: Team, head: Head, rng: np.random.Generator, phases: Phases
    ) -> None:
        agents = len(team.names)
        beginning, self._sampling, self._noise, self._following, self._trying = rng.spawn(5)
        self._settings, self._phases = settings, phases
        self.team, self.head = team, head
        seen = (agents if settings.centralised else 1) * (team.observed + team.width)
        self.actors = Networks.drawn(beginning, agents, (team.observed, *settings.net_arch, head.outputs))
        self.critics = Networks.drawn(beginning, agents, (seen, *settings.net_arch, 1))
        self.target_actors, self.target_critics = self.actors.copy(), self.critics.copy()
        together = agents if settings.stacked else 1
        self.parts = [
            Part(slice(first, first + together), self, settings) for first in range(0, agents, together)
        ]
        self.replay = make_replay(settings.replay, settings.buffer_size)
        self._steps = 0

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions (agents, width) to try on observations (agents, observed)."""
        with self._phases(ACTIONS), torch.no_grad():
            rows = torch.from_numpy(observations)[:, None]
            outputs = torch.cat([part.actors(rows[part.agents]) for part in self.parts])
            noise = self.head.noise(self._trying, len(rows), 1)
            tried: SingleArray = self.head.explore(outputs, noise)[:, 0].numpy()
            return tried

    def remember(self, step: Transitions) -> bool:
        """Keep a step, and say whether an update is due."""
        self.replay.add(step)
        self._steps += 1
        return len(self.replay) >= self._settings.batch_size and self._steps % self._settings.train_freq == 0

    def batches(self) -> list[Batch]:
        """The mini-batches of an update, one for each part of the team."""
        if self._settings.shared_batch:
            return [self._drawn(1)] * len(self.parts)
        return [self._drawn(part.count) for part in self.parts]

    def noise(self, agents: int, n: int) -> Tensor:
        """Noise for the actors' own actions."""
        return self.head.noise(self._noise, agents, n)

    def following_noise(self, agents: int, n: int) -> Tensor:
        """Noise for what is done next: a stream of its own, for the order of updates to change nothing."""
        return self.head.noise(self._following, agents, n)

    def target_outputs(self, batch: Batch) -> Tensor:
        """What the target actors make of what followed: (N, S * B, outputs)."""
        rows = batch.following.permute(2, 0, 1, 3).flatten(1, 2)
        return torch.cat([part.target_actors(rows[part.agents]) for part in self.parts])

    def follow(self) -> None:
        """Let the targets follow the networks."""
        self.target_actors.follow(self.actors, self._settings.tau)
        self.target_critics.follow(self.critics, self._settings.tau)

    def policy(self, algorithm: str) -> Policy:
        """What has been learned, apart from what goes on learning."""
        return Policy(algorithm, self.team, self.head, self.actors.copy())

    def _drawn(self, count: int) -> Batch:
        with self._phases(SAMPLING):
            drawn = [self.replay.sample(self._sampling, self._settings.batch_size) for _ in range(count)]
            return Batch(
                *(
                    torch.from_numpy(np.stack([getattr(one, name) for one in drawn]))
                    for name in Batch.__dataclass_fields__
                )
            )


def by_batch(column: Tensor, batch: Batch) -> Tensor:
    """A column (N, S * B, ...) of the target actors as (S, B, N, ...)."""
    parted = column.view(len(column), *batch.rewards.shape[:2], *column.shape[2:])
    return parted.movedim(0, 2)


class OffPolicyLearner(ABC):
    """A team that learns: what its critics are to come to, and its actors' loss, are the algorithm's own."""

    name: ClassVar[str]

    def __init__(
        self, settings: OffPolicy, team: Team, head: Head, rng: np.random.Generator, phases: Phases
    ) -> None:
        self._networks = TeamNetworks(settings, team, head, rng, phases)
        self._phases = phases
        self.replay = self._networks.replay

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try: (agents, width)."""
        return self._networks.act(observations)

    def learn(self, step: Transitions) -> None:
        """Take in a step, and update every so often."""
        if self._networks.remember(step):
            with self._phases(UPDATE):
                self.update()

    def update(self) -> None:
        """Update all critics and actors once, then let the targets follow."""
        for part, batch in zip(self._networks.parts, self._networks.batches(), strict=True):
            with self._phases(TARGET_Q), torch.no_grad():
                targets = self._targets(part, batch)
            with self._phases(Q_LOSS):
                values = part.critics(part.critic_rows(batch, batch.observations, batch.actions))[..., 0]
                part.critic_optimiser.step((values - targets).square().mean(dim=1).sum())
            with self._phases(P_LOSS):
                part.actor_optimiser.step(self._actor_loss(part, batch))
        self._networks.follow()

    def policy(self) -> Policy:
        """What has been learned so far."""
        return self._networks.policy(self.name)

    @abstractmethod
    def _targets(self, part: Part, batch: Batch) -> Tensor:
        """The values y_i that the critics are to come to: (P, B)."""

    @abstractmethod
    def _actor_loss(self, part: Part, batch: Batch) -> Tensor:
        """What the actors go down: a number."""
