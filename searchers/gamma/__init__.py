"""GAMMA: a genetic algorithm whose operators know what the parts of a mapping are.

Kao and Krishna, "GAMMA: Automating the HW Mapping of DNN Models on Accelerators via Genetic Algorithm" (ICCAD
2020), and the authors' program, github.com/maestro-project/gamma, from which `preset="paper"` has its rates.
Each generation is bred from the best of the last and its children: two parents exchange one dim's tiles at
both levels; loops change places; tiles, parallel dims and the cluster size mutate; the levels exchange their
parallel dims; and inner tiles are repaired that no longer fit in their outer ones.

Departures, in either preset: mappings have two levels, so none is born or dies; R and S stay whole; the
cluster size divides the PEs; a repaired inner tile is the greatest common divisor of both (with tiles of any
size, the smaller, as published); the elite is not evaluated again. In the preset `tuned`,
moreover: part of the mutations are small steps; infeasible mappings compete by how far they exceed the
buffers; a mapping drawn before takes a small step; and where it no longer improves it starts anew.

It uses the structure of mappings, where a space has it: the cluster size mutates with the inner parallel dim,
and inner tiles are repaired. Of mappings onto any number of levels, a factor is drawn anew and the tiles
inside of it are kept where they still divide. In any other space a mutation draws one gene anew, what two
parents exchange is a block of sizes (or, where there is none, any block), loops are whatever an order gene
puts in order, and exchanged parallel dims are the choices of a block whose genes are alike.

The preset `tuned` was chosen among 20 settings on the problems of results/campaigns/dev8.toml: the geometric
mean over them of the median best loss of 10 seeds is 1.19, 1.04, 1.02 and 1.004 times the best known at 500,
2,000, 5,000 and 20,000 samples. The preset `paper` has 1.29, 1.06, 1.03 and 1.02.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import whole_number
from searchers.common.scores import penalised_losses
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, check_probability, check_share
from searchers.common.visited import Visited
from searchers.gamma.operators import Operators

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator, Known


@dataclass(frozen=True)
class Rates:
    """How a population is bred. `Of ..., to ...` is the probability of that; shares are of the population."""

    population_size: int
    """Children in a generation."""
    parents: float
    """The share of the best that has children."""
    elite: float
    """The share of the best, at least one, that lives on."""
    tile_crossover_prob: float
    """Of two parents, to exchange one dim's tiles, at both levels."""
    reorder_prob: float
    """Of a child, to have two loops of one level change places."""
    tile_mutation_prob: float
    """Of each of a child's `loci`, to mutate: a tile, a parallel dim (the inner with the cluster size)."""
    loci: int
    """How many places of a child may mutate."""
    parallel_mutation_prob: float
    """Of a child, to have its two parallel dims exchanged."""
    small_step_prob: float
    """Of a mutation, to be one of the space's moves (as a prime factor from one tile to another)."""
    rank_infeasible: bool
    """Whether infeasible mappings compete. If not, they have no children; without others all starts anew."""
    patience: int
    """Generations without a better mapping after which a random population starts anew; 0: never."""
    retries: int
    """How often a mapping that was drawn before takes a small step away."""

    def __post_init__(self) -> None:
        whole_number(self.population_size, "population_size", least=2, most=MAX_POINTS)
        whole_number(self.loci, "loci", least=0, most=MAX_REPEATS)
        check_share(self.parents, "parents")
        check_share(self.elite, "elite")
        for name in (
            "tile_crossover_prob",
            "reorder_prob",
            "tile_mutation_prob",
            "parallel_mutation_prob",
            "small_step_prob",
        ):
            check_probability(getattr(self, name), name)
        if not isinstance(self.rank_infeasible, bool):
            raise InputError(f"rank_infeasible must be true or false, got {shorten(self.rank_infeasible)}")
        whole_number(self.patience, "patience", least=0)
        whole_number(self.retries, "retries", least=0, most=MAX_REPEATS)


