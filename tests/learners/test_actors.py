"""Actors in few bits: they do what the policy sent to them says, and a learner learns from what they do."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from learners.actors import Actors, executable_policy, exploration_spreads, play_in_lockstep
from learners.d4pg import D4PG
from learners.dqn import DQN
from learners.errors import InputError
from learners.networks import Networks
from learners.quantised import FULL, HALF, quantise_weights
from learners.quantised_networks import named_weights
from learners.team import OneAgent, Team
from tests.learners.test_d4pg import SMALL


class Answers(gymnasium.Env):
    """It shows a signal, 0 or 1, and pays for naming it; episodes are of three steps."""

    def __init__(self, boxes: bool = False, cut: bool = False) -> None:
        self.observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.action_space = spaces.Box(-1.0, 3.0, (1,)) if boxes else spaces.Discrete(2)
        self._boxes, self._cut = boxes, cut

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return self._seen(), {}

    def step(self, action):
        error = abs(float(action[0]) - 2 * self._signal) if self._boxes else float(action != self._signal)
        self._steps += 1
        over = self._steps == 3
        return self._seen(), -error, over and not self._cut, over and self._cut, {}

    def _seen(self):
        self._signal = int(self.np_random.integers(2))
        return np.eye(2, dtype=np.float32)[self._signal]


def taught(settings: DQN | D4PG, bits: int, steps: int, boxes: bool = False, pull_every: int = 2):
    torch.set_num_threads(1)
    env = SyncVectorEnv([lambda: Answers(boxes, cut=True)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    team = Team.of(OneAgent(Answers(boxes)))
    rng = np.random.default_rng(0)
    learner = settings.begin(team, rng)
    actors = Actors(team, learner, exploration_spreads(0.4, 4), bits, rng)
    earned: list[np.ndarray] = []

    def going_on(rewards: np.ndarray) -> bool:
        earned.append(rewards)
        return len(earned) < steps

    play_in_lockstep(learner, actors, team, env, pull_every, bits, rng, going_on)
    return learner, np.array(earned)


CHOICES = DQN(net_arch=(16,), batch_size=16, train_freq=2, learning_starts=40, gamma=0.0, learning_rate=0.01)


@pytest.mark.parametrize("bits", [4, 8])
def test_a_learner_learns_by_actors_of_few_bits(bits: int) -> None:
    _, earned = taught(CHOICES, bits, 80)
    # The last of the actors does what the policy says; at random it would earn a half.
    assert earned[-20:, -1].mean() == 0
    assert earned[:10, -1].mean() < -0.2


def test_actions_that_are_numbers_are_stretched_over_their_box() -> None:
    settings = replace(SMALL, net_arch=(16,), gamma=0.0, learning_starts=100, train_freq=2)
    learner, earned = taught(settings, 8, 170, boxes=True)
    assert earned[-30:, -1].mean() > -0.4
    found = learner.policy().act(np.array([[0, 1]], np.float32))
    assert abs(1 + 2 * float(found[0, 0]) - 2) < 0.5


def test_the_same_generator_comes_to_the_same_and_pulling_seldom_to_another() -> None:
    runs = [taught(CHOICES, 8, 30, pull_every=every)[1] for every in (2, 2, 15)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize(
    ("sent", "done"), [(8, 8), (8, FULL), (FULL, 8), (HALF, HALF), (FULL, HALF), (FULL, FULL)]
)
def test_what_is_sent_and_what_is_executed_may_differ(sent: int, done: int) -> None:
    networks = Networks.drawn(np.random.default_rng(0), 1, (6, 32, 3))
    rows = torch.randn(1, 5, 6, generator=torch.Generator().manual_seed(0))
    found = executable_policy(quantise_weights(named_weights(networks), sent), "relu", done)(rows)
    tolerance = 0.03 if 8 in (sent, done) else 1e-3
    assert torch.allclose(found, networks(rows), atol=tolerance)


def test_most_is_tried_by_the_first_actor_and_nothing_by_the_last() -> None:
    assert np.allclose(exploration_spreads(0.2, 3), [0.2, 0.1, 0])
    assert np.allclose(exploration_spreads(0.2, 1), [0.2])


def test_dqn_is_for_one_choice() -> None:
    with pytest.raises(InputError, match="one agent with one choice"):
        DQN().begin(Team.of(OneAgent(Answers(boxes=True))), np.random.default_rng(0))
