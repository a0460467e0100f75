"""Something to minimise over the toy space: losses by a formula, crates that do not fit, and some refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.core.evaluations import Criteria, Evaluations
from dse.core.reasons import Reason
from dse.support.arrays import IntArray
from dse.testing.toy_space import HEIGHT, NAILS, ORDER, ORDERS, PAINT, STEPS, WIDTH, WOOD, ToySpace

SHELF = 40
"""The largest width times height that fits."""
HEAVY_WOOD = 2
"""Refused without nails."""
_MILLION = 1e6
_SURFACES = np.array([[0.8, 0.8, 0.8, 0.8], [0.5, 0.2, 0.7, 0.4], [0.6, 0.3, 0.0, 0.9]])
"""What a wood (rows) with a paint (columns) adds to the loss."""


class ToyProblem:
    """The best crate is 6 wide and 5 high, of wood 2 in paint 2, with 3 nails, its steps in reverse order.

    Its loss is 1; every other crate's is more. A third of all vectors or so are infeasible.
    """

    objective = "latency"

    def __init__(self) -> None:
        self.space = ToySpace()
        self.criteria = Criteria(self.objective, _MILLION, np.array([SHELF], np.int64))

    def price(self, genes: IntArray, /) -> Evaluations:
        """What the crates (n, 7) cost: millionths of the loss as cycles, the shelf as the buffer."""
        crates = self.space.canonical(genes)
        width, height, nails = crates[:, WIDTH] + 1, crates[:, HEIGHT] + 1, crates[:, NAILS]
        orders = ORDERS[crates[:, ORDER]]
        late = sum(orders[:, one] < orders[:, other] for one, other in combinations(range(STEPS), 2))
        loss = 1 + np.square(np.log2(width / 6)) + np.square(np.log2(height / 5))
        loss += 0.3 * np.square(nails - 3) + _SURFACES[crates[:, WOOD], crates[:, PAINT]] + 0.2 * late
        reasons = np.where(width * height > SHELF, int(Reason.L1_TOO_SMALL), 0).astype(np.uint8)
        refused = (crates[:, WOOD] == HEAVY_WOOD) & (nails == 0)
        reasons[refused] = Reason.NO_WORK
        cycles = np.where(refused, 0, np.rint(loss * _MILLION)).astype(np.int64)
        figures = cycles.astype(np.float64)
        return Evaluations(
            cycles=cycles,
            energy_nj=figures,
            power=figures.copy(),
            area=figures.copy(),
            l1_size=np.where(refused, 0, width * height),
            l2_size=np.where(refused, 0, nails),
            macs=np.where(refused, 0, 1),
            loss=np.where(reasons == 0, cycles / _MILLION, np.inf),
            reason=reasons,
            criteria=self.criteria,
        )
