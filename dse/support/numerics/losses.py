"""Losses that rise with every figure, from products, sums and square roots alone."""

from __future__ import annotations

from typing import Any

import numpy as np

PLACE, TIMES, EXPONENT, WEIGHT, CAP = range(5)
"""Columns of a term; `ENTRIES` is how many there are."""
ENTRIES = 5


def loss_value(terms: Any, columns: Any) -> Any:
    """A product of powers of columns, and a weighted sum beside it: for numbers, compiled in
    kernels, and without caps for arrays.

    `terms` (n, ENTRIES) has, for each, its place among `columns`, by what that is multiplied, and the
    exponent with which it is a factor. With exponent 0 it is none: it is added with its weight, and above its
    cap the value is inf. IEEE rounds sums, products and square roots alike on every machine, and none of
    them falls where a column rises: the value of lower bounds is a lower bound, to the last bit.
    """
    found, added = 1.0, 0.0
    for row in range(len(terms)):
        figure = columns[int(terms[row, PLACE])] * terms[row, TIMES]
        exponent = terms[row, EXPONENT]
        if exponent == 1.0:
            # Nearly always: it is said apart as the kernels of proofs do little else.
            found = found * figure
            continue
        if exponent == 0.0:
            if terms[row, CAP] < np.inf and figure > terms[row, CAP]:
                return np.inf
            added = added + terms[row, WEIGHT] * figure
            continue
        whole = int(exponent)
        for _ in range(whole):
            found = found * figure
        # Behind the point, each binary digit is worth a square root of what the one before it was.
        rest = exponent - whole
        while rest > 0.0:
            figure = np.sqrt(figure)
            rest *= 2.0
            if rest >= 1.0:
                found = found * figure
                rest -= 1.0
    return found + added
