"""D4PG: a deterministic actor, and a critic that says how likely each return is.

Barth-Maron et al., "Distributed Distributional Deterministic Policy Gradients" (ICLR 2018, arXiv:1804.08617);
the distribution, over `atoms` returns evenly from `lowest` to `highest`, is that of Bellemare, Dabney and
Munos (ICML 2017, arXiv:1707.06887). In a team each agent has both for itself. Where it departs: targets
follow softly, replay is uniform, and the first actions are random.

    y = r_1 + ... + discount^(n-1) r_n + discount^n Z(s_n, actor(s_n)),   cut off at the ends, shared between
    the two atoms beside it; the critic comes to its chances, the actor to the highest mean of the critic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dse.support.arrays import SingleArray
from dse.support.errors import InputError
from dse.support.validation import positive_number, whole_number
from learners.actors import tried_levels
from learners.folding import Folding
from learners.heads import Levels
from learners.networks import Descent, Networks
from learners.phases import ACTIONS, P_LOSS, Q_LOSS, SAMPLING, TARGET_Q, UPDATE, Phases, unmeasured
from learners.policy import Policy
from learners.replay import Transitions, make_replay
from learners.team import Team

_MOST = 10_000_000
_MOST_UNITS = 8192


@dataclass(frozen=True)
class D4PG:
    """The algorithm with its settings."""

    hidden: tuple[int, ...] = (256, 256)
    """Units of the actor's hidden layers, ReLU."""
    critic_hidden: tuple[int, ...] = (256, 256)
    atoms: int = 51
    lowest: float = -100.0
    highest: float = 100.0
    steps: int = 5
    """Steps whose rewards a target counts as they were."""
    discount: float = 0.99
    batch: int = 256
    update_every: int = 16
    """Steps between updates: each step is learned from batch / update_every times, 16 by default."""
    warm_up: int = 1000
    """Steps of random actions, before which nothing is learned."""
    spread: float = 0.2
    """Deviation of the noise that actions, in [-1, 1], are tried with."""
    learning_rate: float = 0.0003
    """Adam's, of actor and critic alike."""
    tau: float = 0.01
    """The share of the way to the networks that their targets go after an update."""
    max_norm: float = 40.0
    """Length to which a gradient is cut."""
    capacity: int = 1_000_000
    """Steps that the memory holds."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "update_every", "capacity"):
            whole_number(getattr(self, name), name, most=_MOST)
        whole_number(self.atoms, "atoms", least=2, most=_MOST_UNITS)
        whole_number(self.warm_up, "warm_up", least=0, most=_MOST)
        for layers in ("hidden", "critic_hidden"):
            for units in getattr(self, layers):
                whole_number(units, f"{layers}: units of a layer", most=_MOST_UNITS)
        for name in ("learning_rate", "max_norm"):
            positive_number(getattr(self, name), name)
        for name in ("tau", "discount", "spread"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if not -np.inf < self.lowest < self.highest < np.inf:
            raise InputError(f"lowest must be below highest, got {self.lowest} and {self.highest}")

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = unmeasured) -> D4PGLearner:
        """A team that has not learned yet."""
        if team.discrete:
            raise InputError("d4pg needs actions that are numbers, got choices")
        return D4PGLearner(self, team, rng, phases)


class D4PGLearner:
    """A team that learns: it acts and takes in steps, or is handed folded ones by who acts elsewhere."""

    def __init__(self, settings: D4PG, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        beginning, self._sampling, self._trying = rng.spawn(3)
        self._settings, self._team, self._phases = settings, team, phases
        self.steps, self.discount, self.warm_up = settings.steps, settings.discount, settings.warm_up
        agents, seen = len(team.names), team.observed + team.width
        sizes = (team.observed, *settings.hidden, team.width)
        self.actors = Networks.drawn(beginning, agents, sizes)
        self.critics = Networks.drawn(beginning, agents, (seen, *settings.critic_hidden, settings.atoms))
        self._target_actors, self._target_critics = self.actors.copy(), self.critics.copy()
        self._actor_descent = Descent(self.actors, settings.learning_rate, settings.max_norm)
        self._critic_descent = Descent(self.critics, settings.learning_rate, settings.max_norm)
        self._returns = torch.linspace(settings.lowest, settings.highest, settings.atoms)
        self.replay = make_replay("contiguous", settings.capacity)
        self._folding = Folding(settings.steps, settings.discount)
        self._acted = self._taken = 0

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try: (agents, width)."""
        with self._phases(ACTIONS), torch.no_grad():
            levels = torch.tanh(self.actors(torch.from_numpy(observations)[:, None]))[:, 0].numpy()
        self._acted += 1
        random = self._acted <= self._settings.warm_up
        return tried_levels(levels, self._trying, np.float32(self._settings.spread), random)

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
        """Go down both losses once, then let the targets follow."""
        with self._phases(SAMPLING):
            drawn = self.replay.sample(self._sampling, self._settings.batch)
            observations, actions, rewards, following, ended = (
                torch.from_numpy(np.ascontiguousarray(getattr(drawn, name).swapaxes(0, 1)))
                for name in Transitions.__dataclass_fields__
            )
        with self._phases(TARGET_Q), torch.no_grad():
            next_actions = torch.tanh(self._target_actors(following))
            chances = self._target_critics(torch.cat((following, next_actions), -1)).softmax(-1)
            targets = projected(chances, rewards, 1 - ended, self._returns)
        with self._phases(Q_LOSS):
            logs = self.critics(torch.cat((observations, actions), -1)).log_softmax(-1)
            self._critic_descent.step(-(targets * logs).sum(-1).mean(1).sum())
        with self._phases(P_LOSS):
            fresh = torch.tanh(self.actors(observations))
            chances = self.critics(torch.cat((observations, fresh), -1)).softmax(-1)
            self._actor_descent.step(-(chances @ self._returns).mean(1).sum())
        self._target_actors.follow(self.actors, self._settings.tau)
        self._target_critics.follow(self.critics, self._settings.tau)

    def policy(self) -> Policy:
        """What has been learned so far."""
        return Policy("d4pg", self._team, Levels(self._team.width), self.actors.copy())


def projected(chances: Tensor, rewards: Tensor, counts: Tensor, returns: Tensor) -> Tensor:
    """The distribution of r + c Z over the atoms: chances (..., atoms) of Z, rewards and counts (...)."""
    lowest, spacing, last = returns[0], returns[1] - returns[0], len(returns) - 1
    moved = (rewards[..., None] + counts[..., None] * returns - lowest) / spacing
    moved = moved.clamp(0, last)
    below = moved.floor().clamp(max=last - 1)
    above = moved - below
    places = below.long()
    found = torch.zeros_like(chances).scatter_add_(-1, places, chances * (1 - above))
    return found.scatter_add_(-1, places + 1, chances * above)
