"""What is run of ActorQ: a task, sizes, precisions; and the learner that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from experiments.actorq.control import TASKS, Control
from learners.d4pg import D4PG
from learners.dqn import DQN
from learners.quantised import FULL
from learners.team import OneAgent, Team

SAMPLES_PER_INSERT = 16
"""How many times a step is learned from."""
SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "small": ((64, 64), (64, 64)),
    "medium": ((256, 256), (256, 256)),
    "large": ((2048, 2048, 2048), (512, 512, 512)),
}
"""Units of the hidden layers of a policy and of a distributional critic; `large` is theirs."""
CHOSEN: dict[tuple[str, str], dict[str, Any]] = {
    ("CartPole-v1", "medium"): {"batch_size": 128, "learning_rate": 0.004},
    ("cartpole-balance", "medium"): {"n_steps": 5},
    ("walker-stand", "medium"): {"n_steps": 5},
}
"""By task and policy, in place of what others have: tried by hand in full precision, from seeds that no table
has (100 to 104); those of walker-stand are those of cartpole-balance."""
RETURNS = {"Pendulum-v1": (-1000.0, 0.0), "cartpole-balance": (0.0, 60.0), "walker-stand": (0.0, 60.0)}
"""The lowest and highest return that a distributional critic knows, by task."""


@dataclass(frozen=True)
class Setting:
    """A run."""

    task: str
    policy: str = "small"
    communication: int = FULL
    inference: int = FULL
    actors: int = 1
    pull_every: int = 100
    steps: int = 20_000
    seed: int = 0
    idle: bool = False
    spread: float = 0.2


def environment(task: str) -> OneAgent:
    """A Gymnasium task, or one of dm_control, by the names that experiments.actorq.control knows."""
    return OneAgent(Control(task) if task in TASKS else gymnasium.make(task))


def learner_of(setting: Setting, team: Team, rng: np.random.Generator) -> Any:
    """The learner of a run, which has not learned yet."""
    hidden, critic = SIZES[setting.policy]
    settings: dict[str, Any] = {"batch_size": 64, "learning_rate": 0.001, "net_arch": hidden}
    settings |= CHOSEN.get((setting.task, setting.policy), {})
    settings["train_freq"] = settings["batch_size"] // SAMPLES_PER_INSERT
    if setting.idle:
        settings["learning_starts"] = setting.steps + 1
    if team.discrete:
        return DQN(**settings).begin(team, rng)
    lowest, highest = RETURNS.get(setting.task, (-100.0, 100.0))
    numbers = {"v_min": lowest, "v_max": highest, "gamma": 0.98, "tau": 0.005, "critic_net_arch": critic}
    return D4PG(**{"n_steps": 3, **numbers, **settings}).begin(team, rng)
