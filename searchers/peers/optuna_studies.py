"""A study of Optuna (Akiba et al., KDD 2019) as a peer; `tpe` and `optuna-gp` are samplers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.peers.common import import_library

if TYPE_CHECKING:
    from dse.core.space import Space


def distributions_of(space: Space, extra: str, floats: bool = False) -> dict[str, Any]:
    """What Optuna chooses from, by gene: of sizes whole numbers, of orders and names categories.

    With `floats` each is a number that is rounded, for samplers that know no others.
    """
    kinds = import_library("optuna", extra).distributions
    if floats:
        return {gene.name: kinds.FloatDistribution(-0.5, gene.size - 0.5) for gene in space.genes}
    return {
        gene.name: kinds.IntDistribution(0, gene.size - 1)
        if gene.kind == "ordinal"
        else kinds.CategoricalDistribution(tuple(range(gene.size)))
        for gene in space.genes
    }


class Study:
    """One study, of one objective or several."""

    def __init__(
        self, space: Space, sampler: Any, extra: str, objectives: int = 1, *, floats: bool = False
    ) -> None:
        self._optuna: Any = import_library("optuna", extra)
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._study = self._optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
        # Who has no more to propose stops a study, which can be stopped in a loop of its own only.
        self._study.stop = lambda: None
        self._choices, self._last = distributions_of(space, extra, floats), space.sizes - 1
        self._trial: Any = None

    def ask(self) -> IntArray:
        """The next point: (1, genes)."""
        self._trial = self._study.ask(self._choices)
        point = np.array([[self._trial.params[name] for name in self._choices]])
        rounded: IntArray = np.clip(np.rint(point).astype(np.int64), 0, self._last)
        return rounded

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Finish the trial, or add others."""
        if asked:
            self._study.tell(self._trial, values.reshape(len(genes), -1)[0].tolist())
            return
        for point, told in zip(genes.tolist(), values.reshape(len(genes), -1).tolist(), strict=True):
            params = dict(zip(self._choices, point, strict=True))
            trial = self._optuna.trial.create_trial(params=params, distributions=self._choices, values=told)
            self._study.add_trial(trial)
