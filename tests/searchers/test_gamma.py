"""GAMMA: its operators know the parts of a mapping, and its preset `paper` has the published rates."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS as ACCELERATORS
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES, ORDERS
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.testing import landscapes
from dse.testing.toy_problem import HEIGHT, ORDER, WIDTH, ToySpace
from dse.testing.toy_problem import ORDERS as TOY_ORDERS
from searchers.gamma import PRESETS, Gamma, breed_children
from searchers.gamma.operators import Operators
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), ACCELERATORS["eyeriss-small"], "edp", "maestro")
SPACE = PROBLEM.space
OPERATORS = Operators(SPACE)
ANY = replace(PROBLEM, tiles="any").space
PLACE = {name: index for index, name in enumerate(GENE_NAMES)}
OTHERS = [landscapes.any_tiles(), landscapes.small(), landscapes.single(), landscapes.infeasible()]


def run(searcher, budget: int, problem: Problem = PROBLEM, seed: int = 0, observers=()) -> Record:
    record = Record(len(problem.space.genes))
    evaluate = Evaluator(problem, budget, record=record, observers=observers)
    with pytest.raises(BudgetExhausted):
        searcher.search(evaluate, np.random.default_rng(seed))
    return record


def tiles(space: MappingSpace, genes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outer and inner tiles of K C Y X: (n, 4) each."""
    rows = space.decode(genes).rows
    return rows[:, 7:11], rows[:, 21:25]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "problem", [PROBLEM, *OTHERS], ids=["factors", "any", "small", "single", "infeasible"]
)
@pytest.mark.parametrize("budget", [1, 1037])
def test_the_whole_budget_is_spent(preset: str, problem: Problem, budget: int) -> None:
    assert len(run(Gamma(preset), budget, problem)) == budget


@pytest.mark.parametrize("preset", PRESETS)
def test_it_beats_random_search_with_the_same_samples(preset: str) -> None:
    best = [
        [run(searcher, 2000, seed=seed).evaluations().loss.min() for seed in range(3)]
        for searcher in (Gamma(preset), Random())
    ]
    assert np.median(best[0]) < 0.7 * np.median(best[1])


def test_the_paper_preset_has_the_published_rates() -> None:
    assert dataclasses.asdict(Gamma(preset="paper")) == {
        "preset": "paper",
        "population_size": 20,
        "parents": 0.4,
        "elite": 0.05,
        "tile_crossover_prob": 0.57,
        "reorder_prob": 0.47,
        "tile_mutation_prob": 0.53,
        "loci": 3,
        "parallel_mutation_prob": 0.1,
        "small_step_prob": 0.0,
        "rank_infeasible": False,
        "patience": 0,
        "retries": 0,
    }


def test_a_rate_that_is_given_replaces_the_presets() -> None:
    made = make_searcher("gamma", {"preset": "paper", "reorder_prob": 0.0, "population_size": 50})
    assert made == Gamma(preset="paper", reorder_prob=0.0, population_size=50)
    assert made.rates == replace(PRESETS["paper"], reorder_prob=0.0, population_size=50)


def test_the_paper_preset_pays_for_twenty_children_a_generation() -> None:
    ends: list[int] = []
    run(Gamma(preset="paper"), 410, observers=[lambda seen: ends.append(seen.samples)])
    assert ends == [*range(20, 401, 20), 410]


def test_the_paper_preset_starts_anew_until_something_is_feasible() -> None:
    genes, rng = run(Gamma(preset="paper"), 100, landscapes.infeasible()).genes(), np.random.default_rng(0)
    space = landscapes.infeasible().space
    assert (genes == np.concatenate([space.sample(rng, 20) for _ in range(5)])).all()


def test_the_tuned_preset_goes_towards_what_fits() -> None:
    needed = run(Gamma(), 2000, landscapes.infeasible()).evaluations().l1_size
    assert np.median(needed[-500:]) < np.median(needed[:20])


