"""What one dim of the outer level adds to MAESTRO's volumes, for pairs of tiles of any size.

The section numbers are those of the behavioural specification of MAESTRO. Layers are of stride 1, unpadded.
Every volume is a product of such figures, which are sums over the states of a loop (6.1): its first steps,
steady ones, and one at the edge.
"""

from __future__ import annotations

import numpy as np

from dse.support.arrays import IntArray


def serial_steps(size: int, outer: IntArray, inner: IntArray, across: int, within: int) -> IntArray:
    """Indices that the busiest PE works on, one after the other."""

    def inside(length: IntArray) -> IntArray:
        if within == 1:
            return length
        round_ = inner * within
        steps: IntArray = length // round_ * inner + np.minimum(inner, length % round_)
        return steps

    span = outer * across
    steps: IntArray = size // span * inside(outer) + inside(np.minimum(outer, size % span))
    return steps


def outer_figures(
    size: int, halo: int, tile: IntArray, across: int, *, of_image: bool
) -> dict[str, IntArray]:
    """Figures of outer tiles (n,) of a dim over so many clusters: 1 where it is not the parallel dim.

    `steps`: of the loop. `held`: what the first step of all reads; `again`: what a first step inside of a
    loop that advances reads. `every` and `on`: what all steps read, and all but the first; `on_new`: the
    same where neighbouring steps overlap. `least`: `again` and `on_new` together. `swept`: `held` in each
    step. `left`: outputs of the first step; `written`: of all.
    """
    span = tile * across
    steps, rest = -(-size // span), size % span
    whole, over = tile + halo, size % tile
    short = size < span
    last = np.where(over > 0, over + halo, whole)
    # Units of the first step where it is short, and of the one at the edge (5.2).
    first_units = np.minimum(-(-size // tile), across)
    edge_units = np.maximum(rest // tile, 1)
    edge_partial = (rest > tile) & (rest % tile > 0)
    at_edge = (steps > 1) & (rest > 0)
    steady = steps - 1 - at_edge

    def array(units: IntArray, partial: IntArray, one: IntArray, part: IntArray) -> IntArray:
        """All units of the array in a step: a whole one and others, or one that may be partial (7.4)."""
        several = whole + np.maximum(units - partial - 1, 0) * one + partial * part
        return np.where(units > 1, several, np.where(partial > 0, last, whole))

    # Where units share a halo, the others have the tile alone, and the partial one its rest.
    begins, ends = short.astype(np.int64), edge_partial.astype(np.int64)
    held, again = array(first_units, begins, whole, last), array(first_units, begins, tile, over)
    on = steady * across * whole + at_edge * array(edge_units, ends, whole, last)
    on_new = steady * (whole + (across - 1) * tile) + at_edge * array(edge_units, ends, tile, over)
    if across == 1:
        # A loop that is not spread brings its tile where the next one overlaps (7.2).
        held, again, on = whole, whole, (steps - 1) * whole
        on_new = (steps - 1) * tile
    written = _written(size, tile, across, last, of_image=of_image)
    return {
        "steps": steps, "held": held, "again": again, "on": on, "on_new": np.minimum(on, on_new),
        "every": held + on, "least": again + np.minimum(on, on_new), "swept": steps * held, **written,
    }  # fmt: skip


def _written(
    size: int, tile: IntArray, across: int, last: IntArray, *, of_image: bool
) -> dict[str, IntArray]:
    """Outputs that leave the array (7.3); a lone unit at the edge writes what it reads."""
    if across == 1:
        return {"left": tile, "written": np.full_like(tile, size)}
    span, over = tile * across, size % tile
    steps, rest = -(-size // span), size % span
    partial = np.where(over == 0, tile, over) if of_image else over
    units = np.minimum(-(-size // tile), across)
    short = (size < span) & (units > 1)
    left = units * tile - short * (tile - partial)
    at_edge = (steps > 1) & (rest > 0)
    units = np.maximum(rest // tile, 1)
    edge = np.where(units == 1, last, units * tile - (over > 0) * (tile - partial))
    return {"left": left, "written": left + (steps - 1 - at_edge) * span + at_edge * edge}
