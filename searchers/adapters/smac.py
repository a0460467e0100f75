"""SMAC3 (Lindauer et al., JMLR 2022): a run as a configuration space and a target function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from searchers.adapters.common import Values, import_library

if TYPE_CHECKING:
    from dse.search.session import Session


def target_of(study: Session, seed: int = 0) -> tuple[Any, Callable[..., float]]:
    """The space, and the target function that facades take.

    SMAC goes on where a target raises: give its scenario `n_trials` of at most the run's samples.
    """
    kinds, values = import_library("ConfigSpace"), Values(study)
    space = kinds.ConfigurationSpace(seed=seed)
    for name, most in values.ranges().items():
        space.add(kinds.UniformIntegerHyperparameter(name, 0, most))
    for name, every in values.choices().items():
        space.add(kinds.CategoricalHyperparameter(name, every))

    def target(config: Any, seed: int = 0) -> float:
        return values(dict(config))

    return space, target
