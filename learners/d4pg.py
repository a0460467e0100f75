"""D4PG: a deterministic actor, and a critic that says how likely each return is.

Barth-Maron et al., "Distributed Distributional Deterministic Policy Gradients" (ICLR 2018, arXiv:1804.08617);
the distribution, over `n_atoms` returns evenly from `v_min` to `v_max`, is that of Bellemare, Dabney and
Munos (ICML 2017, arXiv:1707.06887). In a team each agent has both for itself. Where it departs: targets
follow softly, replay is uniform, and the first actions are random.

    y = r_1 + ... + gamma^(n-1) r_n + gamma^n Z(s_n, actor(s_n)),   cut off at the ends, shared between
    the two atoms beside it; the critic comes to its chances, the actor to the highest mean of the critic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from learners.actors import tried_levels
from learners.arrays import SingleArray
from learners.errors import InputError, whole_number
from learners.folding import FoldedLearner, FoldedSettings, refuse_other_units
from learners.heads import Levels
from learners.networks import ClippedAdam, Networks
from learners.phases import ACTIONS, P_LOSS, Q_LOSS, SAMPLING, TARGET_Q, Phases, measure_nothing
from learners.policy import Policy
from learners.replay import Transitions
from learners.team import Team

_MAX_ATOMS = 8192


@dataclass(frozen=True)
class D4PG(FoldedSettings):
    """The algorithm with its settings; `exploration_noise` is the deviation of actions in [-1, 1]."""

    net_arch: tuple[int, ...] = (256, 256)
    critic_net_arch: tuple[int, ...] = (256, 256)
    n_atoms: int = 51
    v_min: float = -100.0
    v_max: float = 100.0
    n_steps: int = 5
    batch_size: int = 256
    train_freq: int = 16
    exploration_noise: float = 0.2
    learning_rate: float = 0.0003
    tau: float = 0.01
    max_grad_norm: float = 40.0
    buffer_size: int = 1_000_000

    aliases: ClassVar[Mapping[str, str]] = {
        **FoldedSettings.aliases,
        "critic_hidden": "critic_net_arch",
        "atoms": "n_atoms",
        "lowest": "v_min",
        "highest": "v_max",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_other_units("critic_net_arch", self.critic_net_arch)
        whole_number(self.n_atoms, "n_atoms", least=2, most=_MAX_ATOMS)
        if not -np.inf < self.v_min < self.v_max < np.inf:
            raise InputError(f"v_min must be below v_max, got {self.v_min} and {self.v_max}")

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> D4PGLearner:
        """A team that has not learned yet."""
        if team.discrete:
            raise InputError("d4pg needs actions that are numbers, got choices")
        return D4PGLearner(self, team, rng, phases)


class D4PGLearner(FoldedLearner):
    """A team that learns."""

    def __init__(self, settings: D4PG, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        beginning, self._sampling, self._trying = rng.spawn(3)
        super().__init__(settings, phases)
        self._settings, self._team = settings, team
        agents, seen = len(team.names), team.observed + team.width
        sizes = (team.observed, *settings.net_arch, team.width)
        self.actors = Networks.drawn(beginning, agents, sizes)
        self.critics = Networks.drawn(beginning, agents, (seen, *settings.critic_net_arch, settings.n_atoms))
        self._target_actors, self._target_critics = self.actors.copy(), self.critics.copy()
        self._actor_optimiser = ClippedAdam(self.actors, settings.learning_rate, settings.max_grad_norm)
        self._critic_optimiser = ClippedAdam(self.critics, settings.learning_rate, settings.max_grad_norm)
        self._returns = torch.linspace(settings.v_min, settings.v_max, settings.n_atoms)
        self._acted = 0

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try: (agents, width)."""
        with self._phases(ACTIONS), torch.no_grad():
            levels = torch.tanh(self.actors(torch.from_numpy(observations)[:, None]))[:, 0].numpy()
        self._acted += 1
        random = self._acted <= self._settings.learning_starts
        return tried_levels(levels, self._trying, np.float32(self._settings.exploration_noise), random)

    def update(self) -> None:
        """Go down both losses once, then let the targets follow."""
        with self._phases(SAMPLING):
            drawn = self.replay.sample(self._sampling, self._settings.batch_size)
            observations, actions, rewards, following, ended = (
                torch.from_numpy(np.ascontiguousarray(getattr(drawn, name).swapaxes(0, 1)))
                for name in Transitions.__dataclass_fields__
            )
        with self._phases(TARGET_Q), torch.no_grad():
            next_actions = torch.tanh(self._target_actors(following))
            chances = self._target_critics(torch.cat((following, next_actions), -1)).softmax(-1)
            targets = project_distribution(chances, rewards, 1 - ended, self._returns)
        with self._phases(Q_LOSS):
            logs = self.critics(torch.cat((observations, actions), -1)).log_softmax(-1)
            self._critic_optimiser.step(-(targets * logs).sum(-1).mean(1).sum())
        with self._phases(P_LOSS):
            fresh = torch.tanh(self.actors(observations))
            chances = self.critics(torch.cat((observations, fresh), -1)).softmax(-1)
            self._actor_optimiser.step(-(chances @ self._returns).mean(1).sum())
        self._target_actors.follow(self.actors, self._settings.tau)
        self._target_critics.follow(self.critics, self._settings.tau)

    def policy(self) -> Policy:
        """What has been learned so far."""
        return Policy("d4pg", self._team, Levels(self._team.width), self.actors.copy())


def project_distribution(chances: Tensor, rewards: Tensor, counts: Tensor, returns: Tensor) -> Tensor:
    """The distribution of r + c Z over the atoms: chances (..., atoms) of Z, rewards and counts (...)."""
    lowest, spacing, last = returns[0], returns[1] - returns[0], len(returns) - 1
    moved = (rewards[..., None] + counts[..., None] * returns - lowest) / spacing
    moved = moved.clamp(0, last)
    below = moved.floor().clamp(max=last - 1)
    above = moved - below
    places = below.long()
    found = torch.zeros_like(chances).scatter_add_(-1, places, chances * (1 - above))
    return found.scatter_add_(-1, places + 1, chances * above)
