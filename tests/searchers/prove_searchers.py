"""What searchers find, over more seeds than the short suite has; run by `make prove`."""

from __future__ import annotations

import pytest

from searchers.team import Team
from tests.searchers import team_cases, test_bayesian
from tests.searchers.test_any_space import OURS, assert_good_crates
from tests.searchers.test_open_hardware import median
from tests.searchers.test_team import assert_better_than_without_learning


@pytest.mark.parametrize("name", OURS)
def test_every_searcher_finds_good_crates(name: str) -> None:
    assert_good_crates(name, seeds=3)


@pytest.mark.parametrize("name", ["genetic", "gamma", "team"])
def test_with_learning_it_finds_better_hardware_than_at_random(name: str) -> None:
    assert median(name, 3) < median("random", 3)


def test_with_few_samples_the_team_beats_the_same_without_learning() -> None:
    assert_better_than_without_learning(
        [team_cases.run(Team(initial_design="random"), 60, seed=seed) for seed in range(3)]
    )


def test_bayesian_optimisation_finds_in_150_samples_more_than_random_search_in_2000() -> None:
    assert test_bayesian.run(150).evaluations().loss.min() < test_bayesian.best_of_2000_by_chance()
