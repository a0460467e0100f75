"""MASAC: soft actors, one an agent, each with a critic that sees what all of them observe and do.

Haarnoja et al., "Soft Actor-Critic Algorithms and Applications" (2018, arXiv:1812.05905), with the
centralised critics of MADDPG (arXiv:1706.02275), as Gogineni et al. profile it: the entropy H of a policy
counts beside its value. Where it departs from the former: one critic an agent, a coefficient that stays, and
targets of the actors too. Discrete actions are drawn by straight-through Gumbel-softmax, and their entropy is
exact.

    y_i = r_i + discount * (Qbar_i(S', A') + entropy * H_i(S')),   A' drawn from all target actors
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from learners.errors import InputError
from learners.heads import Choices, Head, SquashedNormals
from learners.offpolicy import Batch, OffPolicyLearner, Part, by_batch
from learners.phases import Phases, measure_nothing
from learners.settings import OffPolicy
from learners.team import Team


@dataclass(frozen=True)
class MASAC(OffPolicy):
    """The algorithm with its settings."""

    ent_coef: float = 0.05
    """What a nat of entropy is worth in units of reward."""

    aliases: ClassVar[Mapping[str, str]] = {**OffPolicy.aliases, "entropy": "ent_coef"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ent_coef < np.inf:
            raise InputError(f"ent_coef must be a finite number of at least 0, got {self.ent_coef}")

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> MASACLearner:
        """A team that has not learned yet."""
        return MASACLearner(self, team, rng, phases)


class MASACLearner(OffPolicyLearner):
    """A team that learns."""

    name = "masac"

    def __init__(self, settings: MASAC, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        head: Head = Choices(team.real) if team.discrete else SquashedNormals(team.width)
        super().__init__(settings, team, head, rng, phases)
        self._gamma, self._ent_coef = settings.gamma, settings.ent_coef
        self._drawn: tuple[Batch, tuple[Tensor, Tensor]] | None = None

    def _following(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """What the target actors do next, (S, B, N, width), and their entropy, (S, B, N)."""
        outputs = self._networks.target_outputs(batch)
        batches, steps, agents = batch.rewards.shape
        noise = self._networks.following_noise(batches * agents, steps)
        noise = noise.view(batches, agents, steps, -1).transpose(0, 1).flatten(1, 2)
        drawn = self._networks.head.draw(outputs, noise)
        return by_batch(drawn.actions, batch), by_batch(drawn.entropy, batch)

    def _targets(self, part: Part, batch: Batch) -> Tensor:
        # Where the team shares a mini-batch, what it would do next is drawn once.
        if self._drawn is None or self._drawn[0] is not batch:
            self._drawn = batch, self._following(batch)
        actions, entropies = self._drawn[1]
        values = part.target_critics(part.critic_rows(batch, batch.following, actions))[..., 0]
        soft = values + self._ent_coef * batch.rows(entropies, part.agents)
        going_on = 1 - batch.rows(batch.ended, part.agents)
        return batch.rows(batch.rewards, part.agents) + self._gamma * going_on * soft

    def _actor_loss(self, part: Part, batch: Batch) -> Tensor:
        outputs = part.actors(batch.rows(batch.observations, part.agents))
        fresh, entropy = part.head.draw(outputs, self._networks.noise(*outputs.shape[:2]))
        values = part.values_with(batch, fresh)
        return -(values + self._ent_coef * entropy).mean(dim=1).sum()
