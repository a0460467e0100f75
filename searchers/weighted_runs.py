"""Several objectives by a searcher of one: a search for each of some weights, which share the budget.

What is minimised is the product of the objectives' powers w and 1 - w, their sum in logarithms: it needs no
scales. By sums of weights every point of the front's convex part can be found (Zadeh, "Optimality and
Non-Scalar-Valued Performance Criteria", IEEE TAC 1963). The ends of the front, w = 0 and 1, come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dse.core.evaluations import Criteria, Evaluations
from dse.core.objective import Objective, objective_named, parse_objectives
from dse.search.abilities import abilities_of
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.searcher import Searcher, make_searcher
from dse.search.start import random_settings
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.validation import whole_number

MAX_WEIGHTS = 1000
DIGITS = 4
"""Decimals of an exponent."""


@dataclass(frozen=True)
class WeightedRuns:
    """Searches of one objective for several, from random points."""

    searcher: str = "genetic"
    """Which."""
    weights: int = 5
    """How many searches: of two objectives with so many exponents evenly apart, of more with random ones."""

    version: ClassVar[str] = "1"
    takes_several: ClassVar[bool] = True
    plans_for_budget: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.weights, "weights", most=MAX_WEIGHTS)
        if isinstance(self._made, WeightedRuns):
            raise InputError("searcher must be one of one objective, got 'weighted-runs'")

    @property
    def _made(self) -> Searcher:
        return make_searcher(self.searcher, random_settings(self.searcher, None))

    @property
    def libraries(self) -> tuple[str, ...]:
        """Those of the searcher."""
        return abilities_of(self._made).libraries

    @property
    def portable(self) -> bool:
        """As the searcher is."""
        return abilities_of(self._made).portable

    @property
    def samples_elsewhere(self) -> int:
        """Those of the searcher."""
        return abilities_of(self._made).samples_elsewhere

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """One search after another; what begins with no sample left is left out."""
        aims = aims_of(parse_objectives(evaluate.objective), self.weights, rng)
        budget = evaluate.remaining
        for place, objective in enumerate(aims):
            share = budget * (place + 1) // len(aims) - (budget - evaluate.remaining)
            if share:
                search_one(self._made, evaluate, objective, share, rng)


def aims_of(objectives: Sequence[Objective], weights: int, rng: np.random.Generator) -> list[str]:
    """What is minimised, one after another; of one objective it alone."""
    count = len(objectives)
    if count == 1:
        return [objectives[0].name]
    for one in objectives:
        if one.weights:
            raise InputError(
                f"searcher 'weighted-runs' takes products of powers of figures, got {one.name!r}"
            )
    if count == 2:
        # From both ends inwards.
        steps = sorted(np.linspace(0, 1, weights), key=lambda share: -abs(share - 0.5))
        shares = [(float(step), float(1 - step)) for step in steps]
    else:
        cuts = np.sort(rng.random((weights, count - 1)), axis=1)
        shares = [tuple(row) for row in np.diff(cuts, axis=1, prepend=0.0, append=1.0).tolist()]
    return [_product(objectives, row) for row in shares]


def _product(objectives: Sequence[Objective], shares: Sequence[float]) -> str:
    powers: dict[str, float] = {}
    for objective, share in zip(objectives, shares, strict=True):
        for name, power in objective.exponents.items():
            powers[name] = powers.get(name, 0.0) + power * share
    kept = {name: round(power, DIGITS) for name, power in powers.items() if power >= 0.01}
    return objective_named(" * ".join(f"{name}^{power!r}" for name, power in sorted(kept.items()))).name


class _Aimed:
    """The problem of several objectives as one with a single loss, priced by the gate of the whole search.

    The first points are those that were known when that began: they are answered, and cost nothing again.
    """

    def __init__(self, gate: Evaluator, objective: str) -> None:
        self.objective, self.space = objective, gate.space
        self._gate, self._known = gate, self._judged(gate.known.evaluations)
        self._answered = 0

    @property
    def criteria(self) -> Criteria:
        """Of the points that are known: no others are asked for."""
        return self._known.criteria

    def price(self, genes: IntArray) -> Evaluations:
        """What points cost."""
        begin, self._answered = self._answered, min(self._answered + len(genes), len(self._known.loss))
        known = self._known.take(slice(begin, self._answered))
        new = genes[len(known.loss) :]
        if not len(new):
            return known
        found = self._judged(self._gate(new))
        return known.joined(found) if len(known.loss) else found

    def _judged(self, found: Evaluations) -> Evaluations:
        """The same with the loss of the one objective."""
        if found.criteria.objective == self.objective:
            return found
        aimed = replace(found, criteria=replace(found.criteria, objective=self.objective))
        return replace(aimed, loss=np.where(aimed.reason == 0, aimed.objective_value, np.inf))


def search_one(
    searcher: Searcher, gate: Evaluator, objective: str, share: int, rng: np.random.Generator
) -> None:
    """Spend a share of the budget by a search of one objective."""
    known = gate.known.genes
    own = Evaluator(_Aimed(gate, objective), share + len(known))
    try:
        if len(known):
            own.evaluate_start(known)
        searcher.search(own, rng)
    except BudgetExhausted:
        # Of the share; where it is that of the whole search, the gate says so.
        pass
