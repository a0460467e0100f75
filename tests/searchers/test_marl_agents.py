"""Clusters of correlated genes, the rewards of agents, and whole searches by MARL."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dse.core.evaluations import Criteria, Evaluations
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.gene_groups import cluster_genes, gene_correlations, gene_tree
from dse.search.record import COLUMNS, Record
from dse.search.run import Cell, run_cell
from dse.support.errors import InputError
from searchers.common.visited import Visited
from searchers.marl import MARL
from searchers.marl.agents import Agents
from searchers.marl.ppo import ObservationNormalizer, draw_actions
from searchers.marl.rewards import batch_advantages
from searchers.random import Random
from tests.searchers.marl_warm_up_cases import LAYER, PROBLEM, SMALL, run
from workloads import load_layer

ANY = Problem(load_layer("alexnet:conv3"), PRESETS["eyeriss"], "latency", "maestro", tiles="any")


TINY_BUFFERS = replace(PRESETS["eyeriss-small"], l1_size=1, l2_size=1)


HOPELESS = Problem(LAYER, TINY_BUFFERS, "edp", "maestro")


def fingerprint(record: Record) -> str:
    figures = [getattr(record.evaluations(), name).tobytes() for name in COLUMNS]
    return hashlib.sha256(record.genes().tobytes() + b"".join(figures)).hexdigest()


# The genes dealt to agents.


def test_correlated_genes_are_clustered_together() -> None:
    rng = np.random.default_rng(0)
    free = rng.integers(0, 10, (1000, 3))
    genes = np.stack([free[:, 0], free[:, 1], 9 - free[:, 0], free[:, 2], free[:, 1]], axis=1)
    matrix = gene_correlations(genes, rng.random(1000))
    assert matrix[0, 2] == pytest.approx(-1)
    assert matrix[1, 4] == pytest.approx(1)
    assert cluster_genes(matrix, 3).tolist() == [0, 1, 0, 2, 1]
    assert gene_tree(matrix).shape == (4, 4)


def test_correlations_are_those_of_the_best_points_alone() -> None:
    rng = np.random.default_rng(0)
    genes = rng.integers(0, 10, (200, 2))
    genes[:30, 1] = genes[:30, 0]
    losses = np.arange(200.0)
    assert gene_correlations(genes, losses)[0, 1] == pytest.approx(1)
    assert abs(gene_correlations(genes, losses[::-1].copy())[0, 1]) < 0.6
    assert gene_correlations(genes, losses, top=1.0)[0, 1] == pytest.approx(np.corrcoef(genes.T)[0, 1])


def test_infeasible_points_do_not_count() -> None:
    genes = np.random.default_rng(0).integers(0, 10, (100, 4))
    losses = np.full(100, np.inf)
    assert (gene_correlations(genes, losses) == np.eye(4)).all()
    losses[:40] = np.arange(40)
    # 15 % of the 40 that are feasible, not of all 100.
    assert gene_correlations(genes, losses) == pytest.approx(np.corrcoef(genes[:6].T))


def test_a_constant_gene_is_correlated_with_no_other() -> None:
    genes = np.random.default_rng(0).integers(0, 10, (100, 4))
    genes[:, 2] = 5
    matrix = gene_correlations(genes, np.arange(100.0))
    assert matrix[2].tolist() == [0, 0, 1, 0]
    assert np.isfinite(matrix).all()
    assert (gene_correlations(np.ones((9, 3), np.int64), np.arange(9.0)) == np.eye(3)).all()


@pytest.mark.parametrize("agents", range(1, 14))
def test_genes_are_cut_to_any_number_of_clusters_even_if_none_are_correlated(agents: int) -> None:
    labels = cluster_genes(np.eye(13), agents)
    assert np.unique(labels).tolist() == list(range(agents))
    # Labels count up in the order of the genes.
    firsts = [labels.tolist().index(label) for label in range(agents)]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("clusters", [0, 14])
def test_an_impossible_number_of_clusters_is_refused(clusters: int) -> None:
    with pytest.raises(InputError, match=f"at least 1 and at most 13, .* got {clusters}"):
        cluster_genes(np.eye(13), clusters)


# Rewards.


def batch(
    losses: list[float], l1: list[int] | None = None, reason: Reason = Reason.L1_TOO_SMALL
) -> Evaluations:
    """Evaluations of which only what rewards look at is there."""
    points = np.array(losses)
    return replace(
        Evaluations.zeros(len(losses)),
        loss=points,
        l1_size=np.array(l1 or [50] * len(losses)),
        l2_size=np.full(len(losses), 500),
        reason=np.where(np.isfinite(points), Reason.FEASIBLE, reason).astype(np.uint8),
        criteria=Criteria("edp", 1e9, np.array([100, 1000])),
    )


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_advantages_are_finite_and_ordered_as_the_losses(reward: Any) -> None:
    given = batch_advantages(batch([3.0, 1e-300, np.inf, 1e190, 2.0]), reward, 0.4)
    assert np.isfinite(given).all()
    assert given.mean() == pytest.approx(0, abs=1e-12)
    assert given.std() == pytest.approx(1)
    assert given.argmax() == 1
    assert (np.diff(given[[1, 4, 0, 3, 2]]) <= 1e-12).all()


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_advantages_that_are_not_normalised_differ_in_scale_alone(reward: Any) -> None:
    points = batch([3.0, 1.5, np.inf, 8.0, 2.0])
    plain = batch_advantages(points, reward, 0.4, normalise=False)
    given = batch_advantages(points, reward, 0.4)
    assert plain.mean() == pytest.approx(0, abs=1e-12)
    assert plain / plain.std() == pytest.approx(given)
    assert plain.std() != pytest.approx(1)


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
@pytest.mark.parametrize("loss", [np.inf, 1.0, 0.0])
def test_points_that_are_alike_teach_nothing(reward: Any, loss: float) -> None:
    assert not batch_advantages(batch([loss] * 8), reward, 0.25).any()


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_of_infeasible_points_the_nearest_to_fitting_is_best(reward: Any) -> None:
    given = batch_advantages(batch([np.inf] * 4, [300, 101, 5000, 200]), reward, 0.5)
    assert given.argmax() == 1
    assert given[3] > given[2]


def test_a_point_infeasible_for_another_reason_is_behind_those_that_are_too_large() -> None:
    given = batch_advantages(batch([1.0, np.inf], reason=Reason.ZERO_RUNTIME), "rank", 0.5)
    assert given.tolist() == [1, -1]


# The whole game.

ABLATIONS: tuple[dict[str, Any], ...] = (
    {"clipping": "joint"},
    {"actions": "gaussian"},
    {"actions": "gaussian", "clipping": "joint", "agents": 1},
    {"normalize_advantage": False},
)


@pytest.mark.parametrize(
    "problem", [PROBLEM, ANY, SMALL, HOPELESS], ids=["factors", "any", "small", "hopeless"]
)
@pytest.mark.parametrize("settings", ABLATIONS, ids=str)
def test_every_ablation_spends_the_whole_budget_inside_any_space(problem: Problem, settings: Any) -> None:
    with np.errstate(all="raise", under="ignore"):
        record = run(333, problem, **settings)
    assert len(record) == 333
    assert problem.space.contains(record.genes()).all()


def points_by(**settings: Any) -> np.ndarray:
    """Points drawn from a generator that, unlike a cell's, does not depend on the settings."""
    record = Record(13)
    with pytest.raises(BudgetExhausted):
        MARL(**settings).search(Evaluator(PROBLEM, 500, record=record), np.random.default_rng(7))
    return record.genes()


