"""What mappings do that a machine may refuse, and how likely it is that one does."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.support.arrays import BoolArray, FloatArray, IntArray

USUAL, SUMMED, ACROSS, FULL, BOXES = 0.03, 0.1, 0.3, 0.03, 0.6
"""Chances that a judge refuses what a mapping does: with a dim; with one that outputs sum over; with such a
one across clusters; with a buffer that is nearly full; and where the boxes of tensors overflow any."""
SHARES = (0.5, 0.65, 0.8)
"""Of a buffer, what a judge that counts otherwise may take for all of it."""
COUNT = len(DIMS)


def traits_of(layer: Layer, machine: Accelerator, rows: IntArray) -> tuple[BoolArray, FloatArray]:
    """What n mappings do that a judge may refuse, (n, traits), and the chances that it does: (traits,).

    That they spread a dim over clusters, or over PEs, that they cut a dim at the outer level, or below, and
    how full the buffers are of tensors' boxes.
    """
    sizes = np.array([layer.loops[dim] for dim in DIMS])
    cut = [rows[:, first : first + COUNT] < sizes for first in (OUTER_TILE, INNER_TILE)]
    spread = [rows[:, [at]] == np.arange(COUNT) for at in (OUTER_PARALLEL, INNER_PARALLEL)]
    l1, l2 = _fullness(layer, machine, rows)
    full = [share[:, np.newaxis] > np.array(SHARES) for share in (l1, l2)]
    over = (np.maximum(l1, l2) > 1)[:, np.newaxis]
    chances = [share if dim in "CRS" else USUAL for share in (ACROSS, SUMMED) for dim in DIMS]
    chances += [SUMMED if dim in "RS" else USUAL for dim in DIMS] * 2
    chances += [FULL] * 2 * len(SHARES) + [BOXES]
    return np.concatenate([*spread, *cut, *full, over], axis=1), np.array(chances)


def _fullness(layer: Layer, machine: Accelerator, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """How full one PE's L1 and L2 are, (n,) each, of two boxes of each tensor, rows between strides too."""
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
