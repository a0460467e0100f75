"""Iterated local search and the choices it goes by: blocks, sweeps, perturbations, no design twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing import landscapes
from searchers.common.choices import Choices
from searchers.local import Local
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
SPACE = PROBLEM.space
OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


def run(searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0) -> Record:
    record = Record(13)
    with pytest.raises(BudgetExhausted):
        searcher.search(Evaluator(problem, budget, record=record), np.random.default_rng(seed))
    return record


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 537])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(Local(), budget, problem)) == budget


def test_it_beats_random_search_with_the_same_samples() -> None:
    best = [
        [run(searcher, 1000, seed=seed).evaluations().loss.min() for seed in range(3)]
        for searcher in (Local(), Random())
    ]
    assert np.median(best[0]) < 0.7 * np.median(best[1])


def test_where_nothing_is_feasible_it_goes_on_and_towards_what_fits() -> None:
    needed = run(Local(patience=0), 1000, landscapes.infeasible()).evaluations().l1_size
    assert np.median(needed[-250:]) < np.median(needed[:16])
    refused = run(Local(), 1000, landscapes.refused())
    assert len(np.unique(refused.genes(), axis=0)) > 950


def test_no_mapping_is_visited_twice_but_by_a_perturbation() -> None:
    genes = run(Local(), 1500).genes()
    assert len(np.unique(SPACE.decode(genes).rows, axis=0)) > 0.98 * 1500


def test_a_small_space_is_seen_whole() -> None:
    problem = landscapes.small()
    genes = run(Local(), 100, problem).genes()
    assert len(np.unique(genes, axis=0)) == problem.space.mappings == 16


def test_without_far_values_a_sweep_goes_by_single_moves() -> None:
    """Of points after the first descent's start, each is one block away from one drawn before."""
    genes = run(Local(neighbour_share=1.0, candidates=2, patience=0), 60).genes()
    chosen = [np.isin(np.arange(13), block.genes) for block in SPACE.blocks]
    for row in range(17, 40):
        differs = genes[:row] != genes[row]
        assert any((~differs[:, ~block]).all(axis=1).any() for block in chosen)


def test_it_starts_anew_where_perturbations_no_longer_help() -> None:
    """On a flat landscape no perturbation helps: the batches of random points come again and again."""
    ends: list[int] = []
    evaluate = Evaluator(landscapes.refused(), 3000, observers=[lambda seen: ends.append(seen.samples)])
    with pytest.raises(BudgetExhausted):
        Local(patience=2).search(evaluate, np.random.default_rng(0))
    assert (np.diff([0, *ends]) == Local().n_startup_trials).sum() > 10


def test_choices_list_every_mapping_of_a_block_once() -> None:
    choices, rng = Choices(SPACE), np.random.default_rng(0)
    vector = choices.sample(rng, 1)
    changes, origins = choices.changes(vector, rng, 10_000, choices.blocks)
    assert (origins == 0).all()
    values = {"outer.order": 24, "inner.order": 24, "parallel": 16, "cluster": 16}
    for block in choices.blocks:
        others = np.delete(np.arange(13), block.genes)
        ours = changes[(changes[:, others] == vector[:, others]).all(axis=1)]
        distinct = np.unique(SPACE.decode(ours).rows, axis=0)
        size = SPACE.layer.loops.get(block.name.removeprefix("tile."), 0)
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        expected = values.get(block.name) or sum(sum(d % e == 0 for e in divisors) for d in divisors)
        assert len(distinct) == expected
    np.testing.assert_array_equal(changes, SPACE.encode(SPACE.decode(changes)))


def test_too_many_values_are_drawn_and_stay_in_the_block() -> None:
    problem = Problem(
        load_layer("bert_base:intermediate"), PRESETS["edge"], cost_model="maestro", tiles="any"
    )
    choices, rng = Choices(problem.space), np.random.default_rng(0)
    vectors = choices.sample(rng, 3)
    changes, origins = choices.changes(vectors, rng, 12, choices.blocks)
    assert problem.space.contains(changes).all()
    assert (np.bincount(origins) == len(changes) / 3).all()
    blocks = [set(block.genes) for block in choices.blocks]
    for change, origin in zip(changes, origins, strict=True):
        differing = set(np.flatnonzero(change != vectors[origin]).tolist())
        assert any(differing <= block for block in blocks)


def test_blocks_without_a_choice_are_left_out() -> None:
    names = [block.name for block in Choices(landscapes.small().space).blocks]
    assert names == ["parallel"]
    assert Choices(landscapes.single().space).blocks == ()
    nothing, _ = Choices(landscapes.single().space).changes(np.zeros((2, 13), np.int64), None, 9, ())
    assert nothing.shape == (0, 13)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_startup_trials": 0}, "n_startup_trials must be at least 1, got 0"),
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"neighbour_share": 1.5}, "neighbour_share must be between 0 and 1, got 1.5"),
        ({"perturbation": 1}, "perturbation must be at least 2, got 1"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(Local(), **settings)
