"""Which rules a judge may have for what it refuses, given what it refused and what it ran."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.core.layer import DIMS
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.arrays import BoolArray, FloatArray, IntArray

USUAL, SUMMED, ACROSS, FULL, BOXES = 0.03, 0.1, 0.3, 0.03, 0.6
"""Chances that a judge refuses what a mapping does: with a dim; with one that outputs sum over; with such a
one across clusters; with a buffer that is nearly full; and where the boxes of tensors overflow any."""
SHARES = (0.5, 0.65, 0.8)
"""Of a buffer, what a judge that counts otherwise may take for all of it."""
MOST, KEPT = 3, 300
"""Rules that are looked for together, and sets of them that are kept: the likeliest."""
UNEXPLAINED = 1e-3
"""Chance of a refusal that none of the rules says."""
COUNT = len(DIMS)


def traits(space: MappingSpace, genes: IntArray) -> tuple[BoolArray, FloatArray]:
    """What n points do that a judge may refuse, (n, traits), and how likely it is that one does: (traits,).

    That they spread a dim over clusters, or over PEs, that they cut a dim at the outer level, or below, and
    how full the buffers are of tensors' boxes.
    """
    rows, sizes = space.decode(genes).rows, np.array([space.layer.loops[dim] for dim in DIMS])
    cut = [rows[:, first : first + COUNT] < sizes for first in (OUTER_TILE, INNER_TILE)]
    spread = [rows[:, [at]] == np.arange(COUNT) for at in (OUTER_PARALLEL, INNER_PARALLEL)]
    l1, l2 = _fullness(space, rows)
    full = [share[:, np.newaxis] > np.array(SHARES) for share in (l1, l2)]
    over = (np.maximum(l1, l2) > 1)[:, np.newaxis]
    chances = [share if dim in "CRS" else USUAL for share in (ACROSS, SUMMED) for dim in DIMS]
    chances += [SUMMED if dim in "RS" else USUAL for dim in DIMS] * 2
    chances += [FULL] * 2 * len(SHARES) + [BOXES]
    return np.concatenate([*spread, *cut, *full, over], axis=1), np.array(chances)


def _fullness(space: MappingSpace, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """How full one PE's L1 and L2 are, (n,) each, of two boxes of each tensor, rows between strides too."""
    layer, machine = space.layer, space.accelerator
    sizes, each = np.array([layer.loops[dim] for dim in DIMS], np.float64), np.arange(len(rows))
    outer = np.clip(rows[:, OUTER_TILE : OUTER_TILE + COUNT], 1, sizes)
    inner = np.clip(rows[:, INNER_TILE : INNER_TILE + COUNT], 1, outer)
    spread = rows[:, OUTER_PARALLEL]
    outer[each, spread] *= np.maximum(machine.num_pes // np.maximum(rows[:, CLUSTER], 1), 1)
    outer = np.minimum(outer, sizes)
    held = []
    for tile, capacity in ((inner, machine.l1_size), (outer, machine.l2_size)):
        k, c, y, x, r, s = tile.T
        height = (y - 1) * layer.stride[0] + (r - 1) * layer.dilation[0] + 1
        width = (x - 1) * layer.stride[1] + (s - 1) * layer.dilation[1] + 1
        held.append(2 * (c * height * width + k * c * r * s + k * y * x) / max(capacity, 1))
    return held[0], held[1]


class Rules:
    """Sets of traits that a judge may refuse, as likely as they are by its answers."""

    def __init__(self, shown: BoolArray, refused: BoolArray, chances: FloatArray) -> None:
        """Of the traits (n, t) of n samples; a judge refuses a trait always, or never."""
        live = ~shown[~refused].any(axis=0)
        self._live = np.flatnonzero(live & (chances > 0))
        odds = np.log(chances[self._live] / (1 - chances[self._live]))
        seen = shown[refused][:, self._live]
        suspects = np.flatnonzero(seen.any(axis=0))
        # What no refusal has is independent of all that is known: its chance stays.
        self._others = np.setdiff1d(np.arange(len(self._live)), suspects)
        self._prior = np.log1p(-chances[self._live[self._others]])
        self._suspects = suspects
        sets = [each for size in range(MOST + 1) for each in combinations(range(len(suspects)), size)]
        member = np.zeros((len(sets), len(suspects)), np.bool_)
        for place, each in enumerate(sets):
            member[place, list(each)] = True
        explained = (member.astype(np.float32) @ seen[:, suspects].T.astype(np.float32)) > 0
        weights = member @ odds[suspects] + (~explained).sum(axis=1) * np.log(UNEXPLAINED)
        best = np.argsort(-weights, kind="stable")[:KEPT]
        self._member = member[best].astype(np.float64)
        weights = np.exp(weights[best] - weights[best[0]])
        self._weights = weights / weights.sum()

    def log_chance(self, shown: BoolArray) -> FloatArray:
        """The log of the chance that the judge runs points of these traits (m, t): (m,)."""
        live = shown[:, self._live].astype(np.float64)
        broken = (live[:, self._suspects] @ self._member.T) > 0
        runs = np.maximum(~broken @ self._weights, UNEXPLAINED)
        found: FloatArray = np.log(runs) + live[:, self._others] @ self._prior
        return found
