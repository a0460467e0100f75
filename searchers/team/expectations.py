"""What an architect expects of a mapping's figures before the first sample, as weights of its counts.

Cost models differ in what they count, so there are two hypotheses, between which the samples decide, for
each figure by itself (see `Trend`).

In the first a machine overlaps and keeps what it can. Cycles are those of double buffers (see
time_kernel.py), whether clusters share the NoC or have one each, and whether a tile stays in its PE while
outer loops turn that do not change it, or comes again. Inputs come whole or, as a window slides, with their
new rows alone. Half is expected of each such way. A buffer holds what a step needs, twice. Energies are
relative: a word from L2 takes 6 times as much as a MAC, a word over the NoC 2 times, from DRAM 200 times
(Chen et al., "Eyeriss", ISCA 2016, Table IV), but as a cost model may leave DRAM out, 60 times is expected; a
MAC goes with four accesses of L1.

In the second, what MAESTRO does (its rules in closed form: experiments/comparisons/maestro_rules.py), every
tile comes from off-chip in every turn of the outer loops, whether or not it stays, and clusters have a NoC
each; energy is that of the words that L2 takes and gives alone, without the last unit's where units idle.

Weights are learned from there on: of other figures nothing is expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray
from searchers.team.columns import (
    ANEW,
    DELIVERED,
    HELD,
    KEPT,
    LEVEL_WIDTH,
    MOVED,
    MULTICAST,
    SENT_ONCE,
    SLID,
    STEPS,
    TENSORS,
    TIMES,
    TOGETHER,
    UNCOUNTED,
    WIDTH,
)  # fmt: skip

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator

ADDENDS = [
    level + first + tensor
    for level in (0, LEVEL_WIDTH)
    for first in (HELD, TOGETHER, MOVED)
    for tensor in range(TENSORS)
] + list(range(STEPS, WIDTH))
"""The columns that figures may be sums of."""
PLAIN_ADDENDS = ADDENDS[: ADDENDS.index(ANEW)]
"""Those where nothing is expected."""
_DRAM, _L2, _NOC, _MAC = 60.0, 6.0, 2.0, 4.0
HYPOTHESES = 2


def expected_weights(factors: tuple[str, ...], layer: Layer, accelerator: Accelerator) -> FloatArray:
    """Weights (hypotheses, addends + 1, factors + 2) for the factors by name, then the needs of L1 and L2.

    Without factors the objective is learned as a whole, of which nothing is expected.
    """
    weights = np.zeros((HYPOTHESES, len(ADDENDS) + 1, max(len(factors), 1) + 2))

    def expect(first: int, count: int, figure: int, weight: float, hypothesis: int | slice = 0) -> None:
        place = ADDENDS.index(first)
        weights[hypothesis, place : place + count, figure] = weight

    for figure, name in enumerate(factors):
        if name == "cycles":
            expect(TIMES, 4, figure, 0.25)
            expect(ANEW, 1, figure, 1.0, 1)
        elif name == "energy_nj":
            expect(MOVED, 1, figure, _DRAM)
            expect(MOVED + 1, 2, figure, _DRAM / 2)
            expect(SLID, 2, figure, _DRAM / 2)
            for first in (MULTICAST, SENT_ONCE):
                expect(first, TENSORS, figure, _L2 / 2)
            for first in (DELIVERED, KEPT):
                expect(first, TENSORS, figure, _NOC / 2)
            weights[0, -1, figure] = _MAC * layer.macs
            expect(UNCOUNTED, TENSORS, figure, 1.0, 1)
            weights[1, -1, figure] = layer.C * (layer.Y * layer.X + layer.K * layer.R * layer.S)
    both = slice(None)
    expect(LEVEL_WIDTH + HELD, TENSORS, -2, 2 / (accelerator.l1_size + 0.5), both)
    expect(TOGETHER, TENSORS, -1, 2 / (accelerator.l2_size + 0.5), both)
    return weights
