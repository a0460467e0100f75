"""Where a box is split in two: where the bounds of both halves rise most."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import PES, SIZES
from dse.models.loopnest.proof.boxes.box import bound_box
from dse.models.loopnest.proof.boxes.dims import quotient
from dse.models.loopnest.proof.boxes.fitting import HIGH, LEAST, LOW, MOST
from dse.models.loopnest.proof.boxes.links import span_decided
from dse.models.loopnest.proof.boxes.parts import small
from dse.support.compiling import subroutine

# A half that does not rise at all counts as one that rises by this share of its bound.
LEAST_RISE = 1e-7


@subroutine
def middle(box, dim, level, choice, params):
    """The last tile of the lower half of a box's interval."""
    if level == 1:
        least, most = box[dim, LEAST], box[dim, MOST]
        return min(max(int(np.sqrt(float(least) * most)), least), most - 1)
    low, high, size = box[dim, LOW], box[dim, HIGH], params[SIZES + dim]
    across = params[PES] // choice[0] if dim == choice[1] else 1
    half = min(max(int(np.sqrt(float(low) * high)), low), high - 1)
    steps = quotient(size, half * across)
    # Where the outer steps change, if they do.
    if steps > 1:
        last = (size - 1) // ((steps - 1) * across)
        if last < high:
            return last
    first = quotient(size, steps * across) - 1
    if first >= low:
        return first
    return half


@subroutine
def halve(boxes, source, target, dim, level, half):
    """Writes the lower and the upper half of a box to `target` and the place after it."""
    for each in range(4):
        for column in range(4):
            boxes[target + 1, each, column] = boxes[source, each, column]
    for each in range(4):
        for column in range(4):
            boxes[target, each, column] = boxes[target + 1, each, column]
    if level == 0:
        boxes[target, dim, HIGH], boxes[target + 1, dim, LOW] = half, half + 1
        boxes[target, dim, MOST] = min(boxes[target, dim, MOST], half)
    else:
        boxes[target, dim, MOST], boxes[target + 1, dim, LEAST] = half, half + 1
        boxes[target + 1, dim, LOW] = max(boxes[target + 1, dim, LOW], half + 1)


@subroutine
def open_at(box, dim, level, undecided, choice, params):
    """Whether a box can be split there; where outer steps are `undecided`, by them alone."""
    if level == 1:
        return box[dim, LEAST] < box[dim, MOST] and not undecided
    return box[dim, LOW] < box[dim, HIGH] and not (undecided and span_decided(box, dim, choice, params))


@subroutine
def undecided_tiles(box, choice, params):
    """How many choices of outer tiles a box has of dims whose outer steps are not decided; 1 if all are."""
    found = 1.0
    for dim in range(4):
        if not span_decided(box, dim, choice, params):
            found *= box[dim, HIGH] - box[dim, LOW] + 1
    return found


@subroutine
def widest(box, undecided, choice, params):
    """The dim and the level (0 outer, 1 inner) where a box is widest; dim -1 if it is a point."""
    found, level, most = -1, 0, 0.0
    clusters = params[PES] // choice[0]
    for dim in range(4):
        low, high = box[dim, LOW], box[dim, HIGH]
        if open_at(box, dim, 0, undecided, choice, params):
            across = clusters if dim == choice[1] else 1
            size = params[SIZES + dim]
            wide = quotient(size, low * across) / quotient(size, high * across)
            wide = max(wide, 1.0 + 0.1 * (high / low - 1.0))
            if wide > most:
                found, level, most = dim, 0, wide
    for dim in range(4):
        if open_at(box, dim, 1, undecided, choice, params):
            wide = box[dim, MOST] / box[dim, LEAST]
            if wide > most:
                found, level, most = dim, 1, wide
    return found, level


@subroutine
def branch(
    boxes, at, known_bound, to_beat, outer_first, choice, params, sizes, constants, terms, orders,
    order_table, dims, shares, fills, cases, known_outer, counts, starts,
):  # fmt: skip
    """The dim and the level (0 outer, 1 inner) to split a box at, and where; dim -1 if it is a point.

    A small box is split where it is widest. Of others all halves are tried, in the places behind the box: the
    best have the greatest product of their rises, up to what is `to_beat`. Where there are at most
    `outer_first` choices of outer tiles, outer steps come first: the link's time follows from them.
    """
    box, most = boxes[at], -1.0
    undecided = 1 < undecided_tiles(box, choice, params) <= outer_first
    found, at_level = widest(box, undecided, choice, params)
    at_half = 0 if found < 0 else middle(box, found, at_level, choice, params)
    if found < 0 or small(box):
        return found, at_level, at_half
    for level in range(1, -1, -1):
        for dim in range(4):
            if not open_at(box, dim, level, undecided, choice, params):
                continue
            half = middle(box, dim, level, choice, params)
            halve(boxes, at, at + 1, dim, level, half)
            product = 1.0
            for side in range(1, 3):
                bound = bound_box(
                    boxes[at + side], choice, params, sizes, constants, terms, orders, order_table, dims,
                    shares, fills, cases, known_outer, counts, starts,
                )  # fmt: skip
                product *= max(min(bound, to_beat) - known_bound, LEAST_RISE * known_bound)
            if product > most:
                found, at_level, at_half, most = dim, level, half, product
    return found, at_level, at_half
