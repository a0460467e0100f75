"""What the peers share: the loop, penalties for points that do not fit, and keeping to themselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dse.core.objective import names_several
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from searchers.common.own_draws import Draws, route_draws

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator

_INFEASIBLE, _DOUBLING = 4.0, 4.0
"""log2 of the objective that counts for being infeasible, and for each doubling of a need beyond a buffer."""
_REFUSED = 8.0
"""log2 beyond the worst so far that counts for what the cost model refuses."""


class Peer(Protocol):
    """An optimiser of another package, as ask and tell."""

    def ask(self) -> IntArray:
        """The next points to evaluate: (n, genes); none if it has none to propose."""

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        """Learn the values (n,), or (n, objectives), of points that were last `asked` for, or were not."""


class Penalised:
    """Evaluations as numbers to minimise: log2 of each objective, and penalties that have a slope."""

    def __init__(self) -> None:
        self._worst = 0.0

    def __call__(self, evaluations: Evaluations) -> FloatArray:
        """The numbers: (n,), or of several objectives (n, objectives)."""
        if names_several(evaluations.criteria.objective):
            figures = evaluations.objective_values.T
            return np.stack([self._penalised(evaluations, one) for one in figures], axis=1)
        return self._penalised(
            evaluations, np.where(evaluations.reason == 0, evaluations.loss, evaluations.objective_value)
        )

    def _penalised(self, evaluations: Evaluations, figures: FloatArray) -> FloatArray:
        priced = np.isfinite(figures) & (figures > 0)
        values = np.log2(figures, where=priced, out=np.zeros(len(figures)))
        limits = zip(evaluations.needs.T, evaluations.capacities.T, strict=True)
        beyond = sum(np.log2(np.maximum(need, capacity) / capacity) for need, capacity in limits)
        values += (evaluations.reason != 0) * (_INFEASIBLE + _DOUBLING * beyond)
        self._worst = max([self._worst, *values[priced]]) if priced.any() else self._worst
        values[~priced] = self._worst + _REFUSED
        return values


def import_library(name: str, extra: str) -> Any:
    """The module, with draws of its own (see `isolated_library`), or InputError: what to install."""
    try:
        module = import_module(name)
    except ImportError as error:
        raise InputError(
            f"searcher {extra!r} needs a library that is not here ({error}): pip install 'dse-arena[{extra}]'"
        ) from None
    route_draws(name.partition(".")[0])
    return module


def ask_and_tell(
    make: Callable[[Space, int], Peer],
    evaluate: Evaluator,
    rng: np.random.Generator,
    most: int | None = None,
    *,
    seeds: bool = False,
) -> None:
    """Let a peer ask and be told until the budget is spent; after `most` samples another one begins.

    `make` is given the space and a seed. Where a peer proposes nothing, a random point is evaluated. With
    `seeds`, generators that its library makes without a seed get one.
    """
    penalised, known = Penalised(), evaluate.known
    with isolated_library(rng, seeds):
        while evaluate.remaining:
            peer, samples = make(evaluate.space, int(rng.integers(2**31))), 0
            if len(known.genes):
                peer.tell(known.genes, penalised(known.evaluations), asked=False)
            while evaluate.remaining and (most is None or samples < most):
                genes = peer.ask()
                asked = len(genes) > 0
                genes = genes if asked else evaluate.space.sample(rng, 1)
                peer.tell(genes, penalised(evaluate(genes)), asked)
                samples += len(genes)


@contextmanager
def isolated_library(rng: np.random.Generator, seeds: bool = False) -> Iterator[None]:
    """Keep a library quiet, on one thread, and what it draws by itself to streams of the search's own."""
    from threadpoolctl import threadpool_limits

    draws = Draws.seeded(int(rng.integers(2**31)), int(rng.integers(2**31)), seeds=seeds)
    with warnings.catch_warnings(), threadpool_limits(1), np.errstate(), draws.used():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def silenced_warnings(name: str) -> Iterator[None]:
    """Within, the package of that `name` logs nothing less than critical."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
