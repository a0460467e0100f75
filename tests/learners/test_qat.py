"""Learning that is aware of rounding: it is what it would be without where nothing is rounded, and learns."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from learners.maddpg import MADDPG
from learners.masac import MASAC
from learners.qat import RoundedLinear, Rounding, learn_with_rounding, round_layers
from learners.quantised import Precision
from learners.quantised_networks import quantised_networks
from learners.sb3 import new_agent, policy_of
from learners.team import OneAgent, Team
from learners.training import begin_episode, learn_for_steps, play_step
from tests.learners.toys import Signals

SMALL: dict[str, Any] = {"net_arch": (16,), "batch_size": 32, "train_freq": 2, "gamma": 0.5}


def taught(learner: MADDPG | MASAC, rounding: Rounding | None, after: int = 0, **options: Any) -> Any:
    env, rng = Signals(**options), np.random.default_rng(5)
    if rounding is None:
        begun = learner.begin(Team.of(env), rng)
    else:
        with learn_with_rounding(rounding):
            begun = learner.begin(Team.of(env), rng)
    if after:
        learn_for_steps(begun, env, after, rng)
        assert rounding is not None
        rounding.on = True
    learn_for_steps(begun, env, after or 80, rng)
    return begun.policy()


@pytest.mark.parametrize("learner", [MADDPG(**SMALL), MASAC(**SMALL, shared_batch=False)])
@pytest.mark.parametrize("rounding", [Rounding(Precision()), Rounding(Precision(2, 2), on=False)])
def test_where_nothing_is_rounded_what_is_learned_is_the_same(
    learner: MADDPG | MASAC, rounding: Rounding
) -> None:
    plain, through = (taught(learner, chosen, boxes=True) for chosen in (None, rounding))
    for one, other in zip(plain.actors.arrays(), through.actors.arrays(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_a_team_learns_in_two_bits() -> None:
    precision = Precision(2, 2)
    policy = taught(MADDPG(**SMALL), Rounding(precision, on=False), after=300).quantised(precision)
    env, rng, earned = Signals(), np.random.default_rng(1), []
    for _ in range(40):
        observations, paid = begin_episode(env, policy.team, rng), 0.0
        while env.agents:
            step = play_step(env, policy.team, policy.act(observations), observations)
            observations, paid = step.following, paid + float(step.rewards.mean())
        earned.append(paid)
    assert np.mean(earned) > 1.6, np.mean(earned)


def test_agents_of_stable_baselines3_learn_through_rounded_layers() -> None:
    env, precision = gymnasium.make("CartPole-v1"), Precision(4, 4)
    rounding = Rounding(precision, on=False)
    settings = {"n_steps": 32, "batch_size": 32, "policy_kwargs": {"net_arch": [8]}}
    with learn_with_rounding(rounding):
        agent = new_agent("ppo", env, 0, settings)
    team = Team.of(OneAgent(env))
    before = policy_of(agent, team).actors
    agent.learn(32, callback=lambda *_: setattr(rounding, "on", True) or True)
    after = policy_of(agent, team).actors
    assert all((one != other).any() for one, other in zip(before.arrays(), after.arrays(), strict=True))
    assert [type(layer) for layer in agent.policy.modules() if isinstance(layer, torch.nn.Linear)] == [
        RoundedLinear
    ] * 4
    seen = torch.from_numpy(np.random.default_rng(0).random((1, 20, 4), dtype=np.float32))
    by_agent = agent.policy.get_distribution(seen[0]).distribution.probs.detach()
    by_policy = quantised_networks(after, precision)(seen)[0].softmax(-1).detach()
    np.testing.assert_allclose(by_agent, by_policy, atol=1e-5)


def test_layers_are_left_alone_where_nothing_is_asked_for() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(2, 2))
    round_layers(layers)
    assert type(layers[0]) is torch.nn.Linear
