"""Products of powers, from products and square roots alone."""

from __future__ import annotations

from typing import Any

import numpy as np


def product_of_powers(terms: Any, columns: Any) -> Any:
    """The product of columns, each scaled and to a power: for numbers, for arrays, and compiled in kernels.

    `terms` (n, 3) has, for each factor, its place among `columns`, by what that is multiplied, and the
    exponent, 0 or more. IEEE rounds products and square roots alike on every machine, and none of
    them falls where a column rises: the value of lower bounds is a lower bound, to the last bit.
    """
    found = 1.0
    for place in range(len(terms)):
        factor = columns[int(terms[place, 0])] * terms[place, 1]
        exponent = terms[place, 2]
        if exponent == 1.0:
            # Nearly always: it is said apart as the kernels of proofs do little else.
            found = found * factor
            continue
        whole = int(exponent)
        for _ in range(whole):
            found = found * factor
        # Behind the point, each binary digit is worth a square root of what the one before it was.
        rest = exponent - whole
        while rest > 0.0:
            factor = np.sqrt(factor)
            rest *= 2.0
            if rest >= 1.0:
                found = found * factor
                rest -= 1.0
    return found
