"""The single PPO agent at length, with actions of either kind; run by `make prove`."""

from __future__ import annotations

import pytest

from searchers.ppo import PPO
from tests.searchers.test_ppo import KINDS, assert_better_than_random


@pytest.mark.parametrize("actions", KINDS)
def test_it_finds_better_points_than_random_search_with_the_same_samples(actions: str) -> None:
    assert_better_than_random(PPO(actions=actions), 5000)
