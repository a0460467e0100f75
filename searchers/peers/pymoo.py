"""The genetic algorithm for mixed variables of pymoo (Blank and Deb, IEEE Access 2020).

Whole numbers are crossed and mutated as such (simulated binary crossover, polynomial mutation), names and
orders as choices; nothing is proposed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS
from searchers.peers.common import ask_and_tell, import_library

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


_TRIES = 10
"""Times that a generation is bred again for want of new points, before all starts anew."""


@dataclass(frozen=True)
class Pymoo:
    """A genetic algorithm for genes of several kinds: pymoo's MixedVariableGA."""

    population_size: int = 20
    """Points of a generation; the package's own default, 50, is for larger budgets."""

    aliases: ClassVar[Mapping[str, str]] = {"population": "population_size"}
    libraries: ClassVar[tuple[str, ...]] = ("pymoo", "scipy")
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.population_size, "population_size", least=2, most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Breed generation after generation until the budget is spent."""
        package = import_library("pymoo", "pymoo")
        ask_and_tell(
            lambda space, seed: _Algorithm(package, space, seed, self.population_size), evaluate, rng
        )


class _Algorithm:
    def __init__(self, package: Any, space: Space, seed: int, population: int) -> None:
        from pymoo.core.mixed import MixedVariableDuplicateElimination, MixedVariableGA, MixedVariableMating
        from pymoo.core.population import Population
        from pymoo.core.problem import Problem
        from pymoo.core.termination import NoTermination
        from pymoo.core.variable import Choice, Integer

        self._names = [gene.name for gene in space.genes]
        self._rows = Population
        kinds = {
            gene.name: Integer(bounds=(0, gene.size - 1))
            if gene.kind == "ordinal" and gene.size > 1
            else Choice(options=list(range(gene.size)))
            for gene in space.genes
        }

        def begin(number: int) -> Any:
            different = MixedVariableDuplicateElimination()
            mating = MixedVariableMating(eliminate_duplicates=different, n_max_iterations=_TRIES)
            algorithm = MixedVariableGA(pop_size=population, mating=mating)
            problem = Problem(vars=kinds, n_obj=1)
            algorithm.setup(problem, termination=NoTermination(), seed=seed + number, verbose=False)
            return algorithm

        self._begin, self._begun = begin, 0
        self._algorithm = begin(0)
        self._infills: Any = None
        self._known = (np.empty((0, len(self._names)), np.int64), np.empty(0))

    def ask(self) -> IntArray:
        """A generation: (n, genes)."""
        self._infills = self._algorithm.ask()
        if self._infills is None or not len(self._infills):
            self._begun += 1
            self._algorithm = self._begin(self._begun)
            return np.empty((0, len(self._names)), np.int64)
        rows = [[one.X[name] for name in self._names] for one in self._infills]
        return np.array(rows, np.int64)

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Select. What was known before joins the first generation's."""
        if not asked:
            if not len(self._known[0]) and self._begun == 0:
                self._known = genes, values
            return
        infills = self._infills
        infills.set("F", values[:, np.newaxis])
        if len(self._known[0]):
            named = [dict(zip(self._names, row, strict=True)) for row in self._known[0].tolist()]
            elders = self._rows.new("X", named)
            elders.set("F", self._known[1][:, np.newaxis])
            infills = self._rows.merge(elders, infills)
            self._known = genes[:0], values[:0]
        self._algorithm.tell(infills=infills)