def test_two_parents_exchange_one_dims_tiles_at_both_levels() -> None:
    rng = np.random.default_rng(0)
    parents = SPACE.sample(rng, 2)
    dims = set()
    for _ in range(40):
        first, second = OPERATORS.cross(parents, 2, 1.0, rng)
        mother, father = parents if first[0] == parents[0, 0] else parents[::-1]
        swapped = np.flatnonzero(first != mother)
        dim = {GENE_NAMES[place].rsplit(".", 1)[-1] for place in swapped}
        assert len(dim) == 1
        dims |= dim
        both = [PLACE[f"{level}.tile.{next(iter(dim))}"] for level in ("outer", "inner")]
        assert set(swapped) <= set(both)
        assert (first[both] == father[both]).all()
        assert (second[both] == mother[both]).all()
        others = np.setdiff1d(np.arange(len(SPACE.genes)), both)
        assert (second[others] == father[others]).all()
    assert dims == set("KCYX")


def test_without_crossover_children_are_their_parents() -> None:
    rng = np.random.default_rng(0)
    parents = SPACE.sample(rng, 5)
    children = OPERATORS.cross(parents, 7, 0.0, rng)
    assert len(children) == 7
    assert {tuple(child) for child in children.tolist()} <= {tuple(one) for one in parents.tolist()}
    assert all((children[i] != children[i + 1]).any() for i in (0, 2, 4))


def test_a_single_parent_has_children_too() -> None:
    rng = np.random.default_rng(0)
    parents = SPACE.sample(rng, 1)
    assert (OPERATORS.cross(parents, 4, 1.0, rng) == parents).all()


def test_two_loops_of_one_level_change_places() -> None:
    rng = np.random.default_rng(0)
    before = SPACE.sample(rng, 500)
    after = before.copy()
    OPERATORS.reorder(after, np.arange(500) < 400, rng)
    assert (after[400:] == before[400:]).all()
    changed = after != before
    assert (changed[:400].sum(axis=1) == 1).all()
    assert set(np.flatnonzero(changed.any(axis=0))) == {PLACE["outer.order"], PLACE["inner.order"]}
    for child, gene in np.argwhere(changed):
        orders = ORDERS[before[child, gene]], ORDERS[after[child, gene]]
        assert sum(one != other for one, other in zip(*orders, strict=True)) == 2


def test_a_fixed_order_stays() -> None:
    rng = np.random.default_rng(0)
    for fixed, moved in (
        ({"outer.order": "CKXY"}, {PLACE["inner.order"]}),
        ({"outer.order": "CKXY", "inner.order": "KCYX"}, set()),
        ({"outer.order": "CKXY", "inner.order": ["KCYX", "XYCK", "YXKC", "CKYX"]}, {PLACE["inner.order"]}),
    ):
        space = MappingSpace(PROBLEM.layer, PROBLEM.accelerator, fixed=fixed)
        before = space.sample(rng, 100)
        after = before.copy()
        Operators(space).reorder(after, np.ones(100, bool), rng)
        assert set(np.flatnonzero((after != before).any(axis=0))) == moved
        assert (after < space.sizes).all()


def test_levels_exchange_their_parallel_dims_where_both_are_free() -> None:
    rng = np.random.default_rng(0)
    before = SPACE.sample(rng, 50)
    after = before.copy()
    OPERATORS.exchange_parallel(after, np.arange(50) < 30)
    both = [PLACE["outer.parallel"], PLACE["inner.parallel"]]
    assert (after[:30][:, both] == before[:30][:, both[::-1]]).all()
    assert (after[30:] == before[30:]).all()
    fixed = MappingSpace(PROBLEM.layer, PROBLEM.accelerator, fixed={"outer.parallel": "C"})
    genes = fixed.sample(rng, 50)
    kept = genes.copy()
    Operators(fixed).exchange_parallel(kept, np.ones(50, bool))
    assert (kept == genes).all()


