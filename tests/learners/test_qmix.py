"""QMIX and VDN learn what can be learned, dense and sparse; targets over many steps are those by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learners.errors import InputError
from learners.qmix import QMIX
from learners.replay import Transitions
from learners.segments import Segments
from learners.sparse import Sparsity
from learners.team import Team
from learners.training import begin_episode, learn_for_steps, play_step
from tests.learners.toys import Signals

SMALL = QMIX(
    net_arch=(32,),
    embedding=8,
    batch_size=32,
    learning_rate=0.01,
    train_freq=2,
    exploration_steps=300,
    gamma=0.5,
)
SPARSE = replace(
    SMALL,
    soft_mellowmax=True,
    returns="hybrid",
    recent_buffer_size=64,
    schedule=200,
    sparsity=Sparsity("rigl", 0.4, every=10, until=200),
)


@pytest.mark.parametrize(
    "settings", [SMALL, replace(SMALL, mixing="vdn"), SPARSE], ids=["qmix", "vdn", "sparse"]
)
def test_what_can_be_learned_is_learned(settings: QMIX) -> None:
    torch.set_num_threads(1)
    rng, env = np.random.default_rng(1), Signals()
    team = Team.of(env)
    learner = settings.begin(team, rng)
    learn_for_steps(learner, env, 500, rng)
    policy, earned = learner.policy(), []
    for _ in range(40):
        observations, paid = begin_episode(env, team, rng), 0.0
        while env.agents:
            step = play_step(env, team, policy.act(observations), observations)
            observations, paid = step.following, paid + float(step.rewards.mean())
        earned.append(paid)
    # Two steps an episode: all right is 2, by chance it is 0.9.
    assert np.mean(earned) > 1.75, np.mean(earned)
    # The policy's networks are the shared one, told to each agent who it is.
    with torch.no_grad():
        seen = torch.from_numpy(observations)
        values = learner._values(learner.agents.networks, seen[None])[0].flatten(1)
        ours = policy.actors(seen[:, None])[:, 0]
    there = values > -1e8
    assert torch.allclose(values[there], ours[there], atol=1e-5)


def test_the_team_s_value_never_falls_as_an_agent_s_rises() -> None:
    env = Signals()
    learner = SMALL.begin(Team.of(env), np.random.default_rng(0))
    observations = torch.rand(20, 3, 3)
    values = torch.randn(20, 3, requires_grad=True)
    assert learner.mixer is not None
    total = learner._mixed(learner.mixer.networks, values, observations)
    (slopes,) = torch.autograd.grad(total.sum(), values)
    assert (slopes >= 0).all()
    assert (slopes > 0).any()


def test_soft_mellowmax_lies_between_the_mean_by_chance_and_the_maximum() -> None:
    env = Signals()
    learner = replace(SMALL, soft_mellowmax=True).begin(Team.of(env), np.random.default_rng(0))
    values = torch.tensor([[[[0.5, 1.0]]]])
    chances = np.exp([0.5, 1.0]) / np.exp([0.5, 1.0]).sum()
    by_hand = np.log((chances * np.exp([5.0, 10.0])).sum()) / 10
    assert np.isclose(float(learner._best(values)), by_hand)
    assert 0.75 < by_hand < 1.0


def step(number: int, ended: bool = False, observed: int | None = None) -> Transitions:
    seen = number if observed is None else observed
    row = np.full((3, 3), seen, np.float32)
    actions = np.tile(np.array([1, 0, 0], np.float32), (3, 1))
    return Transitions(
        row,
        actions,
        np.full(3, number, np.float32),
        np.full((3, 3), number + 1, np.float32),
        np.full(3, ended),
    )


def test_runs_end_with_their_episode_and_with_what_is_held() -> None:
    memory = Segments(5)
    for number in range(7):
        # After step 3 another episode begins.
        memory.add(step(number, observed=-1 if number == 4 else None))
    runs, there = memory.at(np.arange(5), 3)
    assert there.sum(axis=1).tolist() == [2, 1, 3, 2, 1]
    assert runs.rewards[2, :, 0].tolist() == [4, 5, 6]


def test_targets_over_many_steps_are_those_by_hand() -> None:
    settings = replace(SMALL, mixing="vdn", returns="hybrid", run=3, decay=0.5, gamma=0.9)
    learner = settings.begin(Team.of(Signals()), np.random.default_rng(0))
    for number in range(3):
        learner._large.add(step(number, ended=number == 2))
    runs, there = learner._large.at(np.array([0]), 3)
    with torch.no_grad():
        following = torch.from_numpy(runs.following[0])
        values = learner._values(learner._target_agents, following).amax(dim=3).mean(dim=2).sum(dim=1)
    second = 1 + 0.9 * (0.5 * float(values[1]) + 0.5 * 2)
    first = 0 + 0.9 * (0.5 * float(values[0]) + 0.5 * second)
    assert np.isclose(float(learner._targets(runs, there)), first, atol=1e-5)


def test_training_is_counted_and_a_tenth_of_the_connections_costs_less() -> None:
    spent = []
    for sparsity in (Sparsity(), Sparsity("static", 0.1)):
        rng, env = np.random.default_rng(0), Signals()
        learner = replace(SMALL, net_arch=(64, 64), sparsity=sparsity).begin(Team.of(env), rng)
        learn_for_steps(learner, env, 33, rng)
        updates = 1
        assert learner.mixer is not None
        rows = 3 * 32 * (learner.agents.training_flops() + learner.agents.flops)
        rows += 32 * (learner.mixer.training_flops() + learner.mixer.flops)
        assert learner.flops == updates * rows
        spent.append(learner.inference_flops)
    assert spent[0] > 5 * spent[1]


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="unknown mixing 'sum'"):
        QMIX(mixing="sum")
    with pytest.raises(InputError, match="need discrete actions"):
        SMALL.begin(Team.of(Signals(boxes=True)), np.random.default_rng(0))
