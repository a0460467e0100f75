"""Replay: what is held, and how likely each of it is to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from learners.errors import InputError
from learners.replay import NEIGHBORS, REPLAYS, Transitions, make_replay, sample_neighbors, sample_uniformly


def step(number: int, agents: int = 2) -> Transitions:
    """A step in which every figure tells its number, its agent and its column."""
    base = 100 * np.arange(agents, dtype=np.float32) + number
    wide = base[:, np.newaxis] + np.array([0.0, 0.25], np.float32)
    return Transitions(wide, wide + 0.5, base, wide + 1, base + 0.125)


@pytest.mark.parametrize("arm", REPLAYS)
def test_a_replay_holds_the_last_steps_and_gives_each_back_whole(arm: str) -> None:
    replay = make_replay(arm, 5)
    for number in range(8):
        replay.add(step(number))
        assert len(replay) == min(number + 1, 5)
    drawn = replay.sample(np.random.default_rng(0), 200)
    numbers = drawn.rewards[:, 0].astype(int)
    assert set(numbers) == {3, 4, 5, 6, 7}
    for row, number in enumerate(numbers):
        for name, column in vars(step(number)).items():
            np.testing.assert_array_equal(getattr(drawn, name)[row], column)


def test_what_is_added_is_copied() -> None:
    for arm in REPLAYS:
        replay, given = make_replay(arm, 5), step(1)
        replay.add(given)
        given.observations[:] = 9
        assert replay.sample(np.random.default_rng(0), 1).observations[0, 0, 0] == 1


def test_a_contiguous_replay_grows_as_it_fills() -> None:
    replay = make_replay("contiguous", 3000)
    for number in range(4000):
        replay.add(step(number))
    drawn = replay.sample(np.random.default_rng(0), 5000).rewards[:, 0]
    assert drawn.min() >= 1000
    assert drawn.max() == 3999


@pytest.mark.parametrize("pair", [("per-agent", "contiguous"), ("neighbor", "contiguous-neighbor")])
def test_contiguous_and_per_agent_draw_the_same_steps(pair: tuple[str, str]) -> None:
    arms = [make_replay(arm, 50) for arm in pair]
    for number in range(60):
        for replay in arms:
            replay.add(step(number))
    one, other = (replay.sample(np.random.default_rng(3), 64) for replay in arms)
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_uniform_indices_are_equally_likely() -> None:
    counts = np.bincount(sample_uniformly(np.random.default_rng(0), 100_000, 20), minlength=20)
    # Five deviations of a binomial's count.
    assert abs(counts - 5000).max() < 5 * np.sqrt(5000)


def test_neighbors_are_runs_around_indices_that_are_left_out() -> None:
    held, batch = 1000, 60
    drawn = sample_neighbors(np.random.default_rng(0), batch, held)
    assert len(drawn) == batch
    rng, at = np.random.default_rng(0), 0
    while at < batch:
        i = int(rng.integers(held))
        run = [j for j in range(i - NEIGHBORS, i + NEIGHBORS + 1) if j != i and 0 <= j < held]
        assert drawn[at : at + len(run)].tolist() == run[: batch - at]
        at += len(run)


def test_neighbors_come_by_how_many_have_them_as_neighbors() -> None:
    held = 10
    drawn = sample_neighbors(np.random.default_rng(1), 200_000, held)
    reach = [sum(0 < abs(i - j) <= NEIGHBORS for i in range(held)) for j in range(held)]
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), np.array(reach) / sum(reach), rtol=0.03)
    assert reach[0] < reach[5]


def test_neighbors_of_a_single_step_are_that_step() -> None:
    assert sample_neighbors(np.random.default_rng(0), 4, 1).tolist() == [0] * 4


def test_an_unknown_arm_is_named() -> None:
    with pytest.raises(InputError, match="did you mean 'neighbor'"):
        make_replay("neighbour", 5)
