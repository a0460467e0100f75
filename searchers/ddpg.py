"""One DDPG agent that chooses all genes: stable-baselines3's DDPG on the vectorised mapping environment.

The algorithm is that of Lillicrap et al., "Continuous control with deep reinforcement learning" (ICLR 2016,
arXiv:1509.02971): an action is a number for each gene, rounded, and tried with normal noise. An episode is
one step by default, as a point's cost does not depend on the points before it; the critic is then a model of
the rewards, and the actor its best point. The defaults are the best of the trials in results/tuning/ddpg.csv,
on development problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from searchers.common.play import Game, Reward, version_of
from searchers.common.sb3_play import LONG, AgentPlay
from searchers.common.settings import Count, Layers, Positive, Repeats, Samples, Share, Weight

_HELD = 100_000


@dataclass(frozen=True)
class DDPG(AgentPlay):
    """A single agent with a deterministic actor, and a critic that it climbs."""

    reward: Reward = "1/x"
    """What a point earns (see Options of searchers.environments)."""
    n_envs: Count = 1
    """Points that are drawn, and evaluated, at a time."""
    gradient_steps: Repeats = 4
    """Gradient steps after each step of all environments."""
    batch_size: Count = 128
    """Samples that a gradient step is made on."""
    learning_starts: Count = 50
    """Samples drawn at random before the first update."""
    action_noise: Weight = 0.4
    """Deviation of the noise that actions, in [-1, 1], are tried with."""
    learning_rate: Positive = 0.0003
    """Step size of Adam."""
    tau: Share = 0.05
    """The share of the way to the networks that their targets go after a gradient step."""
    gamma: Share = 0.9
    """How much less a reward counts for each step that it is later."""
    net_arch: Layers = (128, 128)
    """Units of the hidden layers, of actor and critic alike."""
    episode_steps: Count = 1
    patience: Samples = 4000
    """Samples without a better one after which a new agent begins; 0 is never."""

    aliases: ClassVar[Mapping[str, str]] = {
        "envs": "n_envs",
        "updates": "gradient_steps",
        "batch": "batch_size",
        "warm_up": "learning_starts",
        "spread": "action_noise",
        "discount": "gamma",
        "hidden": "net_arch",
    }
    algorithm: ClassVar[str] = "ddpg"
    steps: ClassVar[int] = LONG
    version = property(version_of)

    def game(self) -> Game:
        """What the agent plays."""
        return Game("one-step", "one", "gaussian", self.reward, self.episode_steps)

    def settings(self, genes: int) -> dict[str, Any]:
        """What the algorithm takes, by its names."""
        from learners.sb3 import exploration_noise

        return {
            "train_freq": 1,
            "gradient_steps": self.gradient_steps,
            "batch_size": self.batch_size,
            "learning_starts": self.learning_starts,
            "buffer_size": max(_HELD, self.n_envs),
            "learning_rate": self.learning_rate,
            "tau": self.tau,
            "gamma": self.gamma,
            "action_noise": exploration_noise(np.full(genes, self.action_noise)),
            "policy_kwargs": {"net_arch": list(self.net_arch)},
        }
