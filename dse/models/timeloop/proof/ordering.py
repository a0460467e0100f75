# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The orders of a level's loops, written into rows; compiled."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel


@kernel
def write_orders(rows, first_loop, first_place, level, allowed, every, most):
    """The rows (n, columns) once for each order of a level that differs in a loop that runs more than once,
    those of the first order first. `rows` have the level's factors from column `first_loop`, and its order is
    written from `first_place`.

    `level` are its `LevelOrders`, of which the first `most` are taken. Unless `every`, only those with an
    innermost dim that is `allowed` are written.
    """
    orders, starts, picks, innermost = level
    count, dims = len(rows), orders.shape[1]
    running = np.zeros(count, dtype=np.int64)
    ends = np.zeros(len(orders) + 1, dtype=np.int64)
    for row in range(count):
        for dim in range(dims):
            running[row] |= np.int64(rows[row, first_loop + dim] > 1) << dim
        for pick in range(starts[running[row]], starts[running[row] + 1]):
            if picks[pick] < most and (every or (innermost[pick] >= 0 and allowed[innermost[pick]])):
                ends[picks[pick] + 1] += 1
    for order in range(len(orders)):
        # Sums so far: where each order's rows begin, and, as rows are written, where its next one goes.
        ends[order + 1] += ends[order]
    found = np.empty((ends[-1], rows.shape[1]), dtype=rows.dtype)
    for row in range(count):
        for pick in range(starts[running[row]], starts[running[row] + 1]):
            if picks[pick] < most and (every or (innermost[pick] >= 0 and allowed[innermost[pick]])):
                order = picks[pick]
                place = ends[order]
                ends[order] += 1
                found[place] = rows[row]
                found[place, first_place : first_place + dims] = orders[order]
    return found
