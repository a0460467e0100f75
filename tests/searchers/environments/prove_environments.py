"""A learner as its users run it learns on our environment, run by `make prove`."""

from __future__ import annotations

import gymnasium
from stable_baselines3 import PPO

from dse.domains.clustered.mapping import MappingBatch
from tests.searchers.environments.environment_cases import PROBLEM


def test_plain_stable_baselines_learns_on_it() -> None:
    problem = PROBLEM
    env = gymnasium.make("dse/Mapping-v0", problem=problem, budget=1024)
    PPO("MlpPolicy", env, n_steps=128, learning_rate=0.003, seed=0, device="cpu").learn(1024)
    record = env.unwrapped.record
    best = problem.space.decode(record.genes())[record.best]

    assert len(record) == 1024
    losses, reasons = record.evaluations().loss, record.evaluations().reason
    assert problem.evaluate(MappingBatch.of([best])).loss[0] == losses.min()
    assert (reasons[-256:] == 0).mean() > (reasons[:256] == 0).mean() + 0.1
