"""The fewest words that the outer level reads from L2 under MAESTRO, of the loop orders that are allowed.

In a step the innermost loop that has advanced decides: a tensor that does not depend on it is not read, also
where loops inside begin anew (section 7.2 of the specification). So an order's reads add up from the inside
out: of a loop that a tensor depends on each step reads, of another one only advances inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dse.support.arrays import BoolArray, FloatArray

K, C, Y, X = range(4)
Value = FloatArray | float


class Reads(NamedTuple):
    """Of a tensor, by the loops inside of a place: what the first step of all reads, a first step inside of
    another loop, what advances read; all reads, by another bound; and whether a loop surely advances.
    """

    first: Value
    again: Value
    advances: Value
    every: Value
    moves: BoolArray | bool


def least_reads(
    dims: Sequence[Mapping[str, FloatArray]],
    orders: Sequence[tuple[int, ...]],
    inputs: Sequence[int],
    weights: Sequence[int],
    taps: int,
) -> FloatArray:
    """Inputs and weights that boxes (n,) read at least."""
    known: dict[tuple[int, tuple[int, ...]], Reads] = {}
    volumes = ((inputs, 1.0), (weights, float(taps)))

    def reads(tensor: int, order: tuple[int, ...]) -> Reads:
        """Of the loops of an order, the last one innermost."""
        coupled, volume = volumes[tensor]
        if not order:
            return Reads(volume, volume, 0.0, volume, False)
        if (tensor, order) not in known:
            inside, dim = reads(tensor, order[1:]), dims[order[0]]
            known[tensor, order] = (_read if order[0] in coupled else _passed)(dim, inside)
        return known[tensor, order]

    least = np.full(len(dims[0]["steps"]), np.inf)
    for order in orders:
        words: Value = 0.0
        for tensor in (0, 1):
            found = reads(tensor, order)
            words = words + np.maximum(found.every, found.first + found.advances)
        least = np.minimum(least, words)
    return least


def _read(dim: Mapping[str, FloatArray], inside: Reads) -> Reads:
    """A loop that the tensor depends on: it advances by a whole tile where one inside begins anew.

    `every` is a bound by all steps of one tile: figures of a box's least tiles may be of different ones.
    """
    on = np.where(inside.moves, dim["on"], dim["on_new"])
    return Reads(
        dim["held"] * inside.first,
        dim["again"] * inside.again,
        on * inside.again + dim["every"] * inside.advances,
        dim["least"] * inside.every,
        inside.moves | (dim["steps"] > 1),
    )


def _passed(dim: Mapping[str, FloatArray], inside: Reads) -> Reads:
    """A loop that the tensor does not depend on."""
    more = dim["steps"] - 1
    return inside._replace(
        advances=dim["steps"] * inside.advances, every=inside.every + more * inside.advances
    )
