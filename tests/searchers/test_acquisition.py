"""Expected improvement and the chance to fit are what they stand for; batches believe what is expected."""

from __future__ import annotations

import numpy as np
from skopt.acquisition import gaussian_ei

from searchers.common.acquisition import believer_batch, log_chance_to_fit, log_improvement


def test_expected_improvement_is_that_of_scikit_optimize() -> None:
    mean, variance = np.linspace(-3, 4, 50), np.linspace(0.1, 2, 50)

    class Predicted:
        def predict(self, points: np.ndarray, return_std: bool) -> tuple[np.ndarray, np.ndarray]:
            return mean, np.sqrt(variance)

    expected = gaussian_ei(np.zeros((50, 1)), Predicted(), y_opt=0.0, xi=0.0)
    np.testing.assert_allclose(np.exp(log_improvement(mean, np.sqrt(variance), 0.0)), expected, rtol=1e-9)


def test_expected_improvement_falls_without_a_step_where_a_float_has_no_digits_left() -> None:
    mean = np.linspace(4, 60, 3000)
    merit = log_improvement(mean, np.ones(3000), 0.0)
    assert (np.diff(merit) < 0).all()
    assert np.abs(np.diff(merit, 3)).max() < 1e-2


def test_expected_improvement_is_the_integral_that_it_stands_for() -> None:
    grid = np.linspace(-60, 60, 1_200_001)
    for mean, deviation, best in ((0.0, 1.0, 0.5), (3.0, 0.7, 0.0), (1.0, 2.0, -4.0), (9.0, 1.0, 0.0)):
        density = np.exp(-0.5 * ((grid - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        integral = np.sum(np.maximum(best - grid, 0) * density) * (grid[1] - grid[0])
        found = log_improvement(np.array([mean]), np.array([deviation]), best)[0]
        assert abs(found - np.log(integral)) < 0.02
    far = log_improvement(np.array([100.0, 200.0]), np.ones(2), 0.0)
    assert np.isfinite(far).all()
    assert far[1] < far[0]


def test_without_a_best_no_candidate_is_expected_to_improve_more_than_another() -> None:
    assert log_improvement(np.array([1.0, 2.0]), np.ones(2), np.inf).tolist() == [0.0, 0.0]


def test_the_log_of_a_chance_stays_finite_where_the_chance_does_not() -> None:
    chances = log_chance_to_fit(np.array([0.0, 100.0]), np.array([1.0, 0.1]))
    np.testing.assert_allclose(chances[0], np.log(0.5))
    assert -np.inf < chances[1] < -1e5


def test_a_batch_does_not_ask_the_same_twice() -> None:
    """Two candidates that go together are as one: the second choice is the one that tells more."""
    cost, covariance = np.array([0.0, 0.01, 0.2]), np.array([[1, 0.999, 0], [0.999, 1, 0], [0, 0, 1.0]])
    alike = cost, covariance, np.ones(3), np.zeros(3), 0.5, np.ones(3, np.bool_)
    assert believer_batch(*alike, 2) == [0, 2]
    assert believer_batch(*alike, 9) == [0, 2, 1]


def test_what_is_known_already_does_not_count_towards_a_batch() -> None:
    cost, counts = np.array([0.0, 1.0, 2.0]), np.array([False, True, True])
    assert believer_batch(cost, np.eye(3), np.ones(3), np.zeros(3), 3.0, counts, 1) == [0, 1]


def test_a_believed_best_leaves_little_to_improve_near_it() -> None:
    """The first choice is expected at -3: beside it, only the uncertain one is worth asking for."""
    mean, variance, counts = np.array([-3.0, -0.8, 0.0]), np.array([0.01, 0.01, 1.0]), np.ones(3, np.bool_)
    batch = mean, np.diag(variance), variance, np.zeros(3), 0.0, counts, 2
    assert believer_batch(*batch) == [0, 1]
    assert believer_batch(*batch, believe_best=True) == [0, 2]
    unlikely = mean, np.diag(variance), variance, np.full(3, -1.0), 0.0, counts, 2
    assert believer_batch(*unlikely, believe_best=True) == [0, 1]
