"""Bayesian optimisation with scikit-optimize: Gaussian processes say what to evaluate next.

The method is EGO (Jones, Schonlau and Welch, Journal of Global Optimization, 1998) with unknown constraints
(Gardner et al., ICML 2014): what is maximised is the expected improvement times the chance of being feasible.
The processes and their kernels are scikit-optimize's. Where this departs from its `Optimizer`, whose every
`tell` takes minutes at 500 samples:

- A design is described by the features that its space has for surrogates, not by its genes: a mapping by
  log2 of its tiles, the turns and the use of its PEs and the nesting of its loops. The need of each buffer
  has a process of its own, which infeasible samples teach too. Nothing here asks what the designs are: in a
  space of other things than mappings there are fewer processes, and all else stays the same.
- A process learns from `max_training_samples` at most: those near the best, and some of the others. Its
  hyperparameters are fitted again when there are `refit_growth` times as many samples as the last time.
- Candidates are random points and neighbours of the best, and then neighbours of the best candidates. Those
  of a batch are picked in turn, each as if those before had come out as expected (the kriging believer of
  Ginsbourger, Le Riche and Carraro, 2010).
- A local search that no longer improves gives way to one from new random points, which learns the objective
  from samples of its own. A design that an earlier local search has evaluated is remembered, not evaluated
  again.

Defaults were chosen on the development problems (campaign dev8: layers of AlexNet, ResNet-18, ResNet-50 and
BERT-base on five accelerators), at 300 to 5,000 samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.search.abilities import added
from dse.search.searcher import drive
from dse.support.errors import InputError, unknown_name
from dse.support.validation import positive_number, whole_number
from searchers.bayesian.kinds import GAUSSIAN, KINDS
from searchers.common.settings import MAX_DATA, MAX_POINTS

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator
    from searchers.common.history import Describe


@dataclass(frozen=True)
class Bayesian:
    """Gaussian processes on capped data, asked in batches, with restarts."""

    n_startup_trials: int = 20
    """Random points that a local search begins with."""
    max_training_samples: int = 300
    """Samples that a process learns from at most."""
    batch_fraction: float = 0.02
    """Size of a batch, as a part of the samples of its local search. One sample is the least."""
    late_batch_fraction: float = 0.0075
    """Least size of a batch, as a part of all samples so far: it bounds the time of a large budget."""
    patience: int = 100
    """Samples without improvement that end a local search, if they are also half of it."""
    refit_growth: float = 2.0
    """Growth of a local search after which the hyperparameters are fitted again."""
    surrogate: str = added(GAUSSIAN)
    """Of the objective: a `gaussian` process, or a random `forest` in the manner of SMAC."""

    aliases: ClassVar[Mapping[str, str]] = {
        "initial": "n_startup_trials",
        "points": "max_training_samples",
        "batch": "batch_fraction",
        "late_batch": "late_batch_fraction",
        "refit": "refit_growth",
    }
    libraries: ClassVar[tuple[str, ...]] = ("scikit-optimize", "scikit-learn", "scipy")
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.surrogate not in KINDS:
            raise unknown_name("surrogate", self.surrogate, KINDS)
        whole_number(self.n_startup_trials, "n_startup_trials", least=2, most=MAX_POINTS)
        whole_number(self.max_training_samples, "max_training_samples", least=10, most=MAX_DATA)
        whole_number(self.patience, "patience")
        for name in ("batch_fraction", "late_batch_fraction"):
            if positive_number(getattr(self, name), name) > 1:
                raise InputError(f"{name} must be at most 1, got {getattr(self, name)}")
        if positive_number(self.refit_growth, "refit_growth") <= 1:
            raise InputError(f"refit_growth must be above 1, got {self.refit_growth}")

    def features(self, space: Space) -> Describe:
        """What the processes see of the designs of a space."""
        from searchers.common.features import VaryingFeatures

        return VaryingFeatures(space)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Descend, again and again, until the budget is spent."""
        from threadpoolctl import threadpool_limits

        # Imported before the limit is set: it reaches only the libraries that are loaded.
        from searchers.bayesian.strategy import Strategy

        # Sums in another order, as on another number of threads, would end in other samples.
        with threadpool_limits(limits=1):
            drive(Strategy(self, evaluate.space, rng), evaluate)