@pytest.mark.parametrize("space", [SPACE, ANY], ids=["factors", "any"])
def test_a_mutation_changes_one_place_and_repairs_the_inner_tile(space: MappingSpace) -> None:
    rng = np.random.default_rng(0)
    before = space.canonical(space.sample(rng, 3000))
    after = Operators(space).mutate(before, rng)
    outer, inner = tiles(space, before)
    new_outer, new_inner = tiles(space, after)
    resized, recut = new_outer != outer, new_inner != inner
    assert ((resized | recut).sum(axis=1) <= 1).all()
    fitted = np.gcd(inner, new_outer) if space is SPACE else np.minimum(inner, new_outer)
    assert (new_inner[resized] == fitted[resized]).all()
    assert (new_inner[resized] == inner[resized]).any()
    assert (new_inner[resized] != inner[resized]).any()
    others = (after != before)[:, [PLACE[name] for name in ("outer.parallel", "inner.parallel", "cluster")]]
    elsewhere = (resized | recut).any(axis=1)
    assert not (others.any(axis=1) & elsewhere).any()
    assert not (others[:, 0] & others[:, 1:].any(axis=1)).any()
    orders = [PLACE["outer.order"], PLACE["inner.order"]]
    assert (after[:, orders] == before[:, orders]).all()
    for places in (resized, recut, others):
        assert places.any(axis=0).all()


def test_a_mutation_keeps_to_what_is_free() -> None:
    fixed = {"outer.tile.K": 64, "inner.tile.C": 4, "outer.parallel": "K", "inner.parallel": "C"}
    problem = replace(PROBLEM, fixed=fixed)
    rng = np.random.default_rng(0)
    before = problem.space.canonical(problem.space.sample(rng, 2000))
    after = Operators(problem.space).mutate(before, rng)
    assert problem.space.contains(after).all()
    changed = {GENE_NAMES[gene] for gene in np.flatnonzero((after != before).any(axis=0))}
    assert changed == {
        *("outer.tile.C", "outer.tile.Y", "outer.tile.X"),
        *("inner.tile.K", "inner.tile.Y", "inner.tile.X", "cluster"),
    }


def test_a_space_of_one_mapping_has_no_mutants() -> None:
    space = landscapes.single().space
    genes = space.sample(np.random.default_rng(0), 3)
    assert (Operators(space).mutate(genes, np.random.default_rng(0)) == genes).all()


def test_without_a_mapping_a_mutation_draws_one_gene_anew_and_no_order() -> None:
    space, rng = ToySpace(), np.random.default_rng(0)
    before = space.sample(rng, 2000)
    after = Operators(space).mutate(before, rng)
    assert space.contains(after).all()
    changed = after != before
    assert changed.sum(axis=1).max() == 1
    free = [place for place, gene in enumerate(space.genes) if gene.size > 1 and gene.kind != "permutation"]
    assert np.flatnonzero(changed.any(axis=0)).tolist() == free


def test_without_a_mapping_parents_exchange_a_block_of_sizes_and_orders_swap_two() -> None:
    space, rng = ToySpace(), np.random.default_rng(0)
    operators, parents = Operators(space), ToySpace().sample(rng, 2)
    first, _ = operators.cross(parents, 2, 1.0, rng)
    mother, father = parents if first[ORDER] == parents[0, ORDER] else parents[::-1]
    assert (first[[WIDTH, HEIGHT]] == father[[WIDTH, HEIGHT]]).all()
    assert set(np.flatnonzero(first != mother)) <= {WIDTH, HEIGHT}
    after = parents.copy()
    operators.reorder(after, np.array([True, False]), rng)
    assert (TOY_ORDERS[after[:, ORDER]] != TOY_ORDERS[parents[:, ORDER]]).sum(axis=1).tolist() == [2, 0]
    operators.exchange_parallel(after, np.array([True, True]))
    assert (np.delete(after, ORDER, axis=1) == np.delete(parents, ORDER, axis=1)).all()


