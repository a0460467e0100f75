"""The best mapping of boxes: they are split in two until a bound rules them out or one is left."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.mapping import (
    COLUMNS,
    INNER_ORDER,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_TILE,
)
from dse.models.loopnest.params import FILTER_ROWS
from dse.models.loopnest.proof.boxes.box import CASE_COLUMNS, X, Y, bound_box
from dse.models.loopnest.proof.boxes.branching import branch, halve
from dse.models.loopnest.proof.boxes.dims import COLUMNS as DIM_COLUMNS
from dse.models.loopnest.proof.boxes.dims import SHARES
from dse.models.loopnest.proof.boxes.fitting import HIGH, LEAST, LOW, MOST
from dse.models.loopnest.proof.boxes.inner import CASES
from dse.models.loopnest.proof.boxes.links import link_scratch
from dse.models.loopnest.proof.boxes.point import point_scratch, price_point
from dse.models.loopnest.proof.boxes.small import bound_further, small_scratch
from dse.models.loopnest.proof.boxes.transitions import transition_scratch
from dse.models.loopnest.totals import COUNT_COLUMNS
from dse.support.compiling import kernel, subroutine
from dse.support.numerics.losses import PLACE

DEPTH = 1024
FEW = 64.0
"""Choices of outer tiles up to which they are told apart first, where both cycles and energy count."""
# What was done: boxes bounded, points whose orders were priced.
BOUNDED, PRICED = range(2)
DONE = 2


@subroutine
def read_group(number, sizes, clusters, parallels, classes, box, choice):
    """Sets a group's box and choice; False if it is the same as another one."""
    inner = number % parallels[1, 0]
    rest = number // parallels[1, 0]
    outer = rest % parallels[0, 0]
    rest //= parallels[0, 0]
    cluster = rest % len(clusters)
    rest //= len(clusters)
    choice[0] = clusters[cluster]
    choice[1], choice[2] = parallels[0, 1 + outer], parallels[1, 1 + inner]
    for place in range(4):
        dim = 3 - place
        row = rest % classes[dim, 0, 0]
        rest //= classes[dim, 0, 0]
        box[dim, LOW], box[dim, HIGH] = classes[dim, 1 + row, 0], classes[dim, 1 + row, 1]
        box[dim, LEAST], box[dim, MOST] = classes[dim, 0, 2], min(classes[dim, 0, 3], box[dim, HIGH])
    alone = (sizes[2] // choice[0] == 1 and outer > 0) or (choice[0] == 1 and inner > 0)
    return not alone and not (sizes[3] == 1 and has_mirror(box, choice))


@subroutine
def has_mirror(box, choice):
    """Whether the group with Y and X in each other's place comes first, where they cost the same."""
    if box[Y, LOW] != box[X, LOW]:
        return box[Y, LOW] < box[X, LOW]
    mirrored = Y + X - choice[1] if choice[1] >= Y else choice[1]
    if choice[1] != mirrored:
        return choice[1] > mirrored
    return choice[2] == X


@kernel
def bound_groups(
    start,
    stop,
    params,
    sizes,
    constants,
    terms,
    clusters,
    parallels,
    classes,
    orders,
    order_table,
    counts,
    starts,
    losses,
):
    """Writes the bounds of the groups from `start` up to `stop`; inf where nothing fits.

    `counts` has tables of undominated pairs for dims that are not parallel, from `starts` (4) on.
    """
    box, choice = np.zeros((4, 4), np.int64), np.zeros(3, np.int64)
    dims, shares = np.zeros((4, DIM_COLUMNS), np.int64), np.zeros((4, SHARES))
    fills, cases = np.zeros((2, 4, 3), np.int64), np.zeros((CASES + 1, CASE_COLUMNS), np.int64)
    known_outer, alone = np.zeros(10, np.int64), np.empty(4, np.int64)
    for number in range(start, stop):
        losses[number - start], known_outer[0] = np.inf, 0
        if read_group(number, sizes, clusters, parallels, classes, box, choice):
            for dim in range(4):
                alone[dim] = -1 if dim == choice[1] or dim == choice[2] else starts[dim]
            losses[number - start] = bound_box(
                box,
                choice,
                params[0],
                sizes,
                constants,
                terms,
                orders[0],
                order_table,
                dims,
                shares,
                fills,
                cases,
                known_outer,
                counts,
                alone,
            )


@kernel
def search_groups(
    numbers, losses, params, known, sizes, constants, terms, clusters, parallels, classes, orders,
    order_table, counts, starts, best, row_of_best, done,
):  # fmt: skip
    """Searches groups whose bounds rise, while they are below the best loss, `best[0]`."""
    choice = np.zeros(3, np.int64)
    dims, shares = np.zeros((4, DIM_COLUMNS), np.int64), np.zeros((4, SHARES))
    fills, cases = np.zeros((2, 4, 3), np.int64), np.zeros((CASES + 1, CASE_COLUMNS), np.int64)
    known_outer = np.zeros(10, np.int64)
    boxes, bounds = np.zeros((DEPTH, 4, 4), np.int64), np.zeros(DEPTH)
    rows = np.zeros((1, COLUMNS), np.int64)
    for row in range(len(rows)):
        for level in range(2):
            order, tile = (OUTER_ORDER, OUTER_TILE) if level == 0 else (INNER_ORDER, INNER_TILE)
            for axis in range(2):
                rows[row, order + 4 + axis] = 4 + axis
                rows[row, tile + 4 + axis] = params[0, FILTER_ROWS + axis]
    integers, floats, scratch = np.zeros((4, 1), np.int64), np.zeros((3, 1)), point_scratch()
    parts, links = small_scratch(params[0]), (link_scratch(), transition_scratch())
    timed, paid = np.any(terms[:, PLACE] == 0), np.any(terms[:, PLACE] == 1)
    outer_first = 0.0 if not timed else FEW if paid else np.inf
    reasons, details = np.zeros(1, np.uint8), np.zeros((0, COUNT_COLUMNS), np.int64)
    for index in range(len(numbers)):
        if not losses[index] < best[0]:
            return
        read_group(numbers[index], sizes, clusters, parallels, classes, boxes[0], choice)
        # In another group, the same tiles are spread in another way.
        bounds[0], depth, known_outer[0] = losses[index], 1, 0
        while depth > 0:
            depth -= 1
            if not bounds[depth] < best[0]:
                continue
            box = boxes[depth]
            dim, level, half = branch(
                boxes, depth, bounds[depth], best[0], outer_first, choice, params[0], sizes, constants, terms,
                orders[0], order_table, dims, shares, fills, cases, known_outer, counts, starts,
            )  # fmt: skip
            if dim < 0:
                done[PRICED] += 1
                bound_box(
                    box, choice, params[0], sizes, constants, terms, orders[0], order_table, dims, shares,
                    fills, cases, known_outer, counts, starts,
                )  # fmt: skip
                bound_further(
                    box, choice, params[0], constants, terms, orders, order_table, dims, cases,
                    known_outer[8], timed, best[0], parts, links, counts, starts,
                )  # fmt: skip
                price_point(
                    box, choice, params, known, sizes, constants, terms, timed, orders, order_table, dims,
                    cases, rows, integers, floats, reasons, details, scratch, best, row_of_best,
                )  # fmt: skip
                continue
            halve(boxes, depth, depth, dim, level, half)
            for side in range(2):
                bounds[depth + side] = bound_box(
                    boxes[depth + side], choice, params[0], sizes, constants, terms, orders[0], order_table,
                    dims, shares, fills, cases, known_outer, counts, starts,
                )  # fmt: skip
                if bounds[depth + side] < best[0]:
                    further = bound_further(
                        boxes[depth + side], choice, params[0], constants, terms, orders, order_table, dims,
                        cases, known_outer[8], timed, best[0], parts, links, counts, starts,
                    )  # fmt: skip
                    bounds[depth + side] = max(bounds[depth + side], further)
            done[BOUNDED] += 2
            if bounds[depth] < bounds[depth + 1]:
                # The better one is looked at first.
                bounds[depth], bounds[depth + 1] = bounds[depth + 1], bounds[depth]
                for each in range(4):
                    for column in range(4):
                        kept = boxes[depth, each, column]
                        boxes[depth, each, column] = boxes[depth + 1, each, column]
                        boxes[depth + 1, each, column] = kept
            depth += 2
