"""What searchers that compare points share: a score for every point, and which were drawn before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dse.spec.reasons import Reason
from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from dse.problem.problem import Evaluations
    from dse.space.mapping_space import MappingSpace
    from dse.spec.accelerator import Accelerator


Redraw = Callable[[IntArray, IntArray], IntArray]
"""Given the indices (m,) of rows and their points (m, genes), other points for them: (m, genes)."""

BEYOND_ANY_LOSS = 1e200


def scores(evaluations: Evaluations, accelerator: Accelerator) -> FloatArray:
    """Numbers (n,) to minimise: losses, and beyond all losses the infeasible points.

    Those that do not fit the buffers come by the doublings, of L1 and of L2, that they need beyond what there
    is; those that are infeasible for another reason come last and are `inf`.
    """
    needed = ((evaluations.l1_size, accelerator.l1_size), (evaluations.l2_size, accelerator.l2_size))
    doublings = sum(np.log2(np.maximum(size, capacity) / capacity) for size, capacity in needed)
    too_large = np.isin(evaluations.reason, (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL))
    return np.where(too_large, BEYOND_ANY_LOSS * (1 + doublings), evaluations.loss)


class Drawn:
    """The mappings that a search has drawn.

    Every sample is paid for, also one that is known: a search that keeps to a region does well to look where
    it has not been. Different gene vectors of one mapping count as one.
    """

    def __init__(self, space: MappingSpace) -> None:
        self._space = space
        self._keys: set[bytes] = set()
        self._width = np.min_scalar_type(int(space.sizes.max()))

    def renew(self, genes: IntArray, redraw: Redraw, tries: int) -> IntArray:
        """`genes` (n, genes), the mappings drawn before and those that come twice drawn again.

        After so many tries what is still known stays, as it must where a space has no other points left.
        """
        genes = genes.copy()
        keys = self._keys_of(genes)
        for _ in range(tries):
            repeats = self._repeats(keys)
            if not len(repeats):
                break
            genes[repeats] = redraw(repeats, genes[repeats])
            keys = self._keys_of(genes)
        self._keys.update(keys)
        return genes

    def _keys_of(self, genes: IntArray) -> list[bytes]:
        smallest = self._space.encode(self._space.decode(genes)).astype(self._width)
        return [row.tobytes() for row in smallest]

    def _repeats(self, keys: list[bytes]) -> IntArray:
        """The indices of keys that are known or stand earlier among `keys`."""
        repeats, fresh = [], set()
        for row, key in enumerate(keys):
            if key in self._keys or key in fresh:
                repeats.append(row)
            fresh.add(key)
        return np.array(repeats, dtype=np.int64)
