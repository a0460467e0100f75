"""One A2C agent that chooses all genes: stable-baselines3's A2C on the vectorised mapping environment.

The algorithm is the synchronous form of Mnih et al., "Asynchronous Methods for Deep Reinforcement Learning"
(ICML 2016, arXiv:1602.01783); its use is `ppo`'s (see searchers.ppo), whose departures it shares: an update
sees its samples once. The defaults are the best of the trials in results/tuning/a2c.csv, on development
problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from searchers.common.play import Game, Reward, version_of
from searchers.common.sb3_play import AgentPlay
from searchers.common.settings import Count, Layers, Positive, Samples, Share, Weight


@dataclass(frozen=True)
class A2C(AgentPlay):
    """A single agent that learns by advantage actor-critic."""

    actions: Literal["gaussian", "categorical"] = "categorical"
    """A number for each gene, rounded, or a probability for each of its values."""
    reward: Reward = "1/x"
    """What a point earns (see Options of searchers.environments)."""
    n_envs: Count = 16
    """Points that are drawn, and evaluated, at a time."""
    n_steps: Count = 2
    """Steps of all environments between two updates."""
    learning_rate: Positive = 0.003
    """Step size of RMSprop."""
    ent_coef: Weight = 0.1
    """Weight of the policy's entropy against the advantage."""
    net_arch: Layers = (64, 64)
    """Units of the hidden layers, the same for the policy and for the value."""
    episode_steps: Count = 1
    gamma: Share = 0.99
    patience: Samples = 2000
    """Samples without a better one after which a new agent begins; 0 is never."""

    aliases: ClassVar[Mapping[str, str]] = {
        "envs": "n_envs",
        "steps": "n_steps",
        "entropy": "ent_coef",
        "hidden": "net_arch",
        "discount": "gamma",
    }
    algorithm: ClassVar[str] = "a2c"
    version = property(version_of)

    def game(self) -> Game:
        """What the agent plays."""
        return Game("one-step", "one", self.actions, self.reward, self.episode_steps)

    def settings(self, genes: int) -> dict[str, Any]:
        """What the algorithm takes, by its names."""
        return {
            "n_steps": self.n_steps,
            "learning_rate": self.learning_rate,
            "ent_coef": self.ent_coef,
            "gamma": self.gamma,
            # One step of one environment has no deviation to be divided by.
            "normalize_advantage": self.n_envs * self.n_steps > 1,
            "policy_kwargs": {"net_arch": list(self.net_arch)},
        }
