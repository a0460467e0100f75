"""Bayesian optimisation: its budget, its processes and what they learn, and its restarts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from searchers.bayesian import Bayesian
from searchers.bayesian.gaussian import Surrogate
from searchers.bayesian.models import Models
from searchers.common.acquisition import log_improvement
from searchers.common.features import VaryingFeatures
from searchers.common.history import History
from searchers.random import Random
from workloads import load_layer

LAYER = load_layer("alexnet:conv2")
PROBLEM = Problem(LAYER, PRESETS["eyeriss-small"], "edp", "maestro")
ANY = Problem(load_layer("bert_base:scores"), PRESETS["edge"], "energy", "maestro", tiles="any")
DEPTHWISE = Problem(replace(LAYER, type="DSCONV", K=1), PRESETS["edge-small"], "latency", "maestro")
HOPELESS = replace(PROBLEM, accelerator=replace(PRESETS["eyeriss-small"], l1_size=1, l2_size=1))
ONE_LEFT = {gene.name: "KCYX" for gene in PROBLEM.space.genes if gene.kind == "permutation"}
ONE_LEFT |= {gene.name: 1 for gene in PROBLEM.space.genes if gene.kind == "ordinal"}
SMALL = replace(PROBLEM, fixed={name: value for name, value in ONE_LEFT.items() if name != "cluster"})
ONE = replace(PROBLEM, fixed={**ONE_LEFT, "outer.parallel": "K", "inner.parallel": "C"})
SELDOM = Bayesian(batch_fraction=0.1)
"""Learns less often than by default."""
IMPATIENT = replace(SELDOM, n_startup_trials=5, patience=5)


def run(budget: int, problem: Problem = PROBLEM, seed: int = 0, searcher: Any = None) -> Record:
    return run_cell(Cell(problem, "bayesian", searcher or Bayesian(), seed, budget))


@cache
def usual() -> Record:
    """What it draws with 120 samples, for whoever looks at a part of that."""
    return run(120, searcher=SELDOM)


def mappings(record: Record, problem: Problem = PROBLEM) -> int:
    """How many distinct mappings were drawn."""
    return len(np.unique(problem.space.decode(record.genes()).rows, axis=0))


def history_of(samples: int, problem: Problem = PROBLEM, seed: int = 0) -> History:
    """Random samples."""
    history = History(problem.space, VaryingFeatures(problem.space))
    genes = problem.space.sample(np.random.default_rng(seed), samples)
    history.add(genes, problem.price(genes))
    return history


@pytest.mark.parametrize("budget", [1, 32])
@pytest.mark.parametrize("problem", [PROBLEM, ANY, DEPTHWISE, HOPELESS, SMALL, ONE])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(budget, problem, searcher=SELDOM)) == budget


def test_it_finds_in_120_samples_more_than_random_search_in_2000() -> None:
    """`prove_searchers.py` has the default settings."""
    assert usual().evaluations().loss.min() < best_of_2000_by_chance()


def best_of_2000_by_chance() -> float:
    return float(run(2000, searcher=Random()).evaluations().loss.min())


def test_with_a_forest_it_finds_in_80_samples_more_than_random_search_in_as_many() -> None:
    forest = replace(SELDOM, surrogate="forest")
    found = run(80, searcher=forest)
    assert found.evaluations().loss.min() < run(80, searcher=Random()).evaluations().loss.min()
    np.testing.assert_array_equal(found.genes(), run(80, searcher=forest).genes())


@pytest.mark.parametrize("problem", [ANY, HOPELESS, SMALL, ONE])
def test_with_a_forest_the_whole_budget_is_spent_too(problem: Problem) -> None:
    assert len(run(32, problem, searcher=replace(SELDOM, surrogate="forest"))) == 32


def test_a_surrogate_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown surrogate 'woods'.*gaussian, forest"):
        Bayesian(surrogate="woods")


def test_what_fits_in_the_buffers_is_learned_from_what_does_not() -> None:
    feasible = np.isfinite(usual().evaluations().loss)
    assert feasible[60:120].mean() > 3 * np.isfinite(history_of(2000).losses).mean()


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    assert (run(50, searcher=SELDOM).genes() == usual().genes(0, 50)).all()
    assert (run(10, seed=4).genes() != usual().genes(0, 10)).any()


def test_restarts_never_evaluate_a_mapping_twice() -> None:
    record = run(60, searcher=IMPATIENT)
    assert mappings(record) == 60


@pytest.mark.parametrize("searcher", [SELDOM, IMPATIENT])
def test_a_small_space_is_searched_to_the_last_mapping(searcher: Bayesian) -> None:
    record = run(400, SMALL, searcher=searcher)
    assert mappings(record, SMALL) == SMALL.space.mappings == 256


def test_a_search_without_anything_feasible_looks_for_what_needs_least() -> None:
    needs = run(80, HOPELESS, searcher=SELDOM).evaluations().l1_size
    assert np.median(needs[40:]) < np.median(needs[:20]) / 2


def test_features_are_the_same_for_vectors_of_the_same_mapping_and_differ_for_others() -> None:
    space = PROBLEM.space
    genes = space.sample(np.random.default_rng(1), 3000)
    describe = VaryingFeatures(space)
    described = describe(genes)
    assert (described == describe(space.encode(space.decode(genes)))).all()
    assert len(np.unique(described, axis=0)) == len(np.unique(space.decode(genes).rows, axis=0))


def test_features_leave_out_what_the_space_fixes() -> None:
    assert VaryingFeatures(PROBLEM.space)(PROBLEM.space.sample(np.random.default_rng(0), 2)).shape == (2, 33)
    # Both parallel dims and the cluster vary, with the turns and the use of the PEs; no tile or order does.
    assert VaryingFeatures(SMALL.space)(SMALL.space.sample(np.random.default_rng(0), 2)).shape[1] < 14
    assert VaryingFeatures(ONE.space)(ONE.space.sample(np.random.default_rng(0), 2)).shape[1] <= 5


def test_a_depthwise_layer_that_spreads_filters_spreads_channels() -> None:
    space = DEPTHWISE.space
    filters = space.sample(np.random.default_rng(0), 50)
    filters[:, [1, 7]] = 0
    channels = filters.copy()
    channels[:, [1, 7]] = 1
    describe = VaryingFeatures(space)
    assert (describe(filters) == describe(channels)).all()


def test_a_history_keeps_figures_of_what_does_not_fit_and_none_of_what_is_refused() -> None:
    history = history_of(300)
    infeasible = ~np.isfinite(history.losses)
    assert infeasible.any()
    assert np.isfinite(history.objective).all()
    assert np.allclose(history.objective[~infeasible], np.log2(history.losses[~infeasible]), rtol=1e-12)
    assert ((history.needs > 0).any(axis=1) == infeasible).all()
    broken = history_of(300, ANY)
    assert broken.refused.any()
    assert (np.isnan(broken.objective) == broken.refused).all()


def test_a_history_finds_the_first_sample_of_a_mapping() -> None:
    history = history_of(50)
    genes = np.concatenate([history.genes[[7, 3]], PROBLEM.space.sample(np.random.default_rng(9), 1)])
    assert history.find(PROBLEM.space.encode(PROBLEM.space.decode(genes))).tolist() == [7, 3, -1]


def test_the_posterior_is_that_of_scikit_optimize() -> None:
    history = history_of(80)
    surrogate = Surrogate(history.features.shape[1], seed=0)
    surrogate.fit(history.features[:60], history.objective[:60], steps=5)
    posterior = surrogate.at(history.features[60:])
    mean, covariance = surrogate._model.predict(history.features[60:], return_cov=True)
    noise = np.exp(surrogate._kernel.theta[-1]) * history.objective[:60].var()
    np.testing.assert_allclose(posterior.mean, mean)
    np.testing.assert_allclose(posterior.covariance() + noise * np.eye(20), covariance, atol=1e-8)
    np.testing.assert_allclose(posterior.variance, np.diag(posterior.covariance()))


def test_the_chance_to_be_feasible_is_learned_from_a_hundred_samples() -> None:
    history, others = history_of(100), history_of(1000, seed=1)
    models = Models(history, seed=0)
    assert models.learn(np.arange(100), np.arange(100), refit=True)
    likely = models.log_chance(others.features) > np.log(0.5)
    assert (likely == np.isfinite(others.losses)).mean() > 0.93


def test_nothing_is_learned_where_there_are_no_figures() -> None:
    history = history_of(300, ANY)
    refused = np.flatnonzero(history.refused)
    assert not Models(history, seed=0).learn(refused, refused, refit=True)


def test_a_batch_is_what_a_process_would_pick_that_believes_its_own_means() -> None:
    history = history_of(90)
    rows, free = np.arange(60), list(range(60, 90))
    models = Models(history, seed=0)
    models.learn(rows, rows, refit=True)
    chances = np.zeros(30)
    best = float(np.median(history.objective))
    counts = np.ones(30, np.bool_)
    picks = models.batch(history.features[60:], chances, best, counts, 4)
    kernel = models._objective._model.kernel_
    scale, centre = history.objective[rows].std(), history.objective[rows].mean()
    known_rows, noise = rows.tolist(), [float(np.exp(kernel.theta[-1]))] * 60
    for pick in picks:
        joint = kernel.k1(history.features) * scale**2
        known = np.linalg.inv(joint[np.ix_(known_rows, known_rows)] + np.diag(noise) * scale**2)
        gain = joint[np.ix_(free, known_rows)] @ known
        variance = np.diag(joint)[free] - np.einsum("ij,ij->i", gain, joint[np.ix_(free, known_rows)])
        mean = centre + joint[np.ix_(free, rows)] @ np.linalg.solve(
            joint[np.ix_(rows, rows)] + noise[0] * scale**2 * np.eye(60), history.objective[rows] - centre
        )
        merit = log_improvement(mean, np.sqrt(np.maximum(variance, 1e-9)), best)
        assert free[int(np.argmax(merit))] == 60 + pick
        best = min(best, mean[int(np.argmax(merit))])
        known_rows.append(60 + pick)
        noise.append(1e-9)
        free.remove(60 + pick)


def test_a_batch_ends_with_the_last_point_that_counts() -> None:
    history = history_of(90)
    models = Models(history, seed=0)
    models.learn(np.arange(60), np.arange(60), refit=True)
    counts = np.arange(30) % 3 == 0
    picks = models.batch(history.features[60:], np.zeros(30), 0.0, counts, 4)
    assert len(set(picks)) == len(picks)
    assert counts[picks].sum() == 4
    assert counts[picks[-1]]
    assert sorted(models.batch(history.features[60:], np.zeros(30), 0.0, counts, 11)) == list(range(30))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_startup_trials": 1}, "n_startup_trials must be at least 2, got 1"),
        ({"max_training_samples": 9}, "max_training_samples must be at least 10, got 9"),
        ({"batch_fraction": 1.5}, "batch_fraction must be at most 1, got 1.5"),
        ({"late_batch_fraction": 0.0}, "late_batch_fraction must be a finite number above 0, got 0.0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"refit_growth": 1.0}, "refit_growth must be above 1, got 1.0"),
    ],
)
def test_senseless_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_searcher("bayesian", settings)
