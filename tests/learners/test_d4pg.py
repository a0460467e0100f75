"""D4PG learns what can be learned; its distributions and its folded steps are those by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learners.d4pg import D4PG, D4PGLearner, project_distribution
from learners.errors import InputError
from learners.folding import Folding, fold_steps
from learners.replay import Transitions
from learners.team import Team
from learners.training import train
from tests.learners.toys import Signals

SMALL = D4PG(
    net_arch=(16,),
    critic_net_arch=(16,),
    v_min=-4.0,
    v_max=0.0,
    batch_size=32,
    train_freq=1,
    learning_starts=60,
    learning_rate=0.01,
    tau=0.1,
    n_steps=2,
    gamma=0.5,
)


def taught(seed: int, steps: int):
    torch.set_num_threads(1)
    return train(SMALL, Signals(agents=1, boxes=True), steps, np.random.default_rng(seed))[0]


def test_what_can_be_learned_is_learned() -> None:
    policy = taught(0, 500)
    # Between 1 and 5, the number for signal 0 is 2, and for signal 1 it is 4.
    levels = [float(policy.act(np.array([[*signal, 1]], np.float32))[0, 0]) for signal in ((1, 0), (0, 1))]
    assert np.allclose(levels, [-0.5, 0.5], atol=0.25), levels


def test_the_same_generator_teaches_the_same() -> None:
    first, second, other = (taught(seed, 120).actors.arrays() for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_a_distribution_is_moved_cut_off_and_shared_between_neighbours() -> None:
    returns = torch.tensor([0.0, 1.0, 2.0])
    chances = torch.tensor([[0.2, 0.3, 0.5]] * 3)
    found = project_distribution(
        chances, torch.tensor([0.25, 5.0, 0.0]), torch.tensor([0.5, 1.0, 1.0]), returns
    )
    # 0.25 + 0.5 (0, 1, 2) = 0.25, 0.75, 1.25.
    first = [0.2 * 0.75 + 0.3 * 0.25, 0.2 * 0.25 + 0.3 * 0.75 + 0.5 * 0.75, 0.5 * 0.25]
    assert torch.allclose(found, torch.tensor([first, [0, 0, 1], [0.2, 0.3, 0.5]]))


def step(at: int, reward: float, ended: bool = False) -> Transitions:
    row = np.full((1, 1), at, np.float32)
    return Transitions(row, row, np.float32([reward]), row + 1, np.float32([ended]))


def test_rewards_are_folded_up_to_the_end_of_an_episode() -> None:
    folding = Folding(3, 0.5)
    given = [folding.add(step(at, at, ended=at == 4)) for at in range(5)]
    assert [len(part) for part in given] == [0, 0, 1, 1, 3]
    rewards = [float(one.rewards[0]) for part in given for one in part]
    assert rewards == [0 + 0.5 + 0.5, 1 + 1 + 0.75, 2 + 1.5 + 1, 3 + 2, 4]
    assert [float(one.ended[0]) for part in given for one in part] == [0.875, 0.875, 1, 1, 1]
    assert given[2][0].following[0, 0] == 3


def test_an_episode_that_was_cut_off_goes_on_in_value() -> None:
    folding = Folding(3, 0.5)
    folding.add(step(0, 1.0))
    done = folding.add(step(7, 2.0))
    assert [(float(one.rewards[0]), float(one.ended[0])) for one in done] == [(1.0, 0.5)]
    assert fold_steps([step(0, 1.0)], 0.5).following[0, 0] == 1


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="v_min must be below v_max"):
        D4PG(v_min=1.0, v_max=0.0)
    with pytest.raises(InputError, match="d4pg needs actions that are numbers"):
        SMALL.begin(Team.of(Signals()), np.random.default_rng(0))


@pytest.mark.parametrize(("updates", "made"), [(1, 4), (3, 12)])
def test_it_updates_as_often_at_a_time_as_it_is_told(
    updates: int, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    monkeypatch.setattr(D4PGLearner, "update", lambda learner: done.append(learner))
    settings = replace(
        SMALL, learning_starts=0, batch_size=4, n_steps=1, train_freq=2, gradient_steps=updates
    )
    train(settings, Signals(agents=1, boxes=True), 10, np.random.default_rng(0))
    # After 4, 6, 8 and 10 steps.
    assert len(done) == made
