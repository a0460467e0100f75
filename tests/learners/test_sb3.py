"""Policies of stable-baselines3's agents: ours do what theirs do, whatever the box; also where saved."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from learners.errors import InputError
from learners.policy import load_policy, save_policy
from learners.sb3 import exploration_noise, new_agent, policy_of
from learners.team import OneAgent, Team
from searchers.common.torch_apart import torch_apart

pytest.importorskip("safetensors")

TASKS = {
    "a2c": ("Pendulum-v1", "MountainCar-v0"),
    "ppo": ("Pendulum-v1",),
    "dqn": ("CartPole-v1",),
    "ddpg": ("Pendulum-v1",),
}


@pytest.mark.parametrize(("name", "task"), [(name, task) for name, tasks in TASKS.items() for task in tasks])
def test_a_policy_does_what_the_agent_does(name: str, task: str, tmp_path: Path) -> None:
    import torch

    env = OneAgent(gymnasium.make(task))
    with torch_apart():
        agent = new_agent(name, gymnasium.make(task), 0, {"policy_kwargs": {"net_arch": [8, 8]}})
        with torch.no_grad():
            for weight in agent.policy.parameters():
                weight.add_(torch.randn_like(weight))
        team = Team.of(env)
        save_policy(policy_of(agent, team), tmp_path)
        policy = load_policy(tmp_path).policy
        env.reset(seed=0)
        assert policy.algorithm == name
        for seen in np.random.default_rng(2).normal(size=(20, team.observed)).astype(np.float32):
            theirs, _ = agent.predict(seen, deterministic=True)
            (ours,) = team.actions(policy.act(seen[None]), env).values()
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_an_agent_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="unknown agent of stable-baselines3 'dqm'; did you mean 'dqn'"):
        new_agent("dqm", None, 0, {})


def test_correlated_noise_goes_on_in_its_direction() -> None:
    from stable_baselines3.common.utils import set_random_seed

    set_random_seed(0)

    def likeness(correlated: bool) -> float:
        drawn = exploration_noise(np.array([0.5]), correlated)
        steps = np.array([drawn()[0] for _ in range(2000)])
        return float(np.corrcoef(steps[1:], steps[:-1])[0, 1])

    assert likeness(correlated=True) > 0.9
    assert abs(likeness(correlated=False)) < 0.1


def test_noise_that_depends_on_the_state_is_taken_as_large_as_it_can_be() -> None:
    import torch

    env = OneAgent(gymnasium.make("Pendulum-v1"))
    with torch_apart(), torch.no_grad():
        agent = new_agent("a2c", gymnasium.make("Pendulum-v1"), 0, {"use_sde": True})
        agent.policy.log_std.copy_(torch.randn_like(agent.policy.log_std))
        team = Team.of(env)
        policy = policy_of(agent, team)
        seen = torch.randn(200, team.observed)
        theirs = agent.policy.get_distribution(seen).distribution
        means, logs = policy.actors(seen[None])[0].chunk(2, dim=1)
    # Theirs are for torques to 2, ours for numbers to 1.
    np.testing.assert_allclose(means, theirs.mean / 2, rtol=1e-4, atol=1e-5)
    assert (logs.exp() >= theirs.stddev / 2).all()


def test_a_scaled_task_is_the_task_with_what_is_seen_brought_to_one() -> None:
    scaled = gymnasium.make("learners.scaled_tasks:MountainCarContinuousScaled-v0")
    plain = gymnasium.make("MountainCarContinuous-v0")
    low, high = plain.observation_space.low, plain.observation_space.high
    (seen, _), (whole, _) = scaled.reset(seed=3), plain.reset(seed=3)
    for force in np.random.default_rng(0).uniform(-1, 1, (50, 1)).astype(np.float32):
        np.testing.assert_allclose(seen, 2 * (whole - low) / (high - low) - 1, atol=1e-6)
        (seen, *ours), (whole, *theirs) = scaled.step(force), plain.step(force)
        assert ours == theirs
