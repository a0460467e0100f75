"""What drawing neighbours does to the reward is told from runs of the same seeds, by their interval."""

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
        ({0: 37.0, 1: 42.1, 2: 46.9}, "a loss: not borne out"),
        ({0: 43.0, 1: 42.0, 2: 50.5}, "no significant loss"),
        ({0: 43.0, 1: 48.1, 2: 52.9}, "a gain"),
    ],
)
def test_a_loss_is_one_where_its_interval_says_so(neighbor: dict[int, float], told: str) -> None:
    ours, verdict = kept_reward(rows("uniform", LONG, UNIFORM) + rows("neighbor", LONG, neighbor))
    assert verdict == f"in the end {told}, over all {told}"
    assert "of 60,000 episodes" in ours


def test_runs_are_paired_by_their_seeds() -> None:
    found = rows("uniform", LONG, UNIFORM) + rows("neighbor", LONG, {1: 44.0, 2: 49.0, 3: 10.0})
    uniform, neighbor = pairs(found, "maddpg", ("uniform", "neighbor"), LONG, 10_000)
    assert [*uniform, *neighbor] == [45.0, 50.0, 44.0, 49.0]


def test_short_runs_serve_until_there_are_long_ones() -> None:
    short = rows("uniform", SHORT, UNIFORM) + rows("neighbor", SHORT, UNIFORM)
    ours, _ = kept_reward(short + rows("uniform", LONG, UNIFORM))
    assert "of 600 episodes" in ours
