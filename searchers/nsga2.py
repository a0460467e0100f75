"""NSGA-II over integer genes, with DEAP: several objectives at once, by rank of front and crowding distance.

Deb, Pratap, Agarwal and Meyarivan, "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II" (IEEE TEVC
2002); Fortin et al., "DEAP: Evolutionary Algorithms Made Easy" (JMLR 2012). Departures: genes mutate as in
`genetic`; distances are between the logarithms of figures; infeasible points compete by how far they exceed
the buffers; a child whose design was drawn before is mutated again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from dse.support.validation import whole_number
from searchers.common.own_draws import Draws
from searchers.common.scores import BEYOND_ANY_LOSS, penalised_losses
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, check_probability
from searchers.common.visited import Visited
from searchers.genetic import deap_tools

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class NSGA2:
    """DEAP's NSGA-II."""

    population_size: int = 40
    """Individuals in a generation, a multiple of 4."""
    crossover_prob: float = 0.8
    """The probability that two parents exchange genes."""
    swapping_prob: float = 0.5
    """The probability of each gene to be exchanged if they do."""
    mutation_prob: float = 0.15
    """The probability of each gene of a child to mutate."""
    step_prob: float = 0.6
    """The probability of a mutating ordinal gene to go one up or down; others are drawn uniformly."""
    retries: int = 5
    """How often a child whose design was drawn before is mutated again."""

    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ("deap",)
    takes_several: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.population_size, "population_size", least=4, most=MAX_POINTS)
        if self.population_size % 4:
            raise InputError(f"population_size must be a multiple of 4, got {self.population_size}")
        for name in ("crossover_prob", "swapping_prob", "mutation_prob", "step_prob"):
            check_probability(getattr(self, name), name)
        whole_number(self.retries, "retries", least=0, most=MAX_REPEATS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Breed generation after generation until the budget is spent."""
        space, known = evaluate.space, evaluate.known
        visited = Visited(space)
        visited.add(known.genes)
        genes = space.sample(rng, max(self.population_size - len(known.genes), 0))
        genes = visited.renew(genes, lambda rows, _: space.sample(rng, len(rows)), self.retries)
        first = evaluate(genes)
        breeding = _Breeding(
            self, space, Draws.seeded(int(rng.integers(2**63))), penalised_objectives(first).shape[1]
        )
        population = breeding.judged(known.genes, known.evaluations) + breeding.judged(genes, first)
        with breeding.draws.used():
            population = breeding.survivors(population)
        while True:
            with breeding.draws.used():
                children = breeding.children(population, visited)
            # Outside: who watches the evaluator may use DEAP too.
            found = breeding.judged(children, evaluate(children))
            with breeding.draws.used():
                population = breeding.survivors(population + found)


def penalised_objectives(evaluations: Evaluations) -> FloatArray:
    """Numbers (n, objectives) to minimise: logarithms of figures, beyond them infeasible points."""
    values = evaluations.objective_values
    beyond = (evaluations.reason != 0)[:, np.newaxis]
    least = np.finfo(np.float64).tiny
    logarithms = numerics.log2(np.where(beyond, 1.0, np.maximum(values, least)).ravel()).reshape(values.shape)
    # A crowding distance is no number where figures are inf.
    worst = np.minimum(penalised_losses(evaluations), BEYOND_ANY_LOSS * 1e6)
    return np.where(beyond, worst[:, np.newaxis], logarithms)


class _Breeding:
    """DEAP's operators, set up for a space. They draw from `draws` while these are used."""

    def __init__(self, settings: NSGA2, space: Space, draws: Draws, objectives: int) -> None:
        from deap import algorithms, tools

        self.draws, self._settings = draws, settings
        self._vary, self._select, self._pair = algorithms.varAnd, tools.selNSGA2, tools.selTournamentDCD
        self._toolbox, self._individual = deap_tools(settings, space, draws, objectives)

    def judged(self, genes: IntArray, evaluations: Evaluations) -> list[Any]:
        """An individual with its fitness for every row of (n, genes)."""
        found = [self._individual(row) for row in genes.tolist()]
        for one, values in zip(
            found, penalised_objectives(evaluations).tolist() if found else [], strict=True
        ):
            one.fitness.values = tuple(values)
        return found

    def survivors(self, individuals: list[Any]) -> list[Any]:
        """Those of the first fronts, and of the last that still fits those that are farthest apart."""
        kept: list[Any] = self._select(individuals, self._settings.population_size)
        return kept

    def children(self, population: list[Any], visited: Visited) -> IntArray:
        """The next points: (n, genes)."""
        settings, toolbox = self._settings, self._toolbox
        # Known points may have been fewer than a population: the tournament pairs fours.
        parents = self._pair(population, len(population) // 4 * 4)
        children = self._vary(parents, toolbox, settings.crossover_prob, 1.0)

        def again(rows: IntArray, _: IntArray) -> IntArray:
            for row in rows.tolist():
                toolbox.mutate(children[row])
            return np.array([children[row] for row in rows.tolist()], dtype=np.int64)

        return visited.renew(np.array(children, dtype=np.int64), again, settings.retries)
