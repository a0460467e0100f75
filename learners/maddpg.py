"""MADDPG: an actor an agent, each with a critic that sees what all of them observe and do.

Lowe, Wu, Tamar, Harb, Abbeel and Mordatch, "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive
Environments" (NeurIPS 2017, arXiv:1706.02275). Discrete actions are drawn by straight-through Gumbel-softmax.
As in the authors' program, the square of the actors' outputs is held down a little.

    y_i = r_i + discount * Qbar_i(S', A'),   A' the best actions by all target actors
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learners.arrays import SingleArray
from learners.heads import Choices, Head, Levels
from learners.offpolicy import Batch, Part, TeamNetworks, by_batch
from learners.phases import P_LOSS, Q_LOSS, TARGET_Q, UPDATE, Phases, unmeasured
from learners.policy import Policy
from learners.replay import Transitions
from learners.settings import OffPolicy
from learners.team import Team

_OUTPUT_WEIGHT = 1e-3


@dataclass(frozen=True)
class MADDPG(OffPolicy):
    """The algorithm with its settings."""

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = unmeasured) -> MADDPGLearner:
        """A team that has not learned yet."""
        return MADDPGLearner(self, team, rng, phases)


class MADDPGLearner:
    """A team that learns."""

    def __init__(self, settings: MADDPG, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        head: Head = Choices(team.real) if team.discrete else Levels(team.width)
        self._networks = TeamNetworks(settings, team, head, rng, phases)
        self._settings, self._phases = settings, phases
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
            with self._phases(TARGET_Q):
                targets = self._targets(part, batch)
            with self._phases(Q_LOSS):
                values = part.critics(part.critic_rows(batch, batch.observations, batch.actions))[..., 0]
                part.critic_optimiser.step((values - targets).square().mean(dim=1).sum())
            with self._phases(P_LOSS):
                part.actor_optimiser.step(self._actor_loss(part, batch))
        self._networks.follow()

    def policy(self) -> Policy:
        """What has been learned so far."""
        return self._networks.policy("maddpg")

    @torch.no_grad()
    def _targets(self, part: Part, batch: Batch) -> Tensor:
        """The values y_i that the critics are to come to: (P, B)."""
        actions = by_batch(self._networks.head.greedy(self._networks.target_outputs(batch)), batch)
        values = part.target_critics(part.critic_rows(batch, batch.following, actions))[..., 0]
        going_on = 1 - batch.rows(batch.ended, part.agents)
        return batch.rows(batch.rewards, part.agents) + self._settings.gamma * going_on * values

    def _actor_loss(self, part: Part, batch: Batch) -> Tensor:
        outputs = part.actors(batch.rows(batch.observations, part.agents))
        fresh, _ = part.head.draw(outputs, self._networks.noise(*outputs.shape[:2]))
        values = part.values_with(batch, fresh)
        held_down = _OUTPUT_WEIGHT * outputs.square().mean(dim=2)
        return (held_down - values).mean(dim=1).sum()
