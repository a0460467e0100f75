"""SMAC3 (Lindauer et al., JMLR 2022): random forests and expected improvement.

It is the facade for hyperparameters. No design is asked for twice: where it has no other left, a random one
takes its turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS
from searchers.peers.common import ask_and_tell, import_library, silenced_warnings

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class SMAC:
    """Random forests as a model of the loss: SMAC3's HyperparameterOptimizationFacade."""

    n_startup_trials: int = 10
    """Points of the initial design (Sobol)."""

    aliases: ClassVar[Mapping[str, str]] = {"initial": "n_startup_trials"}
    libraries: ClassVar[tuple[str, ...]] = ("smac", "ConfigSpace", "scikit-learn", "scipy")
    portable: ClassVar[bool] = False
    plans_for_budget: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.n_startup_trials, "n_startup_trials", most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        package = import_library("smac", "smac")
        with tempfile.TemporaryDirectory(prefix="dse-smac-") as folder:

            def make(space: Space, seed: int) -> _Facade:
                return _Facade(package, space, seed, evaluate.remaining, self.n_startup_trials, Path(folder))

            with silenced_warnings("smac"):
                ask_and_tell(make, evaluate, rng)


def _ordered(maximizer: Any) -> Any:
    """The maximizer of an acquisition function, whose local search begins from its points in one order.

    SMAC 2.4 has them in a set of what is hashed by its text, and so in another order in each process.
    """
    local = maximizer._local_search
    points = local._get_initial_points
    local._get_initial_points = lambda *args, **named: sorted(
        points(*args, **named), key=lambda config: config.get_array().tolist()
    )
    return maximizer


class _Facade:
    def __init__(
        self, package: Any, space: Space, seed: int, budget: int, initial: int, folder: Path
    ) -> None:
        from ConfigSpace import CategoricalHyperparameter, Configuration, ConfigurationSpace
        from ConfigSpace import UniformIntegerHyperparameter as Whole
        from smac.main.exceptions import ConfigurationSpaceExhaustedException
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        facade = package.HyperparameterOptimizationFacade
        self._names = [gene.name for gene in space.genes]
        self._space = ConfigurationSpace(seed=seed)
        for gene in space.genes:
            if gene.kind == "ordinal" and gene.size > 1:
                self._space.add(Whole(gene.name, 0, gene.size - 1))
            else:
                self._space.add(CategoricalHyperparameter(gene.name, list(range(gene.size))))
        # One more than the budget, for it is the evaluator that ends a search.
        scenario = package.Scenario(
            self._space, deterministic=True, n_trials=budget + 1, seed=seed, output_directory=folder
        )
        self._facade = facade(
            scenario,
            lambda config, seed=0: 0.0,
            initial_design=facade.get_initial_design(scenario, n_configs=min(initial, budget), max_ratio=1.0),
            acquisition_maximizer=_ordered(facade.get_acquisition_maximizer(scenario)),
            logging_level=False,
            overwrite=True,
        )
        self._info: Any = None
        self._made, self._told, self._value = Configuration, TrialInfo, TrialValue
        self._exhausted = ConfigurationSpaceExhaustedException

    def ask(self) -> IntArray:
        """The next point: (1, genes), or none."""
        try:
            self._info = self._facade.ask()
        except (StopIteration, self._exhausted):
            return np.empty((0, len(self._names)), np.int64)
        return np.array([[self._info.config[name] for name in self._names]], np.int64)

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Tell of the point, or of others."""
        if asked:
            self._facade.tell(self._info, self._value(cost=float(values[0])))
            return
        for point, value in zip(genes.tolist(), values.tolist(), strict=True):
            config = self._made(self._space, values=dict(zip(self._names, point, strict=True)))
            self._facade.tell(self._told(config, seed=self._facade.scenario.seed), self._value(cost=value))
