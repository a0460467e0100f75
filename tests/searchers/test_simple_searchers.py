"""Random search, walkers and the grid: what each promises of the points it draws."""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.record import COLUMNS, Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import Searcher
from dse.support.errors import InputError
from searchers.grid import Grid, even_stride, lattice_points, pair_unevenness
from searchers.random import Random
from searchers.walk import Walk
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")
HUGE = Problem(load_layer("bert_base:0"), PRESETS["edge"], "latency", "maestro", tiles="any")
SMALL = Problem(
    load_layer("resnet18:1"),
    PRESETS["edge"],
    cost_model="maestro",
    fixed={gene.name: "KCYX" for gene in PROBLEM.space.genes if gene.kind == "permutation"}
    | {f"{level}.tile.{dim}": 1 for level in ("outer", "inner") for dim in "KC"}
    | {"outer.parallel": "K", "cluster": 16},
)
ONE = Problem(
    load_layer("resnet18:1"),
    PRESETS["edge"],
    cost_model="maestro",
    fixed={
        gene.name: {"permutation": "KCYX", "categorical": "K", "ordinal": 1}[gene.kind]
        for gene in PROBLEM.space.genes
    },
)
SEARCHERS: dict[str, Searcher] = {"random": Random(), "walk": Walk(), "grid": Grid()}


def run(name: str, budget: int, problem: Problem = PROBLEM, seed: int = 0, **settings) -> Record:
    searcher = replace(SEARCHERS[name], **settings)
    return run_cell(Cell(problem, name, searcher, seed, budget))


def fingerprint(record: Record) -> str:
    figures = [getattr(record.evaluations(), name).tobytes() for name in COLUMNS]
    return hashlib.sha256(record.genes().tobytes() + b"".join(figures)).hexdigest()


@pytest.mark.parametrize("name", SEARCHERS)
@pytest.mark.parametrize("problem", [PROBLEM, HUGE, SMALL, ONE], ids=["factors", "any", "small", "one point"])
@pytest.mark.parametrize("budget", [1, 1037])
def test_the_whole_budget_is_spent_inside_any_space(name: str, problem: Problem, budget: int) -> None:
    record = run(name, budget, problem)
    assert len(record) == budget
    assert problem.space.contains(record.genes()).all()


