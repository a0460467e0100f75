"""MADDPG: an actor an agent, each with a critic that sees what all of them observe and do.

Lowe, Wu, Tamar, Harb, Abbeel and Mordatch, "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive
Environments" (NeurIPS 2017, arXiv:1706.02275). Discrete actions are drawn by straight-through Gumbel-softmax.
As in the authors' program, the square of the actors' outputs is held down a little.

    y_i = r_i + discount * Qbar_i(S', A'),   A' the best actions by all target actors
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from learners.heads import Choices, Head, Levels
from learners.offpolicy import Batch, OffPolicyLearner, Part, by_batch
from learners.phases import Phases, measure_nothing
from learners.settings import OffPolicy
from learners.team import Team

_OUTPUT_WEIGHT = 1e-3


@dataclass(frozen=True)
class MADDPG(OffPolicy):
    """The algorithm with its settings."""

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> MADDPGLearner:
        """A team that has not learned yet."""
        return MADDPGLearner(self, team, rng, phases)


class MADDPGLearner(OffPolicyLearner):
    """A team that learns."""

    name = "maddpg"

    def __init__(self, settings: MADDPG, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        head: Head = Choices(team.real) if team.discrete else Levels(team.width)
        super().__init__(settings, team, head, rng, phases)
        self._gamma = settings.gamma

    def _targets(self, part: Part, batch: Batch) -> Tensor:
        actions = by_batch(self._networks.head.greedy(self._networks.target_outputs(batch)), batch)
        values = part.target_critics(part.critic_rows(batch, batch.following, actions))[..., 0]
        going_on = 1 - batch.rows(batch.ended, part.agents)
        return batch.rows(batch.rewards, part.agents) + self._gamma * going_on * values

    def _actor_loss(self, part: Part, batch: Batch) -> Tensor:
        outputs = part.actors(batch.rows(batch.observations, part.agents))
        fresh, _ = part.head.draw(outputs, self._networks.noise(*outputs.shape[:2]))
        values = part.values_with(batch, fresh)
        held_down = _OUTPUT_WEIGHT * outputs.square().mean(dim=2)
        return (held_down - values).mean(dim=1).sum()