@pytest.mark.parametrize("settings", ABLATIONS, ids=str)
def test_every_ablation_changes_what_is_drawn(settings: Any) -> None:
    assert (points_by(**settings) != points_by()).any()


def test_a_single_agent_is_clipped_alike_alone_and_jointly() -> None:
    assert (points_by(agents=1, clipping="joint") == points_by(agents=1)).all()


def test_the_settings_by_default_are_the_mapper_as_published() -> None:
    """The digest was taken before there were other kinds of actions, of clipping, or of advantages.

    If it changes on purpose, every published record of `marl` has to be drawn again.
    """
    assert (
        hashlib.sha256(points_by().tobytes()).hexdigest()
        == "c46a28497c3910172dc13f89f6add294749a5d5196e43a67e3423355407e8c6d"
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_agents_come_to_agree_on_a_point_that_few_are_better_than(seed: int) -> None:
    losses = run(2000, seed=seed, patience=0, retries=0).evaluations().loss
    blind = run_cell(Cell(PROBLEM, "random", Random(), 0, 2000)).evaluations().loss
    assert np.median(losses[-200:]) < np.quantile(blind, 0.01)


def test_the_same_cell_draws_the_same_and_another_seed_does_not() -> None:
    again = [fingerprint(run(600, seed=seed, agents=3, warmup_samples=100)) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


def test_a_small_budget_is_the_beginning_of_a_large_one() -> None:
    assert (run(500).genes() == run(900).genes(0, 500)).all()


def test_fewer_mappings_than_samples_are_drawn_all_and_then_again() -> None:
    record = run(300, SMALL)
    assert len(np.unique(record.genes(), axis=0)) == SMALL.space.vectors


def test_mappings_drawn_before_are_drawn_again_as_often_as_allowed() -> None:
    rng = np.random.default_rng(0)
    space = PROBLEM.space
    policy = Agents(np.arange(13), space.sizes, 4, 8, rng).policy(np.zeros((32, 4)))
    visited = Visited(space)
    genes, repeated = draw_actions(policy, visited, 4, rng)
    assert repeated == 0
    assert len(np.unique(genes, axis=0)) == 32
    certain = replace(policy, probabilities=tuple(map(np.zeros_like, policy.probabilities)))
    for probabilities in certain.probabilities:
        probabilities[..., 0] = 1
    genes, repeated = draw_actions(certain, visited, 4, rng)
    assert not genes.any()
    assert repeated == 31
    assert draw_actions(certain, visited, 0, rng)[1] == 0


@pytest.mark.parametrize(("patience", "teams"), [(0, 1), (64, 5), (10_000, 1)])
def test_stale_agents_give_way_to_fresh_ones(
    patience: int, teams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr("searchers.marl.ppo.Agents", lambda *given: made.append(1) or Agents(*given))
    run(300, HOPELESS, batch_size=32, patience=patience)
    assert len(made) == teams


def test_points_without_figures_are_observed_as_average() -> None:
    figures = dict.fromkeys(("cycles", "energy_nj", "power", "area"))
    normalizer = ObservationNormalizer()
    seen = normalizer(SimpleNamespace(**{name: np.array([0, 0]) for name in figures}))  # type: ignore[arg-type]
    assert not seen.any()
    seen = normalizer(SimpleNamespace(**{name: np.array([0, 1, 100, 10]) for name in figures}))  # type: ignore[arg-type]
    assert not seen[0].any()
    assert np.isfinite(seen).all()
    assert (seen[1] < 0).all()
    assert (seen[2] > 0).all()
    assert seen[3] == pytest.approx(0)
