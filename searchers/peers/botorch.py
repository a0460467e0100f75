"""BoTorch (Balandat et al., NeurIPS 2020): a Gaussian process of mixed genes, log expected improvement.

The model is MixedSingleTaskGP, the improvement LogExpectedImprovement (Ament et al., NeurIPS 2023), and
candidates come from optimize_acqf_mixed_alternating. Of several objectives each has a model, and what is
improved is the hypervolume beyond the worst so far: qLogNoisyExpectedHypervolumeImprovement (Daulton et al.,
NeurIPS 2021; Ament et al.). After so many samples a model gives way to another: its time grows with their
cube.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.validation import whole_number
from searchers.common.settings import MAX_DATA, MAX_POINTS
from searchers.common.torch_apart import torch_apart
from searchers.peers.common import ask_and_tell, import_library

if TYPE_CHECKING:
    from torch import Tensor

    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class BoTorch:
    """Bayesian optimisation as BoTorch's guide has it for mixed spaces."""

    n_startup_trials: int = 20
    """Random points before the model's."""
    num_restarts: int = 4
    """Points from which the improvement is maximised."""
    raw_samples: int = 128
    """Points looked at to find those."""
    max_training_samples: int = 500
    """Samples of a model."""

    aliases: ClassVar[Mapping[str, str]] = {
        "initial": "n_startup_trials",
        "restarts": "num_restarts",
        "raw": "raw_samples",
        "points": "max_training_samples",
    }
    libraries: ClassVar[tuple[str, ...]] = ("botorch", "gpytorch", "scipy", "torch")
    portable: ClassVar[bool] = False
    takes_several: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        for name in ("n_startup_trials", "num_restarts", "raw_samples"):
            whole_number(getattr(self, name), name, most=MAX_POINTS)
        whole_number(self.max_training_samples, "max_training_samples", most=MAX_DATA)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        import_library("botorch.optim.optimize_mixed", "botorch")
        with torch_apart(int(rng.integers(2**31))):
            ask_and_tell(
                lambda space, seed: _Model(self, space, seed), evaluate, rng, most=self.max_training_samples
            )


class _Model:
    def __init__(self, settings: BoTorch, space: Space, seed: int) -> None:
        self._settings, self._space, self._rng = settings, space, np.random.default_rng(seed)
        varying = [(i, gene.kind == "ordinal") for i, gene in enumerate(space.genes) if gene.size > 1]
        self._places = [place for place, _ in varying]
        self._whole = [column for column, (_, whole) in enumerate(varying) if whole]
        self._named = [column for column, (_, whole) in enumerate(varying) if not whole]
        self._genes = np.empty((0, len(space.genes)), np.int64)
        self._values = np.empty((0, 1))

    def ask(self) -> IntArray:
        """The next point, (1, genes), or the initial ones."""
        settings = self._settings
        missing = settings.n_startup_trials - len(self._genes)
        if not self._places:
            return self._space.sample(self._rng, 1)
        return self._space.sample(self._rng, missing) if missing > 0 else self._most_improving()

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Remember them."""
        self._genes = np.concatenate([self._genes, genes])
        columns = values.reshape(len(genes), -1)
        self._values = np.concatenate([self._values.reshape(-1, columns.shape[1]), columns])

    def _most_improving(self) -> IntArray:
        import torch
        from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

        sizes = self._space.sizes[self._places]
        points = torch.tensor(self._genes[:, self._places], dtype=torch.float64)
        gains = torch.tensor(-self._values, dtype=torch.float64)
        bounds = torch.tensor(np.stack([0 * sizes, sizes - 1]), dtype=torch.float64)
        found, _ = optimize_acqf_mixed_alternating(
            self._improvement(points, gains, bounds),
            bounds,
            discrete_dims={column: list(range(sizes[column])) for column in self._whole},
            cat_dims={column: list(range(sizes[column])) for column in self._named},
            raw_samples=self._settings.raw_samples,
            num_restarts=self._settings.num_restarts,
        )
        point = np.zeros((1, len(self._space.genes)), np.int64)
        point[:, self._places] = np.clip(np.rint(found.numpy()), 0, sizes - 1)
        return point

    def _improvement(self, points: Tensor, gains: Tensor, bounds: Tensor) -> Any:
        """What is maximised, of one objective or several."""
        from botorch.acquisition import LogExpectedImprovement
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.models import ModelListGP

        models = [self._fitted(points, column[:, None], bounds) for column in gains.T]
        if len(models) == 1:
            return LogExpectedImprovement(models[0], best_f=gains.max())
        worst = gains.min(dim=0).values.tolist()
        return qLogNoisyExpectedHypervolumeImprovement(
            ModelListGP(*models), worst, X_baseline=points, prune_baseline=True
        )

    def _fitted(self, points: Tensor, gains: Tensor, bounds: Tensor) -> Any:
        """A process of one objective."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.models.transforms import Normalize, Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        width = len(self._places)
        scaled = Normalize(width, indices=self._whole, bounds=bounds) if self._whole else None
        transforms = {"outcome_transform": Standardize(1), "input_transform": scaled}
        model = (
            MixedSingleTaskGP(points, gains, cat_dims=self._named, **transforms)
            if self._named
            else SingleTaskGP(points, gains, **transforms)
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model
