"""The tree-structured Parzen estimator of Optuna (Akiba et al., KDD 2019).

Bergstra et al., "Algorithms for Hyper-Parameter Optimization" (NeurIPS 2011); Watanabe, arXiv:2304.11127.
Of several objectives: Ozaki et al., "Multiobjective Tree-Structured Parzen Estimator" (JAIR 2022).
With the library's own settings, but multivariate, which is its better form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.core.objective import parse_objectives
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS
from searchers.peers.common import ask_and_tell, import_library
from searchers.peers.optuna_studies import Study

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class TPE:
    """Tree-structured Parzen estimators, as Optuna's TPESampler has them."""

    n_startup_trials: int = 10
    """Random points before the model's."""
    n_ei_candidates: int = 24
    """Points drawn from the good ones' density, of which the best ratio is evaluated."""
    multivariate: bool = True
    """Whether the densities are of all genes together."""

    aliases: ClassVar[Mapping[str, str]] = {"startup": "n_startup_trials", "candidates": "n_ei_candidates"}
    libraries: ClassVar[tuple[str, ...]] = ("optuna",)
    portable: ClassVar[bool] = False
    takes_several: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.n_startup_trials, "n_startup_trials", most=MAX_POINTS)
        whole_number(self.n_ei_candidates, "n_ei_candidates", most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        samplers = import_library("optuna.samplers", "tpe")
        objectives = len(parse_objectives(evaluate.objective))

        def make(space: Space, seed: int) -> Study:
            sampler = samplers.TPESampler(
                n_startup_trials=self.n_startup_trials,
                n_ei_candidates=self.n_ei_candidates,
                multivariate=self.multivariate,
                seed=seed,
            )
            return Study(space, sampler, "tpe", objectives)

        ask_and_tell(make, evaluate, rng)
