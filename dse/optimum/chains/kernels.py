# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled search for the least that a matrix product moves: see `words`."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel


@kernel
def least_moved(sides, room, here, bits, comes, goes, first):
    """The least over all tiles, and all orders of the loops outside.

    `sides` are the divisors of rows, columns and sums, each from 1 up. `here` says of I, W and O whether it
    has a tile in the home, is by it (comes once) or is held: 2, 1, 0. `first` is
    1 where the first sums do not come. Inf where no tile fits.
    """
    rows, columns, sums = sides
    m, n, k = np.float64(rows[-1]), np.float64(columns[-1]), np.float64(sums[-1])
    words = (m * k, k * n, m * n)
    least = np.inf
    for a in rows:
        for b in columns:
            for c in sums:
                need = 0.0
                if here[0] == 2:
                    need += np.float64(a) * c * bits[0]
                if here[1] == 2:
                    need += np.float64(c) * b * bits[1]
                if here[2] == 2:
                    need += np.float64(a) * b * bits[2]
                if need > room:
                    break  # a longer sum needs no less
                trips = (m / a, n / b, k / c)
                for outer in range(3):
                    for middle in range(3):
                        if middle == outer:
                            continue
                        inner = 3 - outer - middle
                        total = 0.0
                        for tensor in range(3):
                            if here[tensor] == 0:
                                continue
                            # The loop that the tensor does not have: columns, rows, sums.
                            other = 1 if tensor == 0 else 0 if tensor == 1 else 2
                            # It comes again if a loop further in moves it: else it is still there.
                            moved = False
                            if other == outer:
                                moved = trips[middle] > 1 or trips[inner] > 1
                            elif other == middle:
                                moved = trips[inner] > 1
                            again = trips[other] if moved and here[tensor] == 2 else 1.0
                            if tensor == 2:
                                total += words[2] * (again * goes + (again - first) * comes[2])
                            else:
                                total += words[tensor] * again * comes[tensor]
                        least = min(least, total)
    return least
