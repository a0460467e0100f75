"""What the winners of a problem's runs cost under another cost model than the one they were found by.

A winner is the best mapping of a run at the end of its budget. The other model prices it as it prices any
mapping: `loopnest` on the layer with its stride and padding, `maestro` on the lowered layer; a problem's
winners in one batch.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.analysis.problems import Made
from dse.analysis.reduction import LayerFigures
from dse.campaign.summary import Summary
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError

NOT_RECORDED = "This folder does not keep the winners' mappings."
UNPRICED = LayerFigures(1, math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class Winner:
    """A run's best mapping under the other model: its figures, infinite where it is not feasible.

    `reason` says why it is not. A run that has found nothing feasible has no winner (`found` is False).
    """

    point: LayerFigures
    found: bool = True
    reason: Reason = Reason.FEASIBLE

    @property
    def loss(self) -> float:
        """In the objective's unit under the other model."""
        return self.point.loss


def price_winners(made: Made, cells: Sequence[Summary], model: str) -> tuple[Winner, ...]:
    """The winners of a problem's cells, in the cells' order. InputError says why they cannot be priced."""
    if made.problem is None:
        raise InputError(made.why_not)
    found = [cell for cell in cells if math.isfinite(cell.best)]
    if any(not cell.genes for cell in found):
        raise InputError(NOT_RECORDED)
    try:
        prices = _price(replace(made.problem, cost_model=model), found)
    except ValueError as error:
        raise InputError(f"A winner's mapping cannot be read from this folder: {error}") from None
    return tuple(prices.get(cell.key, Winner(UNPRICED, found=False)) for cell in cells)


def _price(problem: Problem, cells: Sequence[Summary]) -> dict[str, Winner]:
    if not cells:
        return {}
    priced = problem.price(np.array([cell.genes for cell in cells], dtype=np.int64))
    seconds = problem.accelerator.cycle_seconds
    found = {}
    for place, cell in enumerate(cells):
        reason = Reason(int(priced.reason[place]))
        point = replace(UNPRICED, repeats=cell.repeats)
        if reason is Reason.FEASIBLE:
            cycles, energy_nj = float(priced.cycles[place]), float(priced.energy_nj[place])
            point = LayerFigures(cell.repeats, float(priced.loss[place]), cycles * seconds, energy_nj * 1e-9)
        found[cell.key] = Winner(point, True, reason)
    return found


def reasons(winners: Sequence[Winner]) -> dict[str, int]:
    """How many of the winners are infeasible, by reason, the commonest first."""
    counts = Counter(one.reason for one in winners if one.reason is not Reason.FEASIBLE)
    return {reason.name.lower(): count for reason, count in counts.most_common()}
