"""Reference tasks: the prey flees, and the game in arrays is the game."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpe2")

from learners.listener import ArrayListener
from learners.spread import ArraySpread
from learners.tag import flight_action
from learners.tasks import fast_predator_prey, navigation, predator_prey
from learners.team import Team


@pytest.mark.parametrize("predators", [3, 7])
def test_tag_in_arrays_is_the_tag_of_mpe2(predators: int) -> None:
    slow, fast = predator_prey(predators), fast_predator_prey(predators)
    assert Team.of(slow).names == Team.of(fast).names
    assert Team.of(slow).observed == Team.of(fast).observed
    rng, caught = np.random.default_rng(0), 0.0
    for seed in range(4):
        one, other = slow.reset(seed=seed)[0], fast.reset(seed=seed)[0]
        while fast.agents:
            for name in fast.agents:
                np.testing.assert_allclose(one[name], other[name], rtol=1e-4, atol=1e-5)
            # After the prey, which is the last body that moves, so that they meet.
            actions = {
                name: _after(other[name]) if rng.random() < 0.8 else int(rng.integers(5)) for name in one
            }
            (one, paid, *ends), (other, earned, *others) = slow.step(actions), fast.step(actions)
            assert paid == earned
            assert ends == others
            caught += sum(earned.values())
        assert not slow.agents
    assert caught > 0


def _after(seen: np.ndarray) -> int:
    x, y = seen[-4:-2]
    if abs(x) > abs(y):
        return 2 if x > 0 else 1
    return 4 if y > 0 else 3


def test_the_prey_goes_away_from_the_nearest_and_back_into_the_field() -> None:
    assert flight_action(np.zeros(2), np.array([[0.3, 0.0], [-0.5, 0.0]])) == 0
    assert flight_action(np.zeros(2), np.array([[0.15, 0.0], [0.0, 0.4]])) in (1, 3)
    assert flight_action(np.array([1.2, 0.0]), np.array([[-0.1, 0.0]])) == 1


def test_navigation_is_for_any_number_of_agents() -> None:
    assert Team.of(navigation(4)).observed == 24


def test_spread_in_arrays_is_the_spread_of_mpe2() -> None:
    from mpe2 import simple_spread_v3

    slow, fast = simple_spread_v3.parallel_env(local_ratio=0.0), ArraySpread(2)
    assert Team.of(slow).observed == fast.team.observed
    rng, touched = np.random.default_rng(0), 0
    for game in range(2):
        seen = fast.begin(rng)
        one = slow.reset(seed=game)[0]
        world = slow.unwrapped.world
        # The agents begin close together, so that they push each other.
        fast.places[game, :3] *= 0.3
        for body, place in zip(world.entities, fast.places[game], strict=True):
            body.state.p_pos = place.copy()
        seen, one = fast.observed(), {name: slow.unwrapped.observe(name) for name in slow.agents}
        for _ in range(fast.length):
            np.testing.assert_allclose(np.array(list(one.values())), seen[game], rtol=1e-4, atol=1e-5)
            touched += np.sqrt(np.square(seen[game, :, 10:14].reshape(3, 2, 2)).sum(axis=2)).min() < 0.3
            actions = rng.integers(5, size=(2, 3))
            one, paid, *_ = slow.step(dict(zip(slow.agents, map(int, actions[game]), strict=True)))
            seen, earned = fast.step(actions)
            np.testing.assert_allclose(list(paid.values()), earned[game], rtol=1e-6)
        assert not slow.agents
    assert touched > 0


def test_the_listener_in_arrays_is_the_listener_of_mpe2() -> None:
    from mpe2 import simple_speaker_listener_v4

    slow, fast = simple_speaker_listener_v4.parallel_env(), ArrayListener(2)
    theirs, rng = Team.of(slow), np.random.default_rng(0)
    assert (theirs.names, theirs.observed) == (fast.team.names, fast.team.observed)
    assert theirs.real.tolist() == fast.team.real.tolist()
    for game in range(2):
        fast.begin(rng)
        slow.reset(seed=game)
        speaker, listener = slow.unwrapped.world.agents
        landmarks = slow.unwrapped.world.landmarks
        for body, place in zip((listener, *landmarks), fast.places[game], strict=True):
            body.state.p_pos = place.copy()
        speaker.goal_b = landmarks[fast.goals[game]]
        seen, one = fast.observed(), {name: slow.unwrapped.observe(name) for name in slow.agents}
        for _ in range(fast.length):
            for mine, name in zip(seen[game], one, strict=True):
                np.testing.assert_allclose(mine[: len(one[name])], one[name], rtol=1e-4, atol=1e-5)
                assert not mine[len(one[name]) :].any()
            actions = rng.integers((3, 5), size=(2, 2))
            one, paid, *_ = slow.step(dict(zip(slow.agents, map(int, actions[game]), strict=True)))
            seen, earned = fast.step(actions)
            np.testing.assert_allclose(list(paid.values()), earned[game], rtol=1e-6)
        assert not slow.agents
