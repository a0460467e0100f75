"""The expected improvement is what it stands for, near the best and far from it."""

from __future__ import annotations

import numpy as np
from skopt.acquisition import gaussian_ei

from searchers.common.improvement import log_improvement


def test_expected_improvement_is_that_of_scikit_optimize() -> None:
    mean, variance = np.linspace(-3, 4, 50), np.linspace(0.1, 2, 50)

    class Foretold:
        def predict(self, points: np.ndarray, return_std: bool) -> tuple[np.ndarray, np.ndarray]:
            return mean, np.sqrt(variance)

    expected = gaussian_ei(np.zeros((50, 1)), Foretold(), y_opt=0.0, xi=0.0)
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
