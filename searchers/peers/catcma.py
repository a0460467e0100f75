"""CatCMA with margin: a Gaussian over sizes, categorical distributions over names and orders.

Hamano et al., "CatCMA with Margin" (GECCO 2025), and "CatCMA" (GECCO 2024), as the package cmaes has it,
which OptunaHub's sampler wraps. It restarts where it has converged, as its users let it.
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


@dataclass(frozen=True)
class CatCMA:
    """CMA-ES for numbers and categories: CatCMAwM of the package cmaes."""

    population_size: int = 0
    """Points of a generation; 0: as many as the package takes."""

    aliases: ClassVar[Mapping[str, str]] = {"population": "population_size"}
    libraries: ClassVar[tuple[str, ...]] = ("cmaes",)
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.population_size, "population_size", least=0, most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        cmaes = import_library("cmaes", "catcma")
        ask_and_tell(lambda space, seed: _Strategy(cmaes, space, seed, self.population_size), evaluate, rng)


class _Strategy:
    """Distributions, and new ones when they have converged."""

    def __init__(self, cmaes: Any, space: Space, seed: int, population: int) -> None:
        self._cmaes, self._seed = cmaes, seed
        sizes = space.sizes.tolist()
        # A choice of two is a category, as the package asks for.
        self._whole = [i for i, gene in enumerate(space.genes) if gene.kind == "ordinal" and sizes[i] > 2]
        self._named = [i for i in range(len(sizes)) if i not in self._whole and sizes[i] > 1]
        self._sizes, self._population = sizes, population or None
        self._mean: list[float] | None = None
        self._share = [np.full(sizes[i], 1 / sizes[i]) for i in self._named]
        self._begin()

    def _begin(self) -> None:
        self._solutions: list[Any] = []
        self._optimiser: Any = None
        if not self._whole and not self._named:
            return
        widest = max((self._sizes[i] for i in self._named), default=0)
        table = np.zeros((len(self._named), widest))
        for row, share in enumerate(self._share):
            table[row, : len(share)] = share
        self._optimiser = self._cmaes.CatCMAwM(
            z_space=[list(range(self._sizes[i])) for i in self._whole] or None,
            c_space=[self._sizes[i] for i in self._named] or None,
            mean=None if self._mean is None or not self._whole else np.array(self._mean),
            cat_param=table if self._named else None,
            population_size=self._population,
            seed=self._seed,
        )
        self._seed += 1

    def ask(self) -> IntArray:
        """A generation: (n, genes)."""
        if self._optimiser is None:
            return np.zeros((1, len(self._sizes)), np.int64)
        self._solutions = [self._optimiser.ask() for _ in range(self._optimiser.population_size)]
        genes = np.zeros((len(self._solutions), len(self._sizes)), np.int64)
        for row, solution in zip(genes, self._solutions, strict=True):
            if self._whole:
                row[self._whole] = np.rint(solution.z)
            if self._named:
                row[self._named] = np.argmax(solution.c, axis=1)
        return genes

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Move to the better ones; around what was known before, the search begins at the best of that."""
        if not asked:
            best = genes[int(np.argmin(values))]
            self._mean = best[self._whole].astype(np.float64).tolist()
            for share, gene in zip(self._share, self._named, strict=True):
                share *= 0.5
                share[best[gene]] += 0.5
            self._begin()
            return
        if self._optimiser is None:
            return
        try:
            self._optimiser.tell(list(zip(self._solutions, values.tolist(), strict=True)))
            converged = self._optimiser.should_stop()
        except (np.linalg.LinAlgError, AssertionError):
            # Its covariance has degenerated, or its steps have grown beyond all measure, as they may where
            # sizes have few values: see cmaes 0.13.
            converged = True
        if converged:
            self._mean = None
            self._share = [np.full(self._sizes[i], 1 / self._sizes[i]) for i in self._named]
            self._begin()