def test_the_rates_are_those_of_the_children() -> None:
    rng = np.random.default_rng(0)
    quiet = replace(
        PRESETS["paper"],
        population_size=4000,
        tile_crossover_prob=0.0,
        tile_mutation_prob=0.0,
        reorder_prob=0.0,
    )
    parent = SPACE.canonical(SPACE.sample(rng, 1))
    parent[:, [PLACE["outer.parallel"], PLACE["inner.parallel"]]] = 0, 1

    def share(**rates: float) -> float:
        children = breed_children(parent, replace(quiet, parallel_mutation_prob=0.0, **rates), OPERATORS, rng)
        return float((children != parent).any(axis=1).mean())

    assert share() == 0
    assert abs(share(reorder_prob=0.47) - 0.47) < 0.03
    assert abs(share(tile_mutation_prob=0.53, small_step_prob=1.0, loci=1) - 0.53) < 0.03
    # A place that is drawn anew may be drawn as it was.
    assert 0.3 < share(tile_mutation_prob=0.53, loci=1) < 0.5
    swapped = breed_children(parent, replace(quiet, parallel_mutation_prob=0.1), OPERATORS, rng)
    assert abs((swapped != parent).any(axis=1).mean() - 0.1) < 0.02


def test_small_steps_are_the_moves_of_the_space() -> None:
    rng = np.random.default_rng(0)
    rates = replace(
        PRESETS["tuned"], population_size=200, tile_crossover_prob=0.0, reorder_prob=0.0,
        parallel_mutation_prob=0.0, tile_mutation_prob=1.0, loci=1, small_step_prob=1.0,
    )  # fmt: skip
    parent = SPACE.canonical(SPACE.sample(rng, 1))
    moves = np.concatenate([block.neighbours(parent[0]) for block in SPACE.blocks])
    children = breed_children(parent, rates, OPERATORS, rng)
    assert {tuple(child) for child in children.tolist()} <= {tuple(move) for move in moves.tolist()}


def test_the_best_of_all_lives_on_until_it_starts_anew() -> None:
    """With one parent a generation, all children are close to the best so far."""
    searcher = Gamma(preset="paper", parents=0.05, tile_mutation_prob=0.2, loci=1)
    record = run(searcher, 1000)
    genes, losses = record.genes(), record.evaluations().loss
    for start in range(20, 1000, 20):
        if np.isfinite(losses[:start]).any():
            best = genes[np.argmin(losses[:start])]
            best_rows = SPACE.decode(best[np.newaxis]).rows
            same = (SPACE.decode(genes[start : start + 20]).rows == best_rows).mean(axis=1)
            assert np.median(same) > 0.85


def test_it_starts_anew_where_it_no_longer_improves() -> None:
    """A generation that shares nothing with the best is a random one: they come again and again."""
    far = []
    for patience in (5, 0):
        record = run(Gamma(patience=patience), 4000)
        rows, losses = SPACE.decode(record.genes()).rows, record.evaluations().loss
        generations = range(200, 4000, 20)
        same = [(rows[start : start + 20] == rows[np.argmin(losses[:start])]).mean() for start in generations]
        far.append(sum(share < 0.6 for share in same))
    assert far[0] > 10
    assert far[1] == 0


def test_mappings_are_not_drawn_twice_while_there_are_others() -> None:
    for retries, least, most in ((5, 0.99, 1.0), (0, 0.0, 0.95)):
        genes = run(Gamma(retries=retries), 3000).genes()
        distinct = len(np.unique(SPACE.decode(genes).rows, axis=0)) / 3000
        assert least <= distinct <= most


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "papr"}, "unknown preset 'papr'; did you mean 'paper'?"),
        ({"population_size": 1}, "population_size must be at least 2, got 1"),
        ({"parents": 0.0}, "parents must be above 0 and at most 1, got 0.0"),
        ({"elite": 1.5}, "elite must be above 0 and at most 1, got 1.5"),
        ({"tile_crossover_prob": -0.1}, "tile_crossover_prob must be between 0 and 1, got -0.1"),
        ({"reorder_prob": math.nan}, "reorder_prob must be between 0 and 1, got nan"),
        ({"tile_mutation_prob": 2}, "tile_mutation_prob must be between 0 and 1, got 2"),
        ({"loci": -1}, "loci must be at least 0, got -1"),
        ({"parallel_mutation_prob": 1.1}, "parallel_mutation_prob must be between 0 and 1, got 1.1"),
        ({"small_step_prob": "often"}, "small_step_prob must be between 0 and 1, got 'often'"),
        ({"rank_infeasible": 1}, "rank_infeasible must be true or false, got 1"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
        ({"retries": 0.5}, "retries must be a whole number, got 0.5"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        Gamma(**settings)
