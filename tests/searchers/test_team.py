"""Teams of agents and their critic: what is predicted, who moves, what is selected, and restarts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.search.record import Record
from dse.testing import landscapes
from searchers.common.choices import Choices
from searchers.common.history import History
from searchers.local import Local
from searchers.random import Random
from searchers.team import Team
from searchers.team.columns import (
    ALL_MOVED,
    ANEW,
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
    UNCOUNTED,
    WORKING,
)
from searchers.team.critic import Critic
from searchers.team.expectations import ADDENDS
from searchers.team.features import LoopFeatures
from searchers.team.training import TrainingSet
from tests.searchers.team_cases import (
    OTHERS,
    PROBLEM,
    QUICK,
    QUICKER,
    SPACE,
    described,
    figures,
    history_of,
    run,
)
from workloads import load_layer


@cache
def usual() -> Record:
    """What it draws with 120 samples, for whoever looks at a part of that."""
    return run(Team(**QUICK), 120)


def fitted(history: History) -> Critic:
    """A critic of EDP that has learned what is in the history, and that nothing is refused."""
    critic = Critic(history.describe, factors=2)
    targets = np.pad(figures(history), ((0, 0), (0, 1)))
    critic.fit(TrainingSet(history.features, targets, np.ones(len(targets))), choose=True, choose_scales=True)
    return critic


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 47])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(Team(**QUICKER), budget, problem)) == budget


@pytest.mark.parametrize("objective", ["latency", "energy", "area", "power", "energy + 0.25 * latency"])
def test_any_objective_is_learned(objective: str) -> None:
    problem = Problem(load_layer("resnet50:layer1.0.conv3"), PRESETS["edge-small"], objective, "maestro")
    losses = run(Team(**QUICKER), 50, problem).evaluations().loss
    assert losses.min() <= run(Random(), 1000, problem).evaluations().loss.min()


def test_with_few_samples_it_beats_the_same_without_learning() -> None:
    """From random points, as templates alone are better than those; `prove_searchers.py` has the defaults."""
    assert_better_than_without_learning([run(Team(**QUICKER, initial_design="random"), 60)])


def assert_better_than_without_learning(records: list[Record]) -> None:
    """In the median of these seeds 60 samples come nearer than local search, and than teams by chance."""
    others = Local(), Team(**QUICKER, policy="uniform", initial_design="random")
    ours = np.median([record.evaluations().loss[:60].min() for record in records])
    local, uniform = (
        np.median([run(one, 60, seed=seed).evaluations().loss.min() for seed in range(len(records))])
        for one in others
    )
    assert ours < 0.85 * local
    assert ours < 0.6 * uniform


def test_a_depthwise_layer_is_searched_too() -> None:
    layer, accelerator = landscapes.DEPTHWISE, PRESETS["eyeriss-small"]
    problem = Problem(layer, accelerator, "edp", "maestro")
    best = [run(searcher, 80, problem).evaluations().loss.min() for searcher in (Team(**QUICKER), Random())]
    assert best[0] < best[1]


def test_where_nothing_is_feasible_it_goes_towards_what_fits() -> None:
    needed, anywhere = (
        run(searcher, 100, landscapes.infeasible()).evaluations().l1_size
        for searcher in (Team(**QUICKER), Random())
    )
    assert np.median(needed[-50:]) < np.median(anywhere)


def test_where_all_is_refused_it_goes_on_to_other_points() -> None:
    assert len(np.unique(run(Team(**QUICKER), 80, landscapes.refused()).genes(), axis=0)) == 80


def test_no_mapping_is_evaluated_twice_and_a_small_space_is_seen_whole() -> None:
    genes = usual().genes()
    assert len(np.unique(SPACE.decode(genes).rows, axis=0)) == 120
    assert len(np.unique(run(Team(**QUICKER), 60, landscapes.small()).genes(), axis=0)) == 16


def test_a_smaller_budget_draws_the_beginning_of_a_larger_one() -> None:
    np.testing.assert_array_equal(run(Team(**QUICK), 40).genes(), usual().genes(0, 40))


def worked_example() -> np.ndarray:
    """A mapping of K 8 C 4 Y 6 X 6 with a filter of 3 by 3, on 8 PEs in clusters of 2."""
    outer = Level("K", ("K", "C", "Y", "X", "R", "S"), (2, 4, 3, 6, 3, 3))
    inner = Level("Y", ("C", "K", "X", "Y", "R", "S"), (2, 1, 1, 6, 3, 3))
    return MappingBatch.of([Mapping(outer, 2, inner)]).rows


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


def test_what_comes_anew_comes_in_every_turn_of_the_outer_loops() -> None:
    """Two turns of eight steps of 108 cycles: the tiles of a turn come in less, from a wide channel."""
    np.testing.assert_allclose(2.0 ** described(worked_example())[0, ANEW], 2 * 864, rtol=1e-5)
    inner_turns = described(worked_example(), lanes=1000)[0]
    np.testing.assert_allclose(2.0 ** inner_turns[ANEW], 2 * (288 + 160) / 4, rtol=1e-5)


def test_the_last_unit_is_not_counted_where_units_idle() -> None:
    """All four clusters work on eight filters; on six, three do, and inputs are the same for all."""
    all_at_work, one_idle = (
        2.0 ** described(worked_example(), sizes=(filters, 4, 6, 6))[0] for filters in (8, 6)
    )
    counted = all_at_work[[MOVED, SLID, LEFT]]
    np.testing.assert_allclose(all_at_work[UNCOUNTED : UNCOUNTED + 3], counted, rtol=1e-5)
    counted = one_idle[[MOVED, SLID, LEFT]] * [2 / 3, 1, 2 / 3]
    np.testing.assert_allclose(one_idle[UNCOUNTED : UNCOUNTED + 3], counted, rtol=1e-5)


def test_who_expects_nothing_has_the_counts_of_the_first_version() -> None:
    plain, informed = (Team(expert_prior=expert).features(SPACE) for expert in (False, True))
    genes = Choices(SPACE).sample(np.random.default_rng(0), 20)
    assert plain.addends < informed.addends
    width = plain(genes).shape[1]
    np.testing.assert_array_equal(plain(genes), informed(genes)[:, :width])
    assert [Team(expert_prior=expert).version for expert in (False, True)] == ["1", "2"]


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
