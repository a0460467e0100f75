"""One DQN agent that sets gene after gene: stable-baselines3's DQN on the discrete mapping environment.

The algorithm is that of Mnih et al., "Human-level control through deep reinforcement learning" (Nature 518,
2015). An action sets one gene of the last point to one value; the agent sees the point's figures and genes.
`n_envs` points are changed at a time, by one network: all are random, or none is. The defaults are the
better of two trials in results/tuning/dqn.csv, on development problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from searchers.common.play import Game, Reward, version_of
from searchers.common.sb3_play import LONG, AgentPlay
from searchers.common.settings import Count, Layers, Positive, Repeats, Samples, Share

_HELD = 100_000


@dataclass(frozen=True)
class DQN(AgentPlay):
    """A single agent that learns what each change of a gene is worth."""

    reward: Reward = "1/x"
    """What a point earns (see Options of searchers.environments)."""
    n_envs: Count = 4
    """Points that are changed, and evaluated, at a time."""
    train_freq: Count = 1
    """Steps of all environments between two updates."""
    gradient_steps: Repeats = 8
    """Gradient steps of an update."""
    batch_size: Count = 128
    """Samples that a gradient step is made on."""
    learning_rate: Positive = 0.001
    """Step size of Adam."""
    tau: Share = 0.01
    """The share of the way to the network that its target goes after each step of the environments."""
    gamma: Share = 0.5
    """How much less a reward counts for each step that it is later."""
    exploration_final_eps: Share = 0.2
    """The chance of random actions in the end."""
    exploration_steps: Count = 1000
    """Samples in which it falls to that from 1."""
    net_arch: Layers = (64, 64)
    """Units of the hidden layers."""
    episode_steps: Count = 32
    patience: Samples = 4000
    """Samples without a better one after which a new agent begins; 0 is never."""

    aliases: ClassVar[Mapping[str, str]] = {
        "envs": "n_envs",
        "steps": "train_freq",
        "updates": "gradient_steps",
        "batch": "batch_size",
        "discount": "gamma",
        "explored": "exploration_final_eps",
        "explored_until": "exploration_steps",
        "hidden": "net_arch",
    }
    algorithm: ClassVar[str] = "dqn"
    steps: ClassVar[int] = LONG
    version = property(version_of)

    def game(self) -> Game:
        """What the agent plays."""
        return Game("one-step", "one", "discrete", self.reward, self.episode_steps)

    def settings(self, genes: int) -> dict[str, Any]:
        """What the algorithm takes, by its names."""
        return {
            "train_freq": self.train_freq,
            "gradient_steps": self.gradient_steps,
            "batch_size": self.batch_size,
            "learning_starts": self.batch_size,
            "buffer_size": max(_HELD, self.n_envs),
            "learning_rate": self.learning_rate,
            "tau": self.tau,
            # Counted in points; a step of all environments is the least that there is between two.
            "target_update_interval": self.n_envs,
            "gamma": self.gamma,
            "exploration_fraction": self.exploration_steps / LONG,
            "exploration_final_eps": self.exploration_final_eps,
            "policy_kwargs": {"net_arch": list(self.net_arch)},
        }
