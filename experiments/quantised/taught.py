"""The policies that are quantised: `python -m experiments.quantised.taught` teaches those that are missing.

On tasks of Gymnasium by stable-baselines3, with settings near those of rl-baselines3-zoo and fewer steps; on
development problems by searchers, with 2,000 samples. They go to build/quantised/policies, which is not kept;
half an hour of CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dse.core.domains import make_problem
from dse.search.api import search
from experiments.learners.train import SCALED_CAR, SETTINGS
from learners.gymnasium_tasks import train_policy
from learners.policy import SavedPolicy, load_policy, save_policy
from learners.trials import GymnasiumTrial, Trial
from searchers.commands.mapping_trial import MappingTrial, taught_on
from workloads import load_layer

POLICIES = Path("build/quantised/policies")
SEEDS = (0, 1, 2)
EPISODES, SEARCHES, DRAWN = 30, 3, 200
"""Runs by which a policy is judged: episodes, or searches of so many samples by it alone."""

STEPS = {
    ("ppo", "CartPole-v1"): 60_000,
    ("dqn", "CartPole-v1"): 50_000,
    ("ddpg", "Pendulum-v1"): 12_000,
    ("a2c", "CartPole-v1"): 120_000,
    ("ppo", "Acrobot-v1"): 60_000,
    ("dqn", "MountainCar-v0"): 120_000,
    ("ddpg", "MountainCarContinuous-v0"): 30_000,
    ("dqn", "Acrobot-v1"): 30_000,
    ("a2c", "Acrobot-v1"): 400_000,
    ("ppo", "Pendulum-v1"): 80_000,
    ("a2c", SCALED_CAR): 100_000,
    ("ppo", SCALED_CAR): 40_000,
}
"""By algorithm and task of Gymnasium."""

LEARNING = ("a2c", "ddpg", "dqn", "ppo")
PROBLEMS = {
    "alexnet:conv2": ("eyeriss-small", "edp"),
    "resnet18:layer2.0.conv2": ("edge-small", "edp"),
    "bert_base:intermediate": ("tpu-like", "edp"),
}
"""Development problems by their layers."""
SAMPLES = 2_000


@dataclass(frozen=True)
class Taught:
    """A policy by what it is for, a task or a layer, the algorithm and the seed."""

    task: str
    algorithm: str
    seed: int

    @property
    def folder(self) -> Path:
        """Where it is."""
        return POLICIES / f"{self.task.replace(':', '-')}-{self.algorithm}-{self.seed}"

    @property
    def is_there(self) -> bool:
        """Whether it has been taught."""
        return (self.folder / "policy.json").exists()

    @property
    def is_mapper(self) -> bool:
        """Whether it is for mappings."""
        return self.task in PROBLEMS

    def teach(self) -> None:
        """Teach it, and save it."""
        if self.is_mapper:
            problem = make_problem(load_layer(self.task), *PROBLEMS[self.task])
            search(problem, self.algorithm, budget=SAMPLES, seed=self.seed, save_policy=self.folder)
            return
        steps, settings = STEPS[self.algorithm, self.task], SETTINGS.get((self.algorithm, self.task), {})
        policy = train_policy(self.algorithm, self.task, steps, self.seed, settings)
        about = {"task": self.task, "seed": self.seed, "samples": steps, "settings": settings}
        save_policy(policy, self.folder, about)

    def load(self) -> tuple[SavedPolicy, Trial]:
        """The policy, and how it is judged."""
        saved = load_policy(self.folder)
        if self.is_mapper:
            return saved, MappingTrial(saved.about, taught_on(saved.about), DRAWN, SEARCHES)
        return saved, GymnasiumTrial(saved.policy, saved.about, EPISODES)


def policies() -> Iterator[Taught]:
    """All of them, one seed after the other."""
    for seed in SEEDS:
        yield from (Taught(task, algorithm, seed) for algorithm, task in STEPS)
        yield from (Taught(layer, algorithm, seed) for layer in PROBLEMS for algorithm in LEARNING)


def main() -> None:
    """Teach what is missing."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for taught in policies():
        if not taught.is_there:
            print(taught.folder.name, flush=True)
            taught.teach()


if __name__ == "__main__":
    main()
