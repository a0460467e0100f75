"""What drawing neighbours does to the reward is told from the interval of all runs."""

from __future__ import annotations

import pytest

from experiments.learners.returns import BINS, LONG, SHORT
from experiments.learners.rewards import Rows, kept_reward, pairs


def rows(arm: str, length: int, earned: dict[int, float]) -> Rows:
    return [
        {
            "task": "fast_tag",
            "learner": "maddpg",
            "arm": arm,
            "seed": str(seed),
            "length": str(length),
            "return": str(value),
        }
        for seed, value in earned.items()
        for _ in range(length // BINS[length])
    ]


UNIFORM = {0: 40.0, 1: 45.0, 2: 50.0}


@pytest.mark.parametrize(
    ("neighbor", "told"),
    [
        ({0: 22.0, 1: 27.1, 2: 31.9}, "not borne out"),
        ({0: 37.0, 1: 42.1, 2: 46.9}, "inconclusive"),
        ({0: 43.0, 1: 42.0, 2: 50.5}, "inconclusive"),
        ({0: 63.0, 1: 68.1, 2: 72.9}, "borne out"),
    ],
)
def test_reward_is_kept_or_lost_where_the_interval_says_so(neighbor: dict[int, float], told: str) -> None:
    ours, verdict = kept_reward(rows("uniform", LONG, UNIFORM) + rows("neighbor", LONG, neighbor))
    assert verdict == told
    assert "of 60,000 episodes" in ours


def test_arms_are_compared_from_the_seeds_that_both_have() -> None:
    found = rows("uniform", LONG, UNIFORM) + rows("neighbor", LONG, {1: 44.0, 2: 49.0, 3: 10.0})
    uniform, neighbor = pairs(found, "maddpg", ("uniform", "neighbor"), LONG, 10_000)
    assert [*uniform, *neighbor] == [45.0, 50.0, 44.0, 49.0]


def test_short_runs_serve_until_there_are_long_ones() -> None:
    short = rows("uniform", SHORT, UNIFORM) + rows("neighbor", SHORT, UNIFORM)
    ours, _ = kept_reward(short + rows("uniform", LONG, UNIFORM))
    assert "of 600 episodes" in ours
