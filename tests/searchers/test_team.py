"""Teams of agents and their critic: what is predicted, who moves, what is selected, and restarts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing import landscapes
from searchers.common.choices import Choices
from searchers.common.history import History, objective_factors
from searchers.local import Local
from searchers.random import Random
from searchers.team import Team
from searchers.team.agents import Agents
from searchers.team.calibration import Calibration, Prediction
from searchers.team.columns import (
    ALL_MOVED,
    DELIVERED,
    HELD,
    KEPT,
    LEFT,
    LEVEL_WIDTH,
    MOVED,
    MULTICAST,
    NESTING,
    RETURNS,
    SENT_ONCE,
    SHARE,
    SLID,
    STEPS,
    TIMES,
    TOGETHER,
    TURNS,
    WIDTH,
    WORKING,
)
from searchers.team.critic import Critic
from searchers.team.expectations import ADDENDS
from searchers.team.feature_kernel import describe
from searchers.team.features import LoopFeatures, features_of
from searchers.team.search import Search
from searchers.team.spatial import SpatialMappings
from searchers.team.training import TrainingSet
from searchers.team.trend import Trend
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
SPACE = PROBLEM.space
SPATIAL = [GENE_NAMES.index(name) for name in ("outer.parallel", "inner.parallel", "cluster")]
QUICK = {"n_teams": 2, "moves": 1, "early_moves": 2, "extra_teams": 1, "max_candidates": 8}
"""Settings with which it looks at few points for each that it evaluates, where that is not the point."""
OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


@cache
def usual() -> Record:
    """What it draws with 200 samples, for whoever looks at a part of that."""
    return run(Team(), 200)


def run(searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0) -> Record:
    record = Record(len(problem.space.sizes))
    with suppress(BudgetExhausted):
        searcher.search(Evaluator(problem, budget, record=record), np.random.default_rng(seed))
    return record


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


def figures(history: History) -> np.ndarray:
    """Of the objective's factors, and each buffer's need over its capacity, in log2."""
    return np.column_stack([history.figures, history.needs])


def fitted(history: History) -> Critic:
    """A critic of EDP that has learned what is in the history, and that nothing is refused."""
    critic = Critic(history.describe, factors=2)
    targets = np.pad(figures(history), ((0, 0), (0, 1)))
    critic.fit(TrainingSet(history.features, targets, np.ones(len(targets))), choose=True, choose_scales=True)
    return critic


def history_of(genes: np.ndarray, problem: Problem = PROBLEM) -> History:
    space = problem.space
    history = History(space, features_of(space), objective_factors(space, problem.objective))
    history.add(genes, problem.price(genes))
    return history


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 107])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(Team(**QUICK), budget, problem)) == budget


@pytest.mark.parametrize("objective", ["latency", "energy", "area", "power"])
def test_any_objective_is_learned(objective: str) -> None:
    problem = Problem(load_layer("resnet50:layer1.0.conv3"), PRESETS["edge-small"], objective, "maestro")
    losses = run(Team(**QUICK), 100, problem).evaluations().loss
    assert losses.min() <= run(Random(), 1000, problem).evaluations().loss.min()


def test_with_few_samples_it_beats_the_same_without_learning() -> None:
    others = Local(), Team(policy="uniform", initial_design="random")
    best = [
        [usual().evaluations().loss[:120].min()],
        *([run(searcher, 120).evaluations().loss.min()] for searcher in others),
    ]
    for seed in (1, 2):
        for searcher, losses in zip((Team(), *others), best, strict=True):
            losses.append(run(searcher, 120, seed=seed).evaluations().loss.min())
    assert np.median(best[0]) < 0.85 * np.median(best[1])
    assert np.median(best[0]) < 0.6 * np.median(best[2])


def test_a_depthwise_layer_is_searched_too() -> None:
    layer, accelerator = landscapes.DEPTHWISE, PRESETS["eyeriss-small"]
    problem = Problem(layer, accelerator, "edp", "maestro")
    best = [run(searcher, 200, problem).evaluations().loss.min() for searcher in (Team(**QUICK), Random())]
    assert best[0] < best[1]


def test_where_nothing_is_feasible_it_goes_towards_what_fits() -> None:
    needed, anywhere = (
        run(searcher, 150, landscapes.infeasible()).evaluations().l1_size for searcher in (Team(), Random())
    )
    assert np.median(needed[-50:]) < np.median(anywhere)


def test_where_all_is_refused_it_goes_on_to_other_points() -> None:
    assert len(np.unique(run(Team(**QUICK), 150, landscapes.refused()).genes(), axis=0)) == 150


def test_no_mapping_is_evaluated_twice_and_a_small_space_is_seen_whole() -> None:
    genes = usual().genes()
    assert len(np.unique(SPACE.decode(genes).rows, axis=0)) == 200
    assert len(np.unique(run(Team(), 100, landscapes.small()).genes(), axis=0)) == 16


def test_a_smaller_budget_draws_the_beginning_of_a_larger_one() -> None:
    np.testing.assert_array_equal(run(Team(), 150).genes(), usual().genes(0, 150))


def worked_example() -> np.ndarray:
    """A mapping of K 8 C 4 Y 6 X 6 with a filter of 3 by 3, on 8 PEs in clusters of 2."""
    outer = Level("K", ("K", "C", "Y", "X", "R", "S"), (2, 4, 3, 6, 3, 3))
    inner = Level("Y", ("C", "K", "X", "Y", "R", "S"), (2, 1, 1, 6, 3, 3))
    return MappingBatch.of([Mapping(outer, 2, inner)]).rows


def described(
    rows: np.ndarray,
    depthwise: bool = False,
    sizes: tuple[int, ...] = (8, 4, 6, 6),
    lanes: int = 1,
    noc: int = 8,
    reads: tuple[int, ...] = (1, 2, 1, 2),
) -> np.ndarray:
    """All columns, plain, of mappings of a layer with a filter of 3 by 3 onto 8 PEs: (n, WIDTH)."""
    constants = np.array([8, 3, 3, depthwise, *sizes, lanes, noc, 4, *reads])
    found = np.empty((len(rows), WIDTH), np.float32)
    describe(rows, constants, np.arange(WIDTH), np.zeros(WIDTH), np.ones(WIDTH), found)
    return found


def test_features_are_the_counts_that_follow_from_the_loops() -> None:
    """Worked out by hand."""
    found = described(worked_example())
    counts = 2.0 ** found[0]
    outside, inside = counts[:LEVEL_WIDTH], counts[LEVEL_WIDTH : 2 * LEVEL_WIDTH]
    # Four parts of K for four clusters, which all work in one turn; two turns of Y.
    np.testing.assert_allclose(outside[TURNS : TURNS + 4], [1, 1, 2, 1], rtol=1e-5)
    np.testing.assert_allclose(outside[[WORKING, SHARE]], [4, 1], rtol=1e-5)
    np.testing.assert_allclose(outside[RETURNS : RETURNS + 3], [1, 2, 2], rtol=1e-5)
    np.testing.assert_allclose(outside[HELD : HELD + 4], [72, 160, 36, 268], rtol=1e-5)
    np.testing.assert_allclose(outside[TOGETHER : TOGETHER + 4], [288, 160, 144, 592], rtol=1e-5)
    np.testing.assert_allclose(outside[MOVED : MOVED + 3], [288, 320, 288], rtol=1e-5)
    np.testing.assert_allclose(outside[ALL_MOVED], 896, rtol=1e-5)
    # Three rows for two PEs: two turns, three quarters of the PEs at work; C outside of them all.
    np.testing.assert_allclose(inside[TURNS : TURNS + 4], [1, 4, 2, 1], rtol=1e-5)
    np.testing.assert_allclose(inside[[WORKING, SHARE]], [2, 0.75], rtol=1e-5)
    np.testing.assert_allclose(inside[RETURNS : RETURNS + 3], [4, 8, 8], rtol=1e-5)
    np.testing.assert_allclose(inside[HELD : HELD + 4], [18, 24, 12, 54], rtol=1e-5)
    np.testing.assert_allclose(inside[TOGETHER : TOGETHER + 4], [18, 32, 24, 74], rtol=1e-5)
    np.testing.assert_allclose(inside[MOVED : MOVED + 3] / 8, [72, 256, 192], rtol=1e-5)
    np.testing.assert_allclose(counts[STEPS], 2 * 8 * 12, rtol=1e-5)
    # Which of two loops is outside says something where both turn: C and Y inside, none of the outer ones.
    assert found[0, NESTING : NESTING + 6].tolist() == [0.5] * 6
    assert found[0, LEVEL_WIDTH + NESTING : LEVEL_WIDTH + NESTING + 6].tolist() == [
        0.5,
        0.5,
        0.5,
        1,
        0.5,
        0.5,
    ]
    # Inputs do not depend on K, so all four clusters need the same.
    np.testing.assert_allclose(counts[MULTICAST : MULTICAST + 3], [576, 512, 1536], rtol=1e-5)
    np.testing.assert_allclose(counts[DELIVERED : DELIVERED + 3], [1152, 3072, 1536], rtol=1e-5)
    # Nothing stays in a PE, as the inner loops bring every tensor again. Of eight input rows two overlap.
    np.testing.assert_allclose(counts[SENT_ONCE : SENT_ONCE + 3], [576, 512, 1536], rtol=1e-5)
    np.testing.assert_allclose(counts[KEPT : KEPT + 3], [1152, 3072, 1536], rtol=1e-5)
    np.testing.assert_allclose(counts[[SLID, LEFT]], [4 * 8 * 8, 288], rtol=1e-5)


def resident_example() -> np.ndarray:
    """Two filters for each two PEs, whose inner loops turn once: weights stay as Y turns outside."""
    outer = Level("K", ("K", "C", "Y", "X", "R", "S"), (2, 4, 3, 6, 3, 3))
    inner = Level("K", ("C", "K", "X", "Y", "R", "S"), (1, 4, 3, 6, 3, 3))
    return MappingBatch.of([Mapping(outer, 2, inner)]).rows


def test_what_the_inner_loops_do_not_change_stays_until_the_outer_ones_do() -> None:
    counts = 2.0 ** described(resident_example())[0]
    np.testing.assert_allclose(counts[MULTICAST : MULTICAST + 3], [576, 320, 288], rtol=1e-5)
    np.testing.assert_allclose(counts[SENT_ONCE : SENT_ONCE + 3], [288, 320, 288], rtol=1e-5)
    np.testing.assert_allclose(counts[DELIVERED : DELIVERED + 3], [576, 2560, 288], rtol=1e-5)
    np.testing.assert_allclose(counts[KEPT : KEPT + 3], [288, 2560, 288], rtol=1e-5)


def test_times_count_what_stays_once() -> None:
    """A step works 81 cycles; 592 words come over the NoC, a word a cycle, and 304 where the weights stay."""
    counts = 2.0 ** described(resident_example(), lanes=8, noc=1)[0]
    np.testing.assert_allclose(counts[TIMES : TIMES + 4], [1780, 916, 1492, 844], rtol=1e-5)


def test_a_tile_of_a_strided_layer_holds_the_rows_that_it_reads() -> None:
    held = 2.0 ** described(worked_example(), reads=(2, 1, 2, 1))[0, HELD : HELD + 2]
    np.testing.assert_allclose(held, [72, 4 * 7 * 13], rtol=1e-5)
    skipping = 2.0 ** described(worked_example(), reads=(3, 0, 3, 0))[0, HELD + 1]
    np.testing.assert_allclose(skipping, 4 * 9 * 18, rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_buffers_hold_twice_what_the_features_count_at_any_stride(stride: int) -> None:
    layer = Layer("CONV", 8, 4, 13, 12, 3, 3, stride=(stride, stride), padding=(1, 1))
    problem = Problem(layer, PRESETS["edge"], "edp", "loopnest")
    genes = problem.space.sample(np.random.default_rng(0), 50)
    held = 2.0 ** LoopFeatures(problem.space, problem.space.structure)(genes)[:, -len(ADDENDS) :]
    first = ADDENDS.index(LEVEL_WIDTH + HELD)
    needed = 2 * held[:, first : first + 3].sum(axis=1)
    np.testing.assert_allclose(problem.price(genes).needs[:, 0], needed, rtol=1e-4)


@pytest.mark.parametrize(("noc", "shared", "own"), [(8, 1889, 1882.25), (1, 4124, 1926)])
def test_times_are_those_of_double_buffers(noc: int, shared: float, own: float) -> None:
    """A PE works 108 cycles a step, of which there are eight in each of the two turns of the outer loops."""
    found = described(worked_example(), noc=noc)
    np.testing.assert_allclose(2.0 ** found[0, TIMES : TIMES + 4], [shared, own] * 2, rtol=1e-5)


def test_on_a_depthwise_layer_a_spread_of_filters_is_one_of_channels() -> None:
    tile = (1, 4, 3, 6, 3, 3)
    rows = MappingBatch.of(
        [
            Mapping(Level(dim, tuple("KCYXRS"), tile), 2, Level("Y", tuple("KCYXRS"), (1, 1, 1, 6, 3, 3)))
            for dim in "KC"
        ]
    ).rows
    found = described(rows, depthwise=True, sizes=(1, 16, 6, 6))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(2.0 ** found[0, TOGETHER : TOGETHER + 3], [144, 640, 288], rtol=1e-5)


def test_features_are_standardised_and_none_is_constant() -> None:
    features = LoopFeatures(SPACE, SPACE.structure)
    features = features(SPACE.sample(np.random.default_rng(5), 4000))[:, : -features.addends]
    assert abs(features.mean(axis=0)).max() < 0.15
    assert features.std(axis=0).min() > 0.5


def test_the_critic_predicts_what_it_has_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    history = history_of(Choices(SPACE).sample(rng, 300))
    unseen = history_of(Choices(SPACE).sample(rng, 200))
    critic, truth = fitted(history), figures(unseen)
    errors = (critic.predict(unseen.features)[:, :4] - truth).std(axis=0)
    assert (errors < 0.45 * truth.std(axis=0)).all()
    means, covariance, scales = critic.posterior(unseen.features)
    np.testing.assert_allclose(means, critic.predict(unseen.features), atol=1e-2)
    deviations = np.sqrt(np.outer(covariance.diagonal(), scales))[:, :4]
    assert (np.mean(abs(means[:, :4] - truth) < 2 * deviations, axis=0) > 0.8).all()


def test_the_critic_is_sure_of_what_it_knows() -> None:
    history = history_of(Choices(SPACE).sample(np.random.default_rng(1), 100))
    critic, truth = fitted(history), figures(history)
    means, covariance, scales = critic.posterior(history.features)
    assert abs(means[:, :4] - truth).max() < 0.1 * truth.std()
    elsewhere = critic.posterior(history_of(Choices(SPACE).sample(np.random.default_rng(2), 50)).features)
    assert covariance.diagonal().mean() < 0.2 * elsewhere[1].diagonal().mean()
    assert (scales > 0).all()


def test_the_critic_learns_which_features_tell_most() -> None:
    """A cost that follows from one group of features shortens its length scale more than any other."""
    history = history_of(Choices(SPACE).sample(np.random.default_rng(3), 120))
    groups = history.describe.groups
    usual = Critic(history.describe, factors=1).log2_scales
    for group in (3, 9):
        critic = Critic(history.describe, factors=1)
        member = np.flatnonzero(groups == group)[0]
        costs = np.sin(2 * history.features[:, member].astype(np.float64))
        targets = np.column_stack([costs, 0 * costs])
        critic.fit(
            TrainingSet(history.features, targets, np.ones(len(targets))), choose=True, choose_scales=True
        )
        gains = (usual - critic.log2_scales)[np.unique(groups)]
        assert np.unique(groups)[np.argmax(gains)] == group
        assert gains.max() > 0 > gains.min()


def test_the_critic_copes_with_one_figure_for_all() -> None:
    history = history_of(Choices(SPACE).sample(np.random.default_rng(1), 30))
    critic = Critic(history.describe, factors=1)
    critic.fit(
        TrainingSet(history.features, np.full((30, 2), 7.0), np.ones(30)), choose=True, choose_scales=True
    )
    np.testing.assert_allclose(critic.predict(history.features), 7.0, atol=1e-2)


def test_history_has_figures_of_what_does_not_fit_and_none_of_what_is_refused() -> None:
    genes = Choices(SPACE).sample(np.random.default_rng(0), 200)
    evaluations, history = PROBLEM.price(genes), history_of(genes)
    feasible = np.isfinite(evaluations.loss)
    assert 0 < feasible.sum() < 200
    assert np.isfinite(figures(history)).all()
    assert ((history.needs < 0).all(axis=1) == feasible).all()
    products = history.objective[feasible] - np.log2(evaluations.loss[feasible])
    np.testing.assert_allclose(products, products[0])
    elsewhere = landscapes.refused()
    refused = history_of(Choices(elsewhere.space).sample(np.random.default_rng(0), 50), elsewhere)
    assert refused.refused.all()
    assert np.isnan(figures(refused)).all()


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
    searches = LocalSearches(Team(patience=30, patience_fraction=0.1))
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
        **QUICK,
        n_startup_trials=2,
        n_restart_trials=1,
        patience=1,
        restricted_patience=1,
        patience_fraction=1e-9,
        borrowed_samples=0,
    )
    assert len(run(impatient, 60, problem)) == 60


def test_a_critic_learns_from_its_own_samples_however_many_it_borrows() -> None:
    searches = LocalSearches(Team(max_training_samples=12, borrowed_samples=500))
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
    searches = LocalSearches(
        Team(patience=30, patience_fraction=0.1, restricted_fraction=1.0, restricted_max_lag=0.5, **QUICK)
    )
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
        searches = LocalSearches(
            Team(patience=30, patience_fraction=0.1, restricted_fraction=fraction, **QUICK)
        )
        record = searches.record
        for _ in range(3):
            searches.finish()
        first, kept = len(record), 0
        while len(record) < 600:
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
    searches = LocalSearches(Team())
    assert searches.batch.predicted is None
    for _ in range(12):
        searches.tell()
        searches.batch = searches.search.ask()
    batch, search = searches.batch, searches.search
    means = search._local_search.critic.predict(search._describe(batch.genes))
    np.testing.assert_allclose(batch.predicted.mean, means[:, :-1], atol=1e-2)
    assert (batch.predicted.deviation > 0).all()


def test_later_local_searches_begin_with_points_that_fit() -> None:
    searches = LocalSearches(Team(patience=10, patience_fraction=0.1))
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


def test_mappings_that_differ_in_what_makes_no_difference_are_evaluated_once() -> None:
    """The order of loops that have one turn each: all features are the same."""
    genes = run(Team(), 60).genes()
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
