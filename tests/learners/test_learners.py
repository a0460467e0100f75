"""Learners: they learn what can be learned, alike in every form of the update, and say where time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from learners.errors import InputError
from learners.heads import Choices, SquashedNormals
from learners.maddpg import MADDPG
from learners.masac import MASAC
from learners.phases import Stopwatch, measure_nothing
from learners.settings import STUDY
from learners.team import OneAgent, Team
from learners.training import begin_episode, play_step, train
from tests.learners.toys import Signals

SMALL: dict[str, Any] = {"net_arch": (16,), "batch_size": 32, "train_freq": 8}
LEARNERS = (MADDPG(**SMALL), MASAC(**SMALL))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def trained(learner: MADDPG | MASAC, steps: int = 64, **options: Any) -> list[np.ndarray]:
    policy, _ = train(learner, Signals(**options), steps, np.random.default_rng(5))
    return policy.actors.arrays()


@pytest.mark.parametrize("boxes", [False, True], ids=["discrete", "boxes"])
@pytest.mark.parametrize("shared", [False, True], ids=["own batches", "a shared batch"])
@pytest.mark.parametrize(
    "learner",
    [*LEARNERS, replace(LEARNERS[0], centralised=False)],
    ids=["MADDPG", "MASAC", "MADDPG, own critics"],
)
def test_a_loop_over_agents_and_stacked_products_come_to_equal_numbers(
    learner: MADDPG | MASAC, shared: bool, boxes: bool
) -> None:
    stacked, looped = (
        trained(replace(learner, stacked=stacked, shared_batch=shared), boxes=boxes)
        for stacked in (True, False)
    )
    untrained = trained(replace(learner, batch_size=1000), boxes=boxes)
    for one, other, before in zip(stacked, looped, untrained, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
        assert abs(one - before).max() > 1e-3


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_the_same_generator_gives_the_same_policy_and_global_states_do_not_matter(
    learner: MADDPG | MASAC,
) -> None:
    first = trained(learner)
    torch.manual_seed(9)
    again = trained(replace(learner, replay="per-agent"))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("learner", "boxes"), [(LEARNERS[0], False), (LEARNERS[1], True)], ids=["maddpg", "masac"]
)
def test_what_can_be_learned_is_learned(learner: MADDPG | MASAC, boxes: bool) -> None:
    chosen = replace(learner, gamma=0.5, train_freq=2)
    rng, env = np.random.default_rng(1), Signals(boxes=boxes)
    policy, returns = train(chosen, env, 600, rng)
    team, earned = policy.team, []
    for _ in range(40):
        observations, paid = begin_episode(env, team, rng), 0.0
        while env.agents:
            step = play_step(env, team, policy.act(observations), observations)
            observations, paid = step.following, paid + float(step.rewards.mean())
        earned.append(paid)
    assert len(returns) == 300
    # Two steps an episode: all right is 2, by chance it is 0.9; in boxes 0, the middle comes to -2.
    assert np.mean(earned) > (-0.8 if boxes else 1.75), np.mean(earned)


class Walk(gymnasium.Env):
    """To the right is better: MultiDiscrete moves, and an episode that is cut off after four."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.action_space.contains(action)
        self.steps += 1
        return np.zeros(1, np.float32), float(action.sum()), False, self.steps == 4, {}


def test_a_gymnasium_environment_is_a_team_of_one() -> None:
    env = OneAgent(Walk())
    policy, returns = train(MADDPG(**SMALL), env, 200, np.random.default_rng(0))
    assert len(returns) == 50
    assert policy.team.real.tolist() == [[[True, True, False], [True, True, True]]]
    assert returns[-10:].mean() > returns[:10].mean()


def test_an_action_space_that_cannot_be_learned_is_named() -> None:
    env = Walk()
    env.action_space = spaces.Box(-np.inf, np.inf, (1,))
    with pytest.raises(InputError, match="'agent' has Box"):
        Team.of(OneAgent(env))


def test_choices_that_do_not_exist_are_never_drawn_and_weigh_nothing() -> None:
    head = Choices(np.array([[[True, True, False]]]))
    rng = np.random.default_rng(0)
    outputs = torch.zeros((1, 4000, 3), requires_grad=True)
    actions, entropy = head.draw(outputs, head.noise(rng, 1, 4000))
    assert actions.detach().sum(dim=(0, 1)).tolist()[2] == 0
    assert abs(float(actions.detach()[0, :, 0].mean()) - 0.5) < 0.04
    np.testing.assert_allclose(entropy.detach().numpy(), np.log(2), rtol=1e-6)
    (actions[..., 0].sum() + entropy.sum()).backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()
    assert not outputs.grad[..., 2].any()
    assert outputs.grad[..., 0].any()


def test_a_squashed_normals_density_is_that_of_numbers_in_its_box() -> None:
    head = SquashedNormals(1)
    numbers = torch.linspace(-0.999, 0.999, 20_001)
    outputs = torch.tensor([0.3, -0.4]).expand(1, len(numbers), 2)
    noise = (torch.atanh(numbers) - 0.3) / np.exp(-0.4)
    actions, surprise = head.draw(outputs, noise[None, :, None])
    np.testing.assert_allclose(actions[0, :, 0].numpy(), numbers.numpy(), atol=1e-5)
    assert np.trapezoid(np.exp(-surprise[0].numpy()), numbers.numpy()) == pytest.approx(1, abs=5e-3)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_stopwatch_sees_every_phase_and_parts_are_within_their_whole(learner: MADDPG | MASAC) -> None:
    watch, begun = Stopwatch(), time.perf_counter()
    train(replace(learner, **STUDY), Signals(), 64, np.random.default_rng(0), watch)
    wall = time.perf_counter() - begun
    parts = {path[1]: seconds for path, seconds in watch.seconds.items() if len(path) == 2}
    assert set(parts) == {"sampling", "target Q", "Q loss", "P loss"}
    assert min(parts.values()) > 0
    assert sum(parts.values()) < watch.seconds["update",]
    assert watch.seconds["update",] + watch.seconds["action selection",] < wall


def test_an_unmeasured_phase_does_nothing() -> None:
    with measure_nothing("update"), measure_nothing("sampling"):
        pass


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"tau": 2.0}, "tau must be between 0 and 1"),
        ({"replay": "uniform"}, "unknown replay"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"stacked": 1}, "stacked must be true or false"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        MADDPG(**settings)


def test_cooperative_navigation_is_played() -> None:
    mpe2 = pytest.importorskip("mpe2.simple_spread_v3")
    env = mpe2.parallel_env(N=3, max_cycles=25)
    policy, returns = train(MASAC(**SMALL), env, 75, np.random.default_rng(0))
    assert policy.team.observed == 18
    assert policy.team.width == 5
    assert len(returns) == 3
    assert (returns < 0).all()
