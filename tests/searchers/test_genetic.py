"""The genetic algorithm: what it breeds, and that DEAP's global random state is only borrowed."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator, Progress
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing import landscapes
from searchers.genetic import Genetic, mutate_genes
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


def run(searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0, observers=()) -> Record:
    record = Record(13)
    evaluate = Evaluator(problem, budget, record=record, observers=observers)
    with pytest.raises(BudgetExhausted):
        searcher.search(evaluate, np.random.default_rng(seed))
    return record


def batches(searcher: Genetic, budget: int, problem: Problem = PROBLEM) -> tuple[Record, list[int]]:
    """The record, and where each batch ends in it."""
    ends: list[int] = []
    record = run(searcher, budget, problem, observers=[lambda seen: ends.append(seen.samples)])
    return record, ends


@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 31, 1037])
def test_the_whole_budget_is_spent(problem: Problem, budget: int) -> None:
    assert len(run(Genetic(), budget, problem)) == budget


def test_where_nothing_is_feasible_it_goes_on_and_towards_what_fits() -> None:
    record = run(Genetic(), 2000, landscapes.infeasible())
    assert record.best is None
    needed = record.evaluations().l1_size
    assert np.median(needed[-500:]) < np.median(needed[:30])
    refused = run(Genetic(), 2000, landscapes.refused())
    assert len(np.unique(refused.genes(), axis=0)) > 1900


def test_it_beats_random_search_with_the_same_samples() -> None:
    best = [
        [run(searcher, 2000, seed=seed).evaluations().loss.min() for seed in range(3)]
        for searcher in (Genetic(), Random())
    ]
    assert np.median(best[0]) < 0.7 * np.median(best[1])


def test_each_generation_pays_for_its_children_but_not_for_its_elite() -> None:
    _, ends = batches(Genetic(population_size=20, elite=3, patience=0), 500)
    assert np.diff([0, *ends]).tolist() == [20, *[17] * 28, 4]


def test_children_without_mutation_have_genes_of_the_first_generation_alone() -> None:
    genes = run(Genetic(mutation_prob=0.0, retries=0, patience=0), 600).genes()
    for gene in range(13):
        assert set(genes[30:, gene]) <= set(genes[:30, gene])
    assert len(np.unique(genes, axis=0)) > 100


def test_without_crossover_and_mutation_children_are_copies() -> None:
    genes = run(Genetic(crossover_prob=0.0, mutation_prob=0.0, retries=0, patience=0), 300).genes()
    first = {tuple(one) for one in genes[:30].tolist()}
    assert {tuple(one) for one in genes[30:].tolist()} <= first


def test_the_elite_is_not_lost() -> None:
    """With children that are all mutated beyond recognition, the best found stays a parent."""
    searcher = Genetic(
        population_size=4,
        elite=1,
        tournament_size=50,
        crossover_prob=0.0,
        mutation_prob=0.1,
        retries=0,
        patience=0,
    )
    record = run(searcher, 400)
    genes, losses = record.genes(), record.evaluations().loss
    for start in range(4, 400, 3):
        best = genes[np.argmin(losses[:start])]
        if np.isfinite(losses[:start]).any():
            assert ((genes[start : start + 3] != best).sum(axis=1) <= 8).all()


def test_it_starts_anew_where_it_no_longer_improves() -> None:
    record, ends = batches(Genetic(population_size=10, elite=2, patience=4), 3000)
    losses, sizes = record.evaluations().loss, np.diff([0, *ends])
    begins = np.flatnonzero(sizes == 10)
    assert len(begins) > 10
    for first, last in itertools.pairwise(begins):
        best = [losses[ends[i] - sizes[i] : ends[i]].min() for i in range(first, last)]
        assert min(best[-4:]) >= min(best[:-4])


def test_mappings_are_not_drawn_twice_while_there_are_others() -> None:
    for retries, least, most in ((5, 0.99, 1.0), (0, 0.0, 0.9)):
        genes = run(Genetic(retries=retries), 3000).genes()
        distinct = len(np.unique(PROBLEM.space.decode(genes).rows, axis=0)) / 3000
        assert least <= distinct <= most


def test_a_gene_mutates_at_its_rate_by_one_or_to_any_value() -> None:
    chance, count = random.Random(1), 20_000
    individual = [5, 5, 0]
    changed, steps, low = 0, 0, []
    for _ in range(count):
        one = list(individual)
        assert mutate_genes(one, highest=[9, 9, 9], steps=[1.0, 0.0, 1.0], rate=0.2, chance=chance) == (one,)
        changed += one[0] != 5
        assert abs(one[0] - 5) <= 1
        steps += abs(one[1] - 5) > 1
        low.append(one[2])
    assert abs(changed / count - 0.2) < 0.02
    assert abs(steps / count - 0.2 * 7 / 10) < 0.02
    assert set(low) == {0, 1}


def test_the_global_generator_is_left_as_it_was_found() -> None:
    for stop in ("budget", "error"):
        random.seed(3)
        before, numpy_before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
        if stop == "budget":
            run(Genetic(), 500)
        else:
            with pytest.raises(ZeroDivisionError):
                run(Genetic(), 500, observers=[lambda seen: 1 // (seen.samples < 200)])
        assert random.getstate() == before
        assert np.random.get_state()[1].tolist() == numpy_before  # noqa: NPY002


def test_who_watches_may_use_the_global_generator_and_changes_nothing() -> None:
    seen: list[float] = []

    def meddle(_: Progress) -> None:
        seen.append(random.random())
        random.seed(len(seen))

    random.seed(0)
    expected = [random.random(), *(random.Random(i).random() for i in range(1, 4))]
    random.seed(0)
    watched = run(Genetic(), 2000, observers=[meddle])
    assert seen[:4] == expected
    assert (watched.genes() == run(Genetic(), 2000).genes()).all()


def test_two_searches_can_take_turns() -> None:
    alone, inner = run(Genetic(), 600, seed=2).genes(), []

    def nest(progress: Progress) -> None:
        if progress.samples > 100 and not inner:
            inner.append(run(Genetic(), 600, seed=2).genes())

    outer = run(Genetic(), 600, seed=2, observers=[nest])
    assert (inner[0] == alone).all()
    assert (outer.genes() == alone).all()


def test_deap_is_left_without_new_names() -> None:
    from deap import creator

    before = set(vars(creator))
    run(Genetic(), 100)
    assert set(vars(creator)) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population_size": 1}, "population_size must be at least 2, got 1"),
        ({"population_size": 2.5}, "population_size must be a whole number, got 2.5"),
        ({"population_size": 5, "elite": 5}, "elite must be less than the population of 5, got 5"),
        ({"elite": -1}, "elite must be at least 0, got -1"),
        ({"tournament_size": 0}, "tournament_size must be at least 1, got 0"),
        ({"crossover_prob": 1.5}, "crossover_prob must be between 0 and 1, got 1.5"),
        ({"swapping_prob": -0.5}, "swapping_prob must be between 0 and 1, got -0.5"),
        ({"mutation_prob": float("nan")}, "mutation_prob must be between 0 and 1, got nan"),
        ({"step_prob": 2}, "step_prob must be between 0 and 1, got 2"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
        ({"retries": -1}, "retries must be at least 0, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(Genetic(), **settings)
