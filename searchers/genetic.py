"""A genetic algorithm over integer genes, with DEAP: tournaments, uniform crossover, mutation and elitism.

Goldberg, "Genetic Algorithms in Search, Optimization, and Machine Learning" (1989); Fortin et al., "DEAP:
Evolutionary Algorithms Made Easy" (JMLR 2012). Departures: a mutated ordinal gene (of a mapping, a tile or
the cluster size) mostly goes one value up or down; infeasible points compete by how far they exceed the
buffers; a child whose design was drawn before is mutated again; and where it no longer improves it starts
anew, with a small population.

Defaults were chosen among 32 settings on the problems of results/campaigns/dev8.toml: the geometric mean over
them of the median best loss of 10 seeds is 1.22, 1.04, 1.02 and 1.00 times the best known at 500, 2,000,
5,000 and 20,000 samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.validation import whole_number
from searchers.common.own_draws import Draws, route_draws
from searchers.common.scores import penalised_losses
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, check_probability
from searchers.common.visited import Visited

if TYPE_CHECKING:
    import random

    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Genetic:
    """DEAP's genetic algorithm."""

    population_size: int = 30
    """Individuals in a generation."""
    elite: int = 2
    """The best, who pass into the next generation as they are and are not evaluated again."""
    tournament_size: int = 5
    """Of so many individuals drawn at random the best becomes a parent."""
    crossover_prob: float = 0.8
    """The probability that two parents exchange genes."""
    swapping_prob: float = 0.5
    """The probability of each gene to be exchanged if they do."""
    mutation_prob: float = 0.15
    """The probability of each gene of a child to mutate."""
    step_prob: float = 0.6
    """The probability of a mutating ordinal gene to go one up or down; others are drawn uniformly."""
    patience: int = 20
    """Generations without a better individual after which a random population starts anew; 0: never."""
    retries: int = 5
    """How often a child whose design was drawn before is mutated again."""

    aliases: ClassVar[Mapping[str, str]] = {
        "population": "population_size",
        "tournament": "tournament_size",
        "crossover": "crossover_prob",
        "exchange": "swapping_prob",
        "mutation": "mutation_prob",
        "step": "step_prob",
    }
    libraries: ClassVar[tuple[str, ...]] = ("deap",)
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.population_size, "population_size", least=2, most=MAX_POINTS)
        whole_number(self.elite, "elite", least=0)
        if self.elite >= self.population_size:
            raise InputError(
                f"elite must be less than the population of {self.population_size}, got {self.elite}"
            )
        whole_number(self.tournament_size, "tournament_size", most=MAX_POINTS)
        for name in ("crossover_prob", "swapping_prob", "mutation_prob", "step_prob"):
            check_probability(getattr(self, name), name)
        whole_number(self.patience, "patience", least=0)
        whole_number(self.retries, "retries", least=0, most=MAX_REPEATS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Breed generation after generation until the budget is spent."""
        breeding = _Breeding(self, evaluate.space, Draws.seeded(int(rng.integers(2**63))))
        visited = Visited(evaluate.space)
        known = evaluate.known
        visited.add(known.genes)
        elders = breeding.individuals(known.genes)
        _judge(elders, known.evaluations)
        while True:
            self._evolve(evaluate, rng, breeding, visited, elders)
            elders = []

    def _evolve(
        self,
        evaluate: Evaluator,
        rng: np.random.Generator,
        breeding: _Breeding,
        visited: Visited,
        elders: list[Any],
    ) -> None:
        """Breed from a population of the elders and random ones until that no longer helps."""
        space = evaluate.space
        elders = breeding.best(elders, self.population_size)
        genes = space.sample(rng, self.population_size - len(elders))
        genes = visited.renew(genes, lambda rows, _: space.sample(rng, len(rows)), self.retries)
        population = breeding.individuals(genes)
        _evaluate(population, evaluate)
        population = elders + population
        best, idle = max(one.fitness for one in population), 0
        while not self.patience or idle < self.patience:
            with breeding.draws.used():
                elite, children = breeding.next_generation(population)
                visited.renew(np.array(children, dtype=np.int64), breeding.mutate(children), self.retries)
            # Outside: who watches the evaluator may use DEAP too.
            _evaluate(children, evaluate)
            population = elite + children
            leader = max(one.fitness for one in population)
            idle = 0 if leader > best else idle + 1
            best = max(best, leader)


def deap_tools(settings: Any, space: Space, draws: Draws, objectives: int = 1) -> tuple[Any, Any]:
    """DEAP's toolbox with the operators of the settings for a space, and its kind of individuals.

    They draw from `draws` while these are used, and each has as many losses as there are objectives.
    """
    from deap import base, tools

    route_draws("deap")

    # Not by deap.creator: it would make them global names, once for all searches of the process.
    class Fitness(base.Fitness):  # type: ignore[misc]
        weights = (-1.0,) * objectives

    class Individual(list[int]):
        def __init__(self, genes: list[int]) -> None:
            super().__init__(genes)
            self.fitness = Fitness()

    def clone(one: Individual) -> Individual:
        copied = Individual(one)
        copied.fitness.wvalues = one.fitness.wvalues
        return copied

    toolbox = base.Toolbox()
    toolbox.register("clone", clone)
    toolbox.register("mate", tools.cxUniform, indpb=settings.swapping_prob)
    toolbox.register(
        "mutate",
        mutate_genes,
        chance=draws.python,
        highest=[gene.size - 1 for gene in space.genes],
        steps=[settings.step_prob if gene.kind == "ordinal" else 0.0 for gene in space.genes],
        rate=settings.mutation_prob,
    )
    return toolbox, Individual


class _Breeding:
    """DEAP's operators, set up for a space. They draw from `draws` while these are used."""

    def __init__(self, settings: Genetic, space: Space, draws: Draws) -> None:
        from deap import algorithms, tools

        self.draws, self._settings = draws, settings
        self._vary, self.best = algorithms.varAnd, tools.selBest
        self._toolbox, self._individual = deap_tools(settings, space, draws)
        self._toolbox.register("select", tools.selTournament, tournsize=settings.tournament_size)

    def individuals(self, genes: IntArray) -> list[Any]:
        """An individual for every row of (n, genes)."""
        return [self._individual(row) for row in genes.tolist()]

    def next_generation(self, population: list[Any]) -> tuple[list[Any], list[Any]]:
        """The elite, and children of tournament winners that fill up the population, to be evaluated."""
        settings, toolbox = self._settings, self._toolbox
        parents = toolbox.select(population, settings.population_size - settings.elite)
        children = self._vary(parents, toolbox, settings.crossover_prob, 1.0)
        return self.best(population, settings.elite), children

    def mutate(self, children: list[Any]) -> Any:
        """What mutates, in place, those of the children that `Visited.renew` asks to be drawn again."""

        def again(rows: IntArray, _: IntArray) -> IntArray:
            for row in rows.tolist():
                self._toolbox.mutate(children[row])
            return np.array([children[row] for row in rows.tolist()], dtype=np.int64)

        return again


def mutate_genes(
    individual: list[int], highest: list[int], steps: list[float], rate: float, chance: random.Random
) -> tuple[list[int]]:
    """Change each gene, in place, with probability `rate`: by one, with its share in `steps`, or to any.

    `highest` has the genes' largest values. An operator in DEAP's manner.
    """
    for gene, (high, step) in enumerate(zip(highest, steps, strict=True)):
        if chance.random() < rate:
            if chance.random() < step:
                individual[gene] = min(max(individual[gene] + chance.choice((-1, 1)), 0), high)
            else:
                individual[gene] = chance.randint(0, high)
    return (individual,)


def _evaluate(individuals: list[Any], evaluate: Evaluator) -> None:
    """Price the individuals as one batch and note their fitness."""
    genes = np.array(individuals, dtype=np.int64).reshape(len(individuals), len(evaluate.space.sizes))
    _judge(individuals, evaluate(genes))


def _judge(individuals: list[Any], evaluations: Evaluations) -> None:
    """Note the fitness of the individuals."""
    for one, score in zip(individuals, penalised_losses(evaluations).tolist(), strict=True):
        one.fitness.values = (score,)