PRESETS = {
    "tuned": Rates(
        population_size=20, parents=0.4, elite=0.05, tile_crossover_prob=0.57, reorder_prob=0.2,
        tile_mutation_prob=0.53, loci=2, parallel_mutation_prob=0.1, small_step_prob=0.7,
        rank_infeasible=True, patience=20, retries=5,
    ),
    "paper": Rates(
        population_size=20, parents=0.4, elite=0.05, tile_crossover_prob=0.57, reorder_prob=0.47,
        tile_mutation_prob=0.53, loci=3, parallel_mutation_prob=0.1, small_step_prob=0.0,
        rank_infeasible=False, patience=0, retries=0,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Gamma:
    """GAMMA, a genetic algorithm for mappings.

    It has the rates of a `preset`, `tuned` or `paper`, except for those that are given. What each means
    stands at Rates.
    """

    preset: str = "tuned"
    population_size: int | None = None
    parents: float | None = None
    elite: float | None = None
    tile_crossover_prob: float | None = None
    reorder_prob: float | None = None
    tile_mutation_prob: float | None = None
    loci: int | None = None
    parallel_mutation_prob: float | None = None
    small_step_prob: float | None = None
    rank_infeasible: bool | None = None
    patience: int | None = None
    retries: int | None = None

    aliases: ClassVar[Mapping[str, str]] = {
        "population": "population_size",
        "tile_crossover": "tile_crossover_prob",
        "reorder": "reorder_prob",
        "tile_mutation": "tile_mutation_prob",
        "parallel_mutation": "parallel_mutation_prob",
        "small_steps": "small_step_prob",
        "graded": "rank_infeasible",
    }
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise unknown_name("preset", self.preset, PRESETS)
        # The settings name a cell: they say what is done, not that it is as preset.
        for name, value in vars(PRESETS[self.preset]).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        _ = self.rates

    @property
    def rates(self) -> Rates:
        """The rates, the preset's filled in."""
        return Rates(**{item.name: getattr(self, item.name) for item in fields(Rates)})

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Breed generation after generation until the budget is spent."""
        visited, operators = Visited(evaluate.space), Operators(evaluate.space)
        visited.add(evaluate.known.genes)
        _evolve(self.rates, evaluate, rng, visited, operators, evaluate.known)
        while True:
            _evolve(self.rates, evaluate, rng, visited, operators)


def _evolve(
    rates: Rates,
    evaluate: Evaluator,
    rng: np.random.Generator,
    visited: Visited,
    operators: Operators,
    known: Known | None = None,
) -> None:
    """Breed from a random population, and what is known already, until that no longer helps."""
    space = evaluate.space
    living, losses = np.empty((0, len(space.sizes)), np.int64), np.empty(0)
    if known:
        living = known.genes
        losses = penalised_losses(known.evaluations) if rates.rank_infeasible else known.evaluations.loss
    children = space.sample(rng, max(rates.population_size - len(living), 1))
    best, idle = np.inf, 0
    while not rates.patience or idle <= rates.patience:
        children = visited.renew(children, lambda _, known: space.neighbour(rng, known), rates.retries)
        evaluations = evaluate(children)
        graded = penalised_losses(evaluations) if rates.rank_infeasible else evaluations.loss
        living, losses = np.concatenate([living, children]), np.concatenate([losses, graded])
        living, losses = _ranked(living, losses)
        parents = living[: max(1, round(rates.parents * rates.population_size))]
        if not rates.rank_infeasible:
            parents = parents[np.isfinite(losses[: len(parents)])]
        if not len(parents):
            return
        children = breed_children(parents, rates, operators, rng)
        idle = 0 if losses[0] < best else idle + 1
        best = losses[0]
        elite = max(1, round(rates.elite * rates.population_size))
        living, losses = living[:elite], losses[:elite]


def _ranked(genes: IntArray, losses: FloatArray) -> tuple[IntArray, FloatArray]:
    """The distinct points, the best first, and of equal ones the older."""
    _, first = np.unique(genes, axis=0, return_index=True)
    order = first[np.lexsort((first, losses[first]))]
    return genes[order], losses[order]


def breed_children(
    parents: IntArray, rates: Rates, operators: Operators, rng: np.random.Generator
) -> IntArray:
    """A generation of children: (population, genes)."""
    children = operators.cross(parents, rates.population_size, rates.tile_crossover_prob, rng)
    operators.reorder(children, rng.random(len(children)) < rates.reorder_prob, rng)
    for _ in range(rates.loci):
        chance = rng.random((2, len(children)))
        mutating = chance[0] < rates.tile_mutation_prob
        stepping = mutating & (chance[1] < rates.small_step_prob)
        children[stepping] = operators.space.neighbour(rng, children[stepping])
        redrawn = mutating & ~stepping
        children[redrawn] = operators.mutate(children[redrawn], rng)
    operators.exchange_parallel(children, rng.random(len(children)) < rates.parallel_mutation_prob)
    return children
