"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 1983), with several chains side by side.

Steps up are judged relative to the loss, which has another scale on every problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dse.plugins import Evaluator, Limits


@dataclass(frozen=True)
class Annealing:
    """`chains` walk to neighbours; at first, a loss higher by the share `heat` is taken one time in e."""

    chains: Annotated[int, Limits(ge=1, le=10_000)] = 8
    heat: Annotated[float, Limits(gt=0)] = 0.2
    random_start: ClassVar[dict[str, Any]] = {}
    # It cools down as the budget ends: with a larger one the samples are others.
    plans_for_budget: ClassVar[bool] = True

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Walk until the budget is spent, which BudgetExhausted says; cool down in proportion."""
        here = evaluate.space.sample(rng, self.chains)
        losses = evaluate(here).loss.copy()
        while True:
            temperature = self.heat * evaluate.remaining / evaluate.budget
            there = evaluate.space.neighbour(rng, here)
            reached = evaluate(there).loss
            # No logarithms or differences of losses: infeasible points have the loss inf.
            taken = reached <= losses * (1 + temperature * rng.exponential(size=self.chains))
            here[taken], losses[taken] = there[taken], reached[taken]
