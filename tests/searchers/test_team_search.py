"""Local and restricted searches of the team, its calibration, and its first samples."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import Evaluator
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing import landscapes
from searchers.common.choices import Choices
from searchers.team import Team
from searchers.team.agents import Agents
from searchers.team.calibration import Calibration, Prediction
from searchers.team.features import LoopFeatures
from searchers.team.search import Search
from searchers.team.spatial import SpatialMappings
from searchers.team.trend import Trend
from tests.searchers.team_cases import OTHERS, PROBLEM, QUICK, QUICKER, SPACE, figures, history_of, run

SPATIAL = [GENE_NAMES.index(name) for name in ("outer.parallel", "inner.parallel", "cluster")]


SHORT = QUICKER | {"patience": 10, "restricted_patience": 10, "patience_fraction": 0.1}
"""Settings with which local searches end soon."""


class LocalSearches:
    """A search that goes on one local search after the other, and what it has evaluated."""

    def __init__(self, settings: Team, problem: Problem = PROBLEM) -> None:
        self.record = Record(13)
        self._evaluate = Evaluator(problem, 5000, record=self.record)
        self.search = Search(settings, problem.space, problem.objective, np.random.default_rng(0))
        self.batch = self.search.ask()
        """What the present local search begins with, asked for and not evaluated yet."""

    def tell(self) -> None:
        self.search.tell(self.batch, self._evaluate(self.batch.genes))

    def finish(self) -> None:
        """Evaluate all that the present local search asks for."""
        local_search = self.search._local_search
        while self.search._local_search is local_search:
            self.tell()
            self.batch = self.search.ask()


def test_history_finds_what_was_evaluated() -> None:
    genes = Choices(SPACE).sample(np.random.default_rng(0), 20)
    history = history_of(np.concatenate([genes[:10], genes[:5]]))
    assert history.find(genes).tolist() == [*range(10), *[-1] * 10]


def test_the_agent_that_gains_most_moves_and_the_others_respond() -> None:
    """With a judge that counts genes astray, a team is a block nearer after each move, largest gain first."""
    choices, rng = Choices(SPACE), np.random.default_rng(3)
    target = choices.sample(rng, 1)[0]
    starts = choices.sample(rng, 2)
    weights = np.arange(1, 14)
    agents = Agents(choices, 10_000, rng)
    considered = agents.respond(starts, 8, lambda genes: (genes != target) @ weights, choices.blocks)
    for team, start in enumerate(starts):
        assert (considered.best(team, 1)[0] == target).all()
        mine = considered.judged[considered.team == team]
        assert mine[0] == (start != target) @ weights
        gain = max(
            (start != target)[list(block.genes)] @ weights[list(block.genes)] for block in SPACE.blocks
        )
        first = np.flatnonzero((considered.genes[considered.team == team] == target).all(axis=1))[0]
        assert mine[1 : first + 1].min() <= mine[0] - gain


def test_a_perturbed_vector_differs_in_few_blocks() -> None:
    choices, rng = Choices(SPACE), np.random.default_rng(0)
    agents, vector = Agents(choices, 40, rng), choices.sample(rng, 1)[0]
    changed = [
        sum(bool((perturbed != vector)[list(block.genes)].any()) for block in SPACE.blocks)
        for perturbed in (agents.perturbed(vector, 3, choices.blocks) for _ in range(200))
    ]
    assert set(changed) <= {0, 1, 2, 3}
    assert {1, 2, 3} <= set(changed)


def test_it_starts_anew_where_it_no_longer_improves() -> None:
    searches = LocalSearches(Team(patience=30, patience_fraction=0.1, **QUICKER))
    searches.finish()
    losses = searches.record.evaluations().loss
    assert losses[-30:].min() >= 0.999 * losses[:-30].min()
    best = np.minimum.accumulate(losses)
    latest = np.flatnonzero(best[1:] < 0.999 * best[:-1]).max() + 1
    # It goes on for 30 samples after the latest that is better, and then ends with the batch.
    assert 30 <= len(losses) - 1 - latest < 30 + Team().max_batch_size
    assert len(losses) < 600
    assert len(searches.batch.genes) == Team().n_restart_trials


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
def test_it_may_give_up_before_its_critic_has_learned(problem: Problem) -> None:
    impatient = Team(
        **QUICKER,
        n_startup_trials=2,
        n_restart_trials=1,
        patience=1,
        restricted_patience=1,
        patience_fraction=1e-9,
        borrowed_samples=0,
    )
    assert len(run(impatient, 60, problem)) == 60


def test_a_critic_learns_from_its_own_samples_however_many_it_borrows() -> None:
    searches = LocalSearches(Team(**SHORT, max_training_samples=12, borrowed_samples=500))
    searches.finish()
    searches.tell()
    local_search = searches.search._local_search
    assert len(local_search.borrowed) > 12
    assert len(local_search.samples) == Team().n_restart_trials
    searches.search.ask()
    assert len(local_search.critic._known) == len(local_search.borrowed) + 6


def test_a_local_search_is_given_what_earlier_ones_have_evaluated() -> None:
    """In a space of 16 mappings a second one has all of them, and evaluates one only to begin with."""
    searches = LocalSearches(Team(n_startup_trials=4), landscapes.small())
    searches.finish()
    assert len(np.unique(searches.record.genes(), axis=0)) == 16
    before = len(searches.record)
    searches.finish()
    assert len(searches.record) == before + 1


def test_a_restricted_search_keeps_its_spatial_mapping_and_ends_soon_where_it_lags() -> None:
    """Four of them have as many spatial mappings; one that lags far behind ends with few samples."""
    # So patient that only its lag ends a search within 30 samples.
    patient = SHORT | {"patience": 30, "restricted_patience": 30}
    searches = LocalSearches(Team(**patient, restricted_fraction=1.0, restricted_max_lag=0.5))
    record = searches.record
    for _ in range(3):
        searches.finish()
    seen, lags = set(), []
    for _ in range(4):
        before = len(record)
        searches.finish()
        kept, losses = record.genes()[before:, SPATIAL], record.evaluations().loss
        assert (kept == kept[0]).all()
        seen.add(tuple(kept[0]))
        lags.append(losses[before:].min() / losses[:before].min())
        assert lags[-1] < 1.5 or len(kept) < 30
    assert len(seen) == 4
    assert max(lags) > 1.5


def test_the_next_restricted_search_has_most_in_common_with_the_best() -> None:
    """One of three spatial mappings came out far ahead of the others: the next has its parallel dims."""
    genes = np.repeat(Choices(SPACE).sample(np.random.default_rng(0), 1), 24, axis=0)
    genes[:, SPATIAL] = np.repeat([[0, 3, 8], [1, 0, 2], [2, 2, 14]], 8, axis=0)
    history = history_of(genes)
    history.scores[:] = np.repeat([1e3, 1e4, 5e3], 8)
    spatial, rng = SpatialMappings(SPACE, SPACE.structure), np.random.default_rng(0)
    found = [tuple(spatial.choose(rng, history).tolist()) for _ in range(4)]
    assert all(mapping[:2] == (0, 3) for mapping in found)
    assert len(set(found)) == 4
    anything = {tuple(spatial.choose(rng, None)[:2].tolist()) for _ in range(20)}
    assert len(anything) > 5


def test_every_spatial_mapping_is_searched_before_any_is_again() -> None:
    space = landscapes.small().space
    spatial, rng = SpatialMappings(space, space.structure), np.random.default_rng(0)
    count = int(np.prod(space.sizes[SPATIAL]))
    history = history_of(Choices(space).sample(rng, 50), landscapes.small())
    found = [tuple(spatial.choose(rng, history).tolist()) for _ in range(2 * count)]
    assert len(set(found[:count])) == count
    assert sorted(found[:count]) == sorted(found[count:])


def test_restricted_searches_have_their_part_of_the_samples() -> None:
    parts = {}
    for fraction in (0.0, 0.7):
        searches = LocalSearches(Team(**SHORT, restricted_fraction=fraction, restricted_batch_size=4))
        record = searches.record
        for _ in range(3):
            searches.finish()
        first, kept = len(record), 0
        while len(record) < 250:
            before = len(record)
            searches.finish()
            genes = record.genes()[before:]
            kept += len(genes) if (genes[:, SPATIAL] == genes[0, SPATIAL]).all() else 0
        parts[fraction] = kept / (len(record) - first)
    assert parts[0.0] < 0.3
    assert 0.6 < parts[0.7] < 0.85


def test_calibration_widens_what_errs_more_than_stated() -> None:
    calibration, rng = Calibration(), np.random.default_rng(0)
    assert calibration.variance == 1
    stated = Prediction(np.zeros((300, 2)), np.ones((300, 2)))
    calibration.observe(stated, rng.normal(0, 1, (300, 2)) * [0.1, 5.0])
    assert calibration.variance[0] == 1
    assert 12 < calibration.variance[1] < 40
    calibration.observe(stated, rng.normal(0, 1, (300, 2)))
    assert calibration.variance.max() < 2


def test_calibration_learns_nothing_from_refused_points() -> None:
    calibration = Calibration()
    figures = np.array([[np.nan, 100.0], [9.0, 0.0]])
    calibration.observe(Prediction(np.zeros((2, 2)), np.ones((2, 2))), figures)
    alone = Calibration()
    alone.observe(Prediction(np.zeros((1, 2)), np.ones((1, 2))), figures[1:])
    np.testing.assert_array_equal(calibration.variance, alone.variance)


def test_a_batch_is_told_with_what_was_predicted_of_it() -> None:
    """The first batch of a local search is random; of later ones each point has its own prediction."""
    searches = LocalSearches(Team(**QUICK))
    assert searches.batch.predicted is None
    for _ in range(12):
        searches.tell()
        searches.batch = searches.search.ask()
    batch, search = searches.batch, searches.search
    means = search._local_search.critic.predict(search._describe(batch.genes))
    np.testing.assert_allclose(batch.predicted.mean, means[:, :-1], atol=1e-2)
    assert (batch.predicted.deviation > 0).all()


def test_later_local_searches_begin_with_points_that_fit() -> None:
    searches = LocalSearches(Team(**SHORT))
    searches.finish()
    begin = len(searches.record)
    searches.finish()
    fits = np.isfinite(searches.record.evaluations().loss)
    anywhere = np.isfinite(PROBLEM.price(Choices(SPACE).sample(np.random.default_rng(0), 500)).loss)
    assert fits[begin : begin + 8].mean() > 2 * anywhere.mean() + 0.2


@pytest.mark.parametrize(
    ("fixed", "count"), [({}, 3), ({"outer.parallel": "K"}, 1), ({"outer.parallel": "X"}, 0)]
)
def test_the_first_samples_are_the_templates_that_lie_in_the_space(fixed: dict, count: int) -> None:
    problem = replace(PROBLEM, fixed=fixed)
    found = []
    for name in problem.templates:
        with suppress(InputError):
            found.append(problem.vectors([problem.template(name)])[0].tolist())
    genes = run(Team(), 4, problem).genes().tolist()
    assert genes[: len(found)] == found
    assert len(found) == count
    at_random = run(Team(initial_design="random"), 3, problem).genes().tolist()
    assert (at_random == genes[:3]) == (not found)


def test_what_is_expected_is_near_what_is_evaluated() -> None:
    """From three samples: needs but for an element of rounding, then cycles, then energy."""
    problem = replace(PROBLEM, cost_model="loopnest")
    history = history_of(Choices(SPACE).sample(np.random.default_rng(0), 400), problem)
    trend = Trend(history.describe.addends, history.describe.expected(("cycles", "energy_nj")))
    targets = np.pad(figures(history), ((0, 0), (0, 1)))
    trend.fit(history.features[:3], targets[:3])
    errors = (trend(history.features) - targets)[:, :4]
    assert abs(errors[:, 2:]).max() < 0.05
    assert (errors[:, :2].std(axis=0) < [0.15, 0.6] * targets[:, :2].std(axis=0)).all()


@pytest.mark.parametrize(("model", "right", "wrong"), [("loopnest", 0, 1), ("maestro", 1, 0)])
def test_three_samples_tell_which_hypothesis_holds(model: str, right: int, wrong: int) -> None:
    """Cycles and energy are foretold as by the right one alone, and worse by the wrong one alone."""
    genes = Choices(SPACE).sample(np.random.default_rng(0), 400)
    history = history_of(genes, replace(PROBLEM, cost_model=model))
    targets = np.pad(figures(history), ((0, 0), (0, 1)))
    expected = history.describe.expected(("cycles", "energy_nj"))

    def errors(hypotheses: list[int]) -> np.ndarray:
        trend = Trend(history.describe.addends, expected[hypotheses])
        trend.fit(history.features[:3], targets[:3])
        return (trend(history.features) - targets)[:, :2].std(axis=0)

    np.testing.assert_array_equal(errors([0, 1]), errors([right]))
    assert (errors([0, 1]) < 0.6 * errors([wrong])).all()


def test_mappings_that_differ_in_what_makes_no_difference_are_evaluated_once() -> None:
    """The order of loops that have one turn each: all features are the same."""
    genes = run(Team(**QUICK), 60).genes()
    described = LoopFeatures(SPACE, SPACE.structure)(genes)
    assert len(np.unique(described, axis=0)) >= 58


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_startup_trials": 1}, "n_startup_trials must be at least 2, got 1"),
        ({"n_informed_startup_trials": 0}, "n_informed_startup_trials must be at least 1, got 0"),
        ({"early_moves": 0}, "early_moves must be at least 1, got 0"),
        ({"early_exploration": 0}, "early_exploration must be a finite number above 0, got 0"),
        ({"extra_teams": -1}, "extra_teams must be at least 0, got -1"),
        ({"initial_design": "template"}, "initial_design 'template'"),
        ({"max_training_samples": 5}, "max_training_samples must be at least 10, got 5"),
        ({"n_teams": 0}, "n_teams must be at least 1, got 0"),
        ({"moves": 0}, "moves must be at least 1, got 0"),
        ({"max_candidates": 1}, "max_candidates must be at least 2, got 1"),
        ({"perturbation": 0}, "perturbation must be at least 1, got 0"),
        ({"batch_fraction": 0.0}, "batch_fraction must be a finite number above 0, got 0.0"),
        ({"late_batch_fraction": -1}, "late_batch_fraction must be a finite number above 0, got -1"),
        ({"max_batch_size": 0}, "max_batch_size must be at least 1, got 0"),
        ({"exploration": 0}, "exploration must be a finite number above 0, got 0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"n_restart_trials": 0}, "n_restart_trials must be at least 1, got 0"),
        ({"restricted_patience": 0}, "restricted_patience must be at least 1, got 0"),
        ({"restricted_fraction": 1.5}, "restricted_fraction must be between 0 and 1, got 1.5"),
        ({"n_restricted_startup_trials": 0}, "n_restricted_startup_trials must be at least 1, got 0"),
        ({"patience_fraction": float("nan")}, "patience_fraction must be a finite number above 0, got nan"),
        ({"policy": "unform"}, "policy 'unform'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(Team(), **settings)
