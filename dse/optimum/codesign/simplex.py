"""A small linear program: how much of each of some things, where all of them use up what there is 1 of each.

The simplex method on a dense tableau (Dantzig's rule, and Bland's where that goes on for long). There are few
kinds of what is used up, so it takes a few steps; a library takes milliseconds to look at its arguments.
"""

from __future__ import annotations

import numpy as np

from dse.support.arrays import FloatArray

SMALL = 1e-11
"""What is nearer to 0 counts as 0."""


def largest_sum(uses: FloatArray, worth: FloatArray) -> FloatArray:
    """The amounts (n,), none below 0, of the largest total `worth` (n,) that use up 1 of each of k at most.

    `uses` (n, k), none below 0, is what one of each uses up; each uses something, or is worth nothing. After
    too many steps the amounts are not the best, and keep the limits all the same.
    """
    count, kinds = uses.shape
    tableau = np.zeros((kinds + 1, count + kinds + 1))
    tableau[:-1, :count] = uses.T
    tableau[:-1, count:-1] = np.eye(kinds)
    tableau[:-1, -1] = 1.0
    tableau[-1, :count] = -worth
    basis = np.arange(count, count + kinds)
    for step in range(20 * (count + kinds)):
        gains = tableau[-1, :-1]
        # Bland's rule ends wherever Dantzig's goes in a circle.
        enters = int(gains.argmin()) if step < 4 * (count + kinds) else int((gains < -SMALL).argmax())
        column = tableau[:-1, enters]
        if gains[enters] >= -SMALL or not (column > SMALL).any():
            break
        ratios = np.full(kinds, np.inf)
        np.divide(np.maximum(tableau[:-1, -1], 0.0), column, out=ratios, where=column > SMALL)
        tied = np.flatnonzero(ratios <= ratios.min() * (1 + SMALL))
        leaves = int(tied[basis[tied].argmin()])
        tableau[leaves] /= tableau[leaves, enters]
        others = np.arange(kinds + 1) != leaves
        tableau[others] -= np.outer(tableau[others, enters], tableau[leaves])
        basis[leaves] = enters
    amounts = np.zeros(count + kinds)
    amounts[basis] = np.maximum(tableau[:-1, -1], 0.0)
    return amounts[:count]
