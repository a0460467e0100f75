"""A study of Optuna (Akiba et al., KDD 2019) as a peer; `tpe` and `optuna-gp` are samplers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.peers.common import library

if TYPE_CHECKING:
    from dse.core.space import Space


class Study:
    """One study, of one objective or several. Sizes are whole numbers, orders and names categories."""

    def __init__(self, space: Space, sampler: Any, extra: str, objectives: int = 1) -> None:
        self._optuna: Any = library("optuna", extra)
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._study = self._optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
        kinds = self._optuna.distributions
        self._choices = {
            gene.name: kinds.IntDistribution(0, gene.size - 1)
            if gene.kind == "ordinal"
            else kinds.CategoricalDistribution(tuple(range(gene.size)))
            for gene in space.genes
        }
        self._trial: Any = None

    def ask(self) -> IntArray:
        """The next point: (1, genes)."""
        self._trial = self._study.ask(self._choices)
        return np.array([[self._trial.params[name] for name in self._choices]], np.int64)

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Finish the trial, or add others."""
        if asked:
            self._study.tell(self._trial, values.reshape(len(genes), -1)[0].tolist())
            return
        for point, told in zip(genes.tolist(), values.reshape(len(genes), -1).tolist(), strict=True):
            params = dict(zip(self._choices, point, strict=True))
            trial = self._optuna.trial.create_trial(params=params, distributions=self._choices, values=told)
            self._study.add_trial(trial)
