"""The single PPO agent with actions of the other kind than by default, at length; run by `make prove`."""

from __future__ import annotations

from searchers.ppo import PPO
from tests.searchers.test_ppo import assert_better_than_random


def test_it_finds_better_points_than_random_search_with_the_same_samples() -> None:
    assert_better_than_random(PPO(actions="categorical"))
