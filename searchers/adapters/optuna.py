"""Optuna (Akiba et al., KDD 2019): a run as an objective of trials, and samplers of OptunaHub by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from searchers.adapters.common import Values, import_library
from searchers.peers.optunahub import make_sampler, sampler_class

if TYPE_CHECKING:
    from dse.search.session import Session


def objective_of(study: Session) -> Callable[[Any], float]:
    """A function of trials: `suggest_int` of sizes, `suggest_categorical` of orders and names."""
    values = Values(study)
    ranges, choices = values.ranges(), values.choices()

    def objective(trial: Any) -> float:
        point = {name: trial.suggest_int(name, 0, most) for name, most in ranges.items()}
        point |= {name: trial.suggest_categorical(name, every) for name, every in choices.items()}
        return values(point)

    return objective


def sampler_named(package: str, registry: str = "", **settings: Any) -> Any:
    """A sampler of OptunaHub by the name of its package, such as `hebo`: see searchers.peers.optunahub.

    It comes from GitHub, as OptunaHub has it; or from `registry`, a copy of its registry's folder `package`.
    """
    return make_sampler(sampler_class(package, registry), package, {}, settings)


def benchmark_of(study: Session) -> Any:
    """The run in the form of an OptunaHub benchmark: a `BaseProblem` with a search space and directions."""
    hub, optuna = import_library("optunahub"), import_library("optuna")
    values, kinds = Values(study), optuna.distributions

    class Benchmark(hub.benchmarks.BaseProblem):  # type: ignore[misc, name-defined]
        @property
        def search_space(self) -> dict[str, Any]:
            space = {name: kinds.IntDistribution(0, most) for name, most in values.ranges().items()}
            return space | {name: kinds.CategoricalDistribution(c) for name, c in values.choices().items()}

        @property
        def directions(self) -> list[Any]:
            return [optuna.study.StudyDirection.MINIMIZE]

        def evaluate(self, params: dict[str, Any]) -> float:
            return values(params)

    return Benchmark()
