"""One PPO agent that chooses all genes: stable-baselines3's PPO on the vectorised mapping environment.

The algorithm is that of Schulman et al., "Proximal Policy Optimization Algorithms" (2017, arXiv:1707.06347),
as stable-baselines3 (Raffin et al., JMLR 2021) has it; its use is the single-agent baseline of Krishnan et
al. (2025, arXiv:2507.16249), as in ArchGym (Krishnan et al., ISCA 2023) before: the agent sees latency,
power, energy and area, acts by choosing a mapping, and is rewarded for a low loss. Departures:

- An episode is one step, as a point's cost does not depend on the points before it. So the agent acts on
  what it sees after a reset, which is blank. ArchGym's form, episodes of 100 steps in which it sees the last
  point's figures (`episode_steps=100`), is a little worse: 1.10 times the best known loss where this reaches
  1.08 times (5,000 samples, 3 seeds; with the reward -log, 1.19 and 1.11).
- The reward, 1 / loss, is relative to the first feasible loss.
- An agent that finds nothing better for a while gives way to a new one.

Defaults were chosen on the 8 problems of results/campaigns/dev8.toml, among some 30 settings (network,
reward, entropy, step size, samples an update, episodes, patience), most of them with one seed at 5,000
samples, the best with three at 20,000. With 500, 2,000, 5,000 and 20,000 samples they reach 2.58, 1.31, 1.08
and 1.01 times the best known loss (geometric mean of medians over 3 seeds), categorical actions 2.66, 1.51,
1.20 and 1.07 times; random search is at 1.83, 1.55, 1.45 and 1.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dse.support.errors import InputError, unknown_name
from dse.support.validation import positive_number, whole_number
from searchers.common.play import Game, version_of
from searchers.common.sb3_play import AgentPlay
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, MAX_UNITS


@dataclass(frozen=True)
class _Tuned:
    """The settings whose best values depend on the kind of actions."""

    n_steps: int
    learning_rate: float
    ent_coef: float


_TUNED = {
    "gaussian": _Tuned(n_steps=2, learning_rate=0.005, ent_coef=0.01),
    "categorical": _Tuned(n_steps=4, learning_rate=0.01, ent_coef=0.05),
}


@dataclass(frozen=True)
class PPO(AgentPlay):
    """A single agent that learns by proximal policy optimisation.

    `actions` are `gaussian`, a number for each gene, rounded, or `categorical`, a probability for each of its
    values. What is None has the value found best for that kind of actions, given below for one and the other.
    """

    actions: Literal["gaussian", "categorical"] = "gaussian"

    reward: Literal["1/x", "-log"] = "1/x"
    """What a point earns (see Options of searchers.environments)."""

    n_envs: int = 64
    """Points that are drawn, and evaluated, at a time."""

    n_steps: int | None = None
    """Steps of all environments between two updates, of `n_envs` samples each: 2, 4."""

    n_minibatches: int = 1
    """Equal parts of an update's samples, a gradient step each."""

    n_epochs: int = 10
    """Times that an update goes through its samples."""

    learning_rate: float | None = None
    """Step size of Adam: 0.005, 0.01."""

    ent_coef: float | None = None
    """Weight of the policy's entropy against the normalised advantage: 0.01, 0.05."""

    clip_range: float = 0.2
    """How far an update may change the odds of an action: from 1 - `clip_range` to 1 + `clip_range` times."""

    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, the same for the policy and for the value."""

    episode_steps: int = 1
    """Steps of an episode."""

    gamma: float = 0.99
    """How much less a reward counts for each step that it is later."""

    patience: int = 4000
    """Samples without a better one after which a new agent begins; 0 is never."""

    aliases: ClassVar[Mapping[str, str]] = {
        "envs": "n_envs",
        "steps": "n_steps",
        "minibatches": "n_minibatches",
        "epochs": "n_epochs",
        "entropy": "ent_coef",
        "clip": "clip_range",
        "hidden": "net_arch",
        "discount": "gamma",
    }
    algorithm: ClassVar[str] = "ppo"
    version = property(version_of)

    def __post_init__(self) -> None:
        for name, known in (("actions", tuple(_TUNED)), ("reward", ("1/x", "-log"))):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        for name in ("n_envs", "n_minibatches", "episode_steps"):
            whole_number(getattr(self, name), name, most=MAX_POINTS)
        whole_number(self.n_epochs, "n_epochs", most=MAX_REPEATS)
        whole_number(self.patience, "patience", least=0)
        tuned = self._tuned
        samples = self.n_envs * whole_number(tuned.n_steps, "n_steps", most=MAX_POINTS)
        whole_number(samples, "n_envs * n_steps", most=MAX_POINTS)
        if samples % self.n_minibatches or samples < 2 * self.n_minibatches:
            raise InputError(
                f"n_minibatches must be equal parts, of 2 or more, of n_envs * n_steps = {samples} samples, "
                f"got {self.n_minibatches}"
            )
        positive_number(tuned.learning_rate, "learning_rate")
        positive_number(self.clip_range, "clip_range")
        if not 0 <= tuned.ent_coef < np.inf:
            raise InputError(f"ent_coef must be a finite number from 0, got {tuned.ent_coef}")
        if not 0 <= self.gamma <= 1:
            raise InputError(f"gamma must be between 0 and 1, got {self.gamma}")
        whole_number(len(self.net_arch), "net_arch: layers", least=0, most=8)
        for units in self.net_arch:
            whole_number(units, "net_arch: units of a layer", most=MAX_UNITS)

    def game(self) -> Game:
        """What the agent plays."""
        return Game("one-step", "one", self.actions, self.reward, self.episode_steps)

    def settings(self, genes: int) -> dict[str, Any]:
        """What the algorithm takes, by its names."""
        tuned = self._tuned
        return {
            "n_steps": tuned.n_steps,
            "batch_size": self.n_envs * tuned.n_steps // self.n_minibatches,
            "n_epochs": self.n_epochs,
            "learning_rate": tuned.learning_rate,
            "ent_coef": tuned.ent_coef,
            "clip_range": self.clip_range,
            "gamma": self.gamma,
            "policy_kwargs": {"net_arch": list(self.net_arch)},
        }

    @property
    def _tuned(self) -> _Tuned:
        """The settings that depend on the kind of actions, as they are given or as they are best."""
        given = {name: getattr(self, name) for name in ("n_steps", "learning_rate", "ent_coef")}
        return replace(_TUNED[self.actions], **{name: x for name, x in given.items() if x is not None})
