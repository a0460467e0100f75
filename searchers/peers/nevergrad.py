"""Any optimiser of Nevergrad (Rapin and Teytaud, 2018) by its name there.

By default NgIohTuned, its wizard, which chooses among the others by the budget and the kind of genes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import unknown_name
from searchers.common.own_draws import inherit_draws, route_draws
from searchers.peers.common import ask_and_tell, import_library

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Nevergrad:
    """An optimiser of Nevergrad's registry, which plans for the budget that it is told."""

    optimizer: str = "NgIohTuned"
    """Its name."""

    libraries: ClassVar[tuple[str, ...]] = ("nevergrad", "cma", "scipy")
    portable: ClassVar[bool] = False
    plans_for_budget: ClassVar[bool] = True

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        package = import_library("nevergrad", "nevergrad")
        route_draws("cma")
        inherit_draws(import_module("nevergrad.optimization.recaster")._MessagingThread)
        registry = package.optimizers.registry
        if self.optimizer not in registry:
            raise unknown_name("optimizer", self.optimizer, sorted(registry))
        budget = evaluate.remaining
        ask_and_tell(
            lambda space, seed: _Optimiser(package, registry[self.optimizer], space, seed, budget),
            evaluate,
            rng,
        )


class _Optimiser:
    def __init__(self, package: Any, kind: Any, space: Space, seed: int, budget: int) -> None:
        parameters = package.p
        self._names = [gene.name for gene in space.genes if gene.size > 1]
        self._places = [place for place, gene in enumerate(space.genes) if gene.size > 1]
        self._genes = len(space.genes)
        self._optimiser: Any = None
        self._candidate: Any = None
        if not self._names:
            return
        choices = parameters.Dict(
            **{
                gene.name: parameters.Scalar(
                    init=(gene.size - 1) / 2, lower=0, upper=gene.size - 1
                ).set_integer_casting()
                if gene.kind == "ordinal"
                else parameters.Choice(range(gene.size))
                for gene in space.genes
                if gene.size > 1
            }
        )
        choices.random_state = np.random.RandomState(seed)
        self._refusals = package.errors.NevergradError, NotImplementedError
        self._optimiser = kind(parametrization=choices, budget=budget, num_workers=1)

    def ask(self) -> IntArray:
        """The next point: (1, genes)."""
        point = np.zeros((1, self._genes), np.int64)
        if self._optimiser is not None:
            self._candidate = self._optimiser.ask()
            point[0, self._places] = [self._candidate.value[name] for name in self._names]
        return point

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Tell of the candidate, or of others where the optimiser takes any."""
        if self._optimiser is None:
            return
        if asked:
            self._optimiser.tell(self._candidate, float(values[0]))
            return
        for point, value in zip(genes[:, self._places].tolist(), values.tolist(), strict=True):
            given = self._optimiser.parametrization.spawn_child(dict(zip(self._names, point, strict=True)))
            try:
                self._optimiser.tell(given, value)
            except self._refusals:
                return
