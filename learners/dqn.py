"""DQN of one agent, with double targets over n steps: a learner that actors elsewhere can act for.

Mnih et al., "Human-level control through deep reinforcement learning" (Nature 518, 2015); the target's action
is chosen by the network that learns (van Hasselt, Guez and Silver, AAAI 2016, arXiv:1509.06461). Targets
follow softly. The searcher `dqn` is stable-baselines3's; this one is for actors of few bits.

    y = r_1 + ... + gamma^(n-1) r_n + gamma^n Qbar(s_n, argmax Q(s_n, .))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from learners.actors import tried_choices
from learners.arrays import SingleArray
from learners.errors import InputError
from learners.folding import FoldedLearner, FoldedSettings
from learners.heads import Choices
from learners.networks import ClippedAdam, Networks
from learners.phases import ACTIONS, Q_LOSS, SAMPLING, TARGET_Q, Phases, measure_nothing
from learners.policy import Policy
from learners.replay import Transitions
from learners.team import Team


@dataclass(frozen=True)
class DQN(FoldedSettings):
    """The algorithm with its settings; `exploration_noise` is the chance of a random action."""

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> DQNLearner:
        """An agent that has not learned yet."""
        if not team.discrete or team.real.shape[:2] != (1, 1):
            raise InputError("dqn is for one agent with one choice a step")
        return DQNLearner(self, team, rng, phases)


class DQNLearner(FoldedLearner):
    """An agent that learns."""

    def __init__(self, settings: DQN, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        beginning, self._sampling, self._trying = rng.spawn(3)
        super().__init__(settings, phases)
        self._settings, self._team = settings, team
        self.actors = Networks.drawn(beginning, 1, (team.observed, *settings.net_arch, team.width))
        self._targets = self.actors.copy()
        self._optimiser = ClippedAdam(self.actors, settings.learning_rate, settings.max_grad_norm)
        self._acted = 0

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try: (1, width)."""
        with self._phases(ACTIONS), torch.no_grad():
            values = self.actors(torch.from_numpy(observations)[:, None])[:, 0].numpy()
        self._acted += 1
        random = self._acted <= self.learning_starts
        return tried_choices(values, self._trying, np.float32(self._settings.exploration_noise), random)

    def update(self) -> None:
        """Go down the error of the values once, then let the target follow."""
        with self._phases(SAMPLING):
            drawn = self.replay.sample(self._sampling, self._settings.batch_size)
            observations, actions, rewards, following, ended = (
                torch.from_numpy(getattr(drawn, name)[:, 0]) for name in Transitions.__dataclass_fields__
            )
        with self._phases(TARGET_Q), torch.no_grad():
            best = self.actors(following[None])[0].argmax(dim=1, keepdim=True)
            later = self._targets(following[None])[0].gather(1, best)[:, 0]
            targets = rewards + (1 - ended) * later
        with self._phases(Q_LOSS):
            values = (self.actors(observations[None])[0] * actions).sum(dim=1)
            self._optimiser.step(torch.nn.functional.smooth_l1_loss(values, targets))
        self._targets.follow(self.actors, self._settings.tau)

    def policy(self) -> Policy:
        """What has been learned so far."""
        return Policy("dqn", self._team, Choices(self._team.real), self.actors.copy())
