"""DQN of one agent, with double targets over n steps: a learner that actors elsewhere can act for.

Mnih et al., "Human-level control through deep reinforcement learning" (Nature 518, 2015); the target's action
is chosen by the network that learns (van Hasselt, Guez and Silver, AAAI 2016, arXiv:1509.06461). Targets
follow softly. The searcher `dqn` is stable-baselines3's; this one is for actors of few bits.

    y = r_1 + ... + discount^(n-1) r_n + discount^n Qbar(s_n, argmax Q(s_n, .))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from dse.support.arrays import SingleArray
from dse.support.errors import InputError
from dse.support.validation import positive_number, whole_number
from learners.actors import tried_choices
from learners.folding import Folding
from learners.heads import Choices
from learners.networks import Descent, Networks
from learners.phases import ACTIONS, Q_LOSS, SAMPLING, TARGET_Q, UPDATE, Phases, unmeasured
from learners.policy import Policy
from learners.replay import Transitions, make_replay
from learners.team import Team

_MOST = 10_000_000


@dataclass(frozen=True)
class DQN:
    """The algorithm with its settings."""

    hidden: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, ReLU."""
    steps: int = 3
    """Steps whose rewards a target counts as they were."""
    discount: float = 0.99
    batch: int = 64
    update_every: int = 4
    """Steps between updates: each step is learned from batch / update_every times, 16 by default."""
    warm_up: int = 1000
    """Steps of random actions, before which nothing is learned."""
    spread: float = 0.1
    """The chance of a random action."""
    learning_rate: float = 0.001
    tau: float = 0.02
    """The share of the way to the network that its target goes after an update."""
    max_norm: float = 10.0
    """Length to which a gradient is cut."""
    capacity: int = 100_000
    """Steps that the memory holds."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "update_every", "capacity"):
            whole_number(getattr(self, name), name, most=_MOST)
        whole_number(self.warm_up, "warm_up", least=0, most=_MOST)
        for units in self.hidden:
            whole_number(units, "hidden: units of a layer", most=_MOST)
        for name in ("learning_rate", "max_norm"):
            positive_number(getattr(self, name), name)
        for name in ("tau", "discount", "spread"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = unmeasured) -> DQNLearner:
        """An agent that has not learned yet."""
        if not team.discrete or team.real.shape[:2] != (1, 1):
            raise InputError("dqn is for one agent with one choice a step")
        return DQNLearner(self, team, rng, phases)


class DQNLearner:
    """An agent that learns: it acts and takes in steps, or is handed folded ones by who acts elsewhere."""

    def __init__(self, settings: DQN, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        beginning, self._sampling, self._trying = rng.spawn(3)
        self._settings, self._team, self._phases = settings, team, phases
        self.steps, self.discount, self.warm_up = settings.steps, settings.discount, settings.warm_up
        self.actors = Networks.drawn(beginning, 1, (team.observed, *settings.hidden, team.width))
        self._targets = self.actors.copy()
        self._descent = Descent(self.actors, settings.learning_rate, settings.max_norm)
        self.replay = make_replay("contiguous", settings.capacity)
        self._folding = Folding(settings.steps, settings.discount)
        self._acted = self._taken = 0

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try: (1, width)."""
        with self._phases(ACTIONS), torch.no_grad():
            values = self.actors(torch.from_numpy(observations)[:, None])[:, 0].numpy()
        self._acted += 1
        random = self._acted <= self.warm_up
        return tried_choices(values, self._trying, np.float32(self._settings.spread), random)

    def learn(self, step: Transitions) -> None:
        """Take in a step, and update every so often."""
        for whole in self._folding.add(step):
            self.take(whole)

    def take(self, step: Transitions) -> None:
        """Keep a folded step, and update every so often."""
        settings = self._settings
        self.replay.add(step)
        self._taken += 1
        enough = self._taken >= max(settings.warm_up, settings.batch)
        if enough and self._taken % settings.update_every == 0:
            with self._phases(UPDATE):
                self.update()

    def update(self) -> None:
        """Go down the error of the values once, then let the target follow."""
        with self._phases(SAMPLING):
            drawn = self.replay.sample(self._sampling, self._settings.batch)
            observations, actions, rewards, following, ended = (
                torch.from_numpy(getattr(drawn, name)[:, 0]) for name in Transitions.__dataclass_fields__
            )
        with self._phases(TARGET_Q), torch.no_grad():
            best = self.actors(following[None])[0].argmax(dim=1, keepdim=True)
            later = self._targets(following[None])[0].gather(1, best)[:, 0]
            targets = rewards + (1 - ended) * later
        with self._phases(Q_LOSS):
            values = (self.actors(observations[None])[0] * actions).sum(dim=1)
            self._descent.step(torch.nn.functional.smooth_l1_loss(values, targets))
        self._targets.follow(self.actors, self._settings.tau)

    def policy(self) -> Policy:
        """What has been learned so far."""
        return Policy("dqn", self._team, Choices(self._team.real), self.actors.copy())
