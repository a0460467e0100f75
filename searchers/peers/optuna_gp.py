"""The Gaussian process sampler of Optuna (Akiba et al., KDD 2019): log expected improvement, mixed genes.

Its time grows with the cube of the samples: after so many a study gives way to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.validation import whole_number
from searchers.common.settings import MAX_DATA, MAX_POINTS
from searchers.common.torch_apart import torch_apart
from searchers.peers.common import ask_and_tell, import_library
from searchers.peers.optuna_studies import Study

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class OptunaGP:
    """A Gaussian process, as Optuna's GPSampler has it."""

    n_startup_trials: int = 10
    """Random points before the model's."""
    trials_per_study: int = 500
    """Samples of a study."""

    aliases: ClassVar[Mapping[str, str]] = {"startup": "n_startup_trials", "study": "trials_per_study"}
    libraries: ClassVar[tuple[str, ...]] = ("optuna", "scipy", "torch")
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.n_startup_trials, "n_startup_trials", most=MAX_POINTS)
        whole_number(self.trials_per_study, "trials_per_study", most=MAX_DATA)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        samplers = import_library("optuna.samplers", "optuna-gp")

        def make(space: Space, seed: int) -> Study:
            sampler = samplers.GPSampler(
                n_startup_trials=self.n_startup_trials, deterministic_objective=True, seed=seed
            )
            return Study(space, sampler, "optuna-gp")

        with torch_apart(int(rng.integers(2**31))):
            ask_and_tell(make, evaluate, rng, most=self.trials_per_study)
