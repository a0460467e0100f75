# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Compiled algebra of matrices, for `dse.support.numerics`, which says what it is for.

Every sum has one order, and where several are made at once, they are beside each other, not parts of one sum:
so a CPU with wider vectors gives the same bits.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel, subroutine

_BLOCK = 4
"""Rows of a matrix that are taken at a time."""


@subroutine
def product(ones, others, out):
    """Write ones (n, k) times others (k, m) into `out`, which holds what is added to: row by row."""
    rows, inner, columns = ones.shape[0], ones.shape[1], others.shape[1]
    whole = inner - inner % _BLOCK
    for row in range(rows):
        # Four rows in one pass read and write `out` once; terms are added in the order of one at a time.
        for first in range(0, whole, _BLOCK):
            a, b, c, d = ones[row, first], ones[row, first + 1], ones[row, first + 2], ones[row, first + 3]
            for column in range(columns):
                total = out[row, column] + a * others[first, column]
                total = total + b * others[first + 1, column]
                total = total + c * others[first + 2, column]
                out[row, column] = total + d * others[first + 3, column]
        for last in range(whole, inner):
            a = ones[row, last]
            for column in range(columns):
                out[row, column] += a * others[last, column]


@kernel
def products(ones, others, out):
    """The same for stacks of matrices: (b, n, k), (b, k, m) and (b, n, m)."""
    for place in range(len(out)):
        product(ones[place], others[place], out[place])


@kernel
def factorise(matrix):
    """Make of a symmetric matrix (n, n) its upper factor U, U'U being the matrix: whether it is positive."""
    size = len(matrix)
    for row in range(size):
        whole = row - row % _BLOCK
        for first in range(0, whole, _BLOCK):
            a, b = matrix[first, row], matrix[first + 1, row]
            c, d = matrix[first + 2, row], matrix[first + 3, row]
            for column in range(row, size):
                total = matrix[row, column] - a * matrix[first, column]
                total = total - b * matrix[first + 1, column]
                total = total - c * matrix[first + 2, column]
                matrix[row, column] = total - d * matrix[first + 3, column]
        for last in range(whole, row):
            a = matrix[last, row]
            for column in range(row, size):
                matrix[row, column] -= a * matrix[last, column]
        pivot = matrix[row, row]
        # Written so that NaN fails too.
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        for column in range(row, size):
            matrix[row, column] /= root
        for column in range(row):
            # Left of the diagonal the given matrix still stands.
            matrix[row, column] = 0.0
    return True


@kernel
def forward(upper, values):
    """Solve U'x = values (n, m) in place."""
    columns = values.shape[1]
    for row in range(len(upper)):
        whole = row - row % _BLOCK
        for first in range(0, whole, _BLOCK):
            a, b = upper[first, row], upper[first + 1, row]
            c, d = upper[first + 2, row], upper[first + 3, row]
            for column in range(columns):
                total = values[row, column] - a * values[first, column]
                total = total - b * values[first + 1, column]
                total = total - c * values[first + 2, column]
                values[row, column] = total - d * values[first + 3, column]
        for last in range(whole, row):
            a = upper[last, row]
            for column in range(columns):
                values[row, column] -= a * values[last, column]
        for column in range(columns):
            values[row, column] /= upper[row, row]


@kernel
def backward(upper, values):
    """Solve Ux = values (n, m) in place."""
    columns = values.shape[1]
    for row in range(len(upper) - 1, -1, -1):
        for later in range(row + 1, len(upper)):
            a = upper[row, later]
            for column in range(columns):
                values[row, column] -= a * values[later, column]
        for column in range(columns):
            values[row, column] /= upper[row, row]


@kernel
def non_negative(squares, targets, found):
    """Write the weights >= 0 of least squares, from A'A (k, k) and A'b (k,): whether there was an end to it.

    Bro and de Jong, "A fast non-negativity-constrained least squares algorithm" (1997).
    """
    count = len(targets)
    passive = np.zeros(count, np.bool_)
    found[:] = 0.0
    # A slope that is only rounding lets nothing enter.
    least = 1e-12 * max(1.0, np.abs(targets).max())
    slope = targets.copy()
    # Exchanges come to an end in theory; with rounding they might go round in circles.
    for _ in range(3 * count):
        enters, steepest = -1, least
        for place in range(count):
            if not passive[place] and slope[place] > steepest:
                enters, steepest = place, slope[place]
        if enters < 0:
            return True
        passive[enters] = True
        while True:
            places = np.flatnonzero(passive)
            part, solved = np.empty((len(places), len(places))), np.empty((len(places), 1))
            for row in range(len(places)):
                solved[row, 0] = targets[places[row]]
                for column in range(len(places)):
                    part[row, column] = squares[places[row], places[column]]
                part[row, row] *= 1.0 + 1e-10
            if not factorise(part):
                return False
            forward(part, solved)
            backward(part, solved)
            # As far towards the solution as no weight falls below 0.
            share = 1.0
            for row in range(len(places)):
                if solved[row, 0] <= 0.0:
                    before = found[places[row]]
                    share = min(share, before / (before - solved[row, 0]) if before > 0.0 else 0.0)
            for row in range(len(places)):
                found[places[row]] += share * (solved[row, 0] - found[places[row]])
            if share == 1.0:
                break
            for row in range(len(places)):
                if found[places[row]] <= 1e-14 and solved[row, 0] <= 0.0:
                    found[places[row]] = 0.0
                    passive[places[row]] = False
            if not passive.any():
                break
        for place in range(count):
            total = targets[place]
            for other in range(count):
                total -= squares[place, other] * found[other]
            slope[place] = total
        # What has left as soon as it entered would enter again.
        slope[enters] = slope[enters] if passive[enters] else 0.0
    return False