@pytest.mark.parametrize("name", SEARCHERS)
def test_the_same_cell_draws_the_same_and_another_seed_does_not(name: str) -> None:
    again = [fingerprint(run(name, 3000, seed=seed)) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize("name", SEARCHERS)
def test_a_smaller_budget_draws_the_beginning_of_a_larger_one(name: str) -> None:
    np.testing.assert_array_equal(run(name, 700).genes(), run(name, 3000).genes(0, 700))


@pytest.mark.parametrize("name", SEARCHERS)
def test_global_random_states_are_left_alone(name: str) -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    run(name, 500)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_random_search_draws_every_value_alike() -> None:
    genes = run("random", 20_000).genes()
    for gene, size in enumerate(PROBLEM.space.sizes):
        counts, expected = np.bincount(genes[:, gene], minlength=size), 20_000 / size
        assert ((counts - expected) ** 2 / expected).sum() < size + 6 * math.sqrt(2 * size)


def test_random_search_draws_what_the_space_samples() -> None:
    cell = Cell(PROBLEM, "random", Random(), 0, 2000)
    rng = cell.rng()
    expected = np.concatenate([PROBLEM.space.sample(rng, 1024) for _ in range(2)])[:2000]
    np.testing.assert_array_equal(run_cell(cell).genes(), expected)


def test_a_walker_goes_by_single_steps_until_it_starts_again() -> None:
    record = run("walk", 3000, n_walkers=1, patience=40)
    genes, losses = record.genes(), record.evaluations().loss
    here, idle, restarts = 0, 0, 0
    for i in range(1, len(genes)):
        if idle == 40:
            here, idle, restarts = i, 0, restarts + 1
            continue
        steps = np.concatenate([block.neighbours(genes[here]) for block in PROBLEM.space.blocks])
        mapping = PROBLEM.space.decode(genes[i : i + 1]).rows
        assert (PROBLEM.space.decode(steps).rows == mapping).all(axis=1).any()
        idle = 0 if losses[i] < losses[here] else idle + 1
        if losses[i] <= losses[here]:
            here = i
    assert restarts > 3


def test_walkers_find_better_points_than_random_search_with_the_same_samples() -> None:
    best = {
        name: [run(name, 2000, seed=seed).evaluations().loss.min() for seed in range(5)]
        for name in ("walk", "random")
    }
    assert np.median(best["walk"]) < 0.95 * np.median(best["random"])


def test_a_blind_walker_takes_every_step() -> None:
    record = run("walk", 400, n_walkers=1, patience=1000, uphill_prob=1.0)
    genes = record.genes()
    for i in range(1, 400):
        steps = np.concatenate([block.neighbours(genes[i - 1]) for block in PROBLEM.space.blocks])
        assert (
            (PROBLEM.space.decode(steps).rows == PROBLEM.space.decode(genes[i : i + 1]).rows)
            .all(axis=1)
            .any()
        )


class NothingFeasible:
    """A problem where every point is infeasible."""

    space, objective, criteria = PROBLEM.space, "edp", PROBLEM.criteria

    def price(self, genes: np.ndarray) -> Evaluations:
        real = PROBLEM.price(genes)
        return replace(real, loss=np.full(len(genes), np.inf), reason=np.full(len(genes), 32, np.uint8))


@pytest.mark.parametrize("name", SEARCHERS)
def test_nothing_feasible_is_survived(name: str) -> None:
    from dse.search.evaluator import BudgetExhausted, Evaluator

    record = Record(13)
    with pytest.raises(BudgetExhausted):
        SEARCHERS[name].search(Evaluator(NothingFeasible(), 2000, record=record), np.random.default_rng(0))
    assert len(record) == 2000
    assert record.best is None
    assert len(np.unique(record.genes(), axis=0)) > 1000


def test_the_grid_visits_every_point_of_a_small_space_once_before_any_again() -> None:
    total = SMALL.space.vectors
    assert 1000 < total < 20_000
    genes = run("grid", 2 * total, SMALL).genes()
    assert len(np.unique(genes[:total], axis=0)) == total
    np.testing.assert_array_equal(genes[total:], genes[:total])


def test_the_grid_of_a_huge_space_repeats_no_point() -> None:
    assert HUGE.space.vectors > 10**19
    assert len(np.unique(run("grid", 20_000, HUGE).genes(), axis=0)) == 20_000


@pytest.mark.parametrize("layer", ["resnet18:1", "alexnet:1", "resnet50:5", "bert_base:0"])
@pytest.mark.parametrize("budget", [500, 2000, 20_000])
def test_the_grid_covers_the_values_of_each_gene_more_evenly_than_chance(layer: str, budget: int) -> None:
    problem = Problem(load_layer(layer), PRESETS["eyeriss"], "latency", "maestro")
    sizes, deviations = problem.space.sizes, {}
    for name in ("grid", "random"):
        genes = run(name, budget, problem).genes()
        shares = [
            np.bincount(genes[:, i], minlength=size) * size / budget
            for i, size in enumerate(sizes)
            if size > 1
        ]
        deviations[name] = max(abs(share - 1).max() for share in shares)
    assert deviations["grid"] < 0.6 * deviations["random"]


def test_the_grid_covers_pairs_of_genes_evenly_too() -> None:
    for layer in ("resnet18:1", "alexnet:1", "bert_base:0"):
        sizes = tuple(Problem(load_layer(layer), PRESETS["edge"], cost_model="maestro").space.sizes.tolist())
        chosen = pair_unevenness(lattice_points(0, even_stride(sizes), 2000, sizes), sizes)
        golden = math.prod(sizes) * 61803398875 // 10**11
        assert chosen < pair_unevenness(lattice_points(0, golden, 2000, sizes), sizes)


def test_the_digits_of_the_grid_are_those_of_its_numbers() -> None:
    sizes = (24, 4, 2**40, 7, 1, 2**35)
    genes = lattice_points(10**25, 10**24 + 7, 5, sizes)
    for step in range(5):
        number = 0
        for digit, size in zip(genes[step].tolist(), sizes, strict=True):
            assert 0 <= digit < size
            number = number * size + digit
        assert number == (10**25 + step * (10**24 + 7)) % math.prod(sizes)


def test_grids_of_two_seeds_begin_at_different_corners() -> None:
    corners = {tuple(run("grid", 1, seed=seed).genes()[0].tolist()) for seed in range(20)}
    assert len(corners) == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Random(batch_size=0), "batch_size must be at least 1, got 0"),
        (lambda: Grid(batch_size=-3), "batch_size must be at least 1, got -3"),
        (lambda: Walk(n_walkers=0), "n_walkers must be at least 1, got 0"),
        (lambda: Walk(patience=0), "patience must be at least 1, got 0"),
        (lambda: Walk(uphill_prob=1.5), "uphill_prob must be between 0 and 1, got 1.5"),
        (lambda: Walk(uphill_prob=float("nan")), "uphill_prob must be between 0 and 1, got nan"),
    ],
)
def test_settings_out_of_range_are_refused(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
