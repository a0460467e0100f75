# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Loops that undo each other: by the rules a tile moves by a loop's motion less that of all loops inside."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel, subroutine_with_arrays


@subroutine_with_arrays
def _gather(moves, some):
    """Write a chain's motions that are not 0 into `some`, and say how many they are."""
    count = 0
    for loop in range(len(moves)):
        if moves[loop] > 0:
            some[count] = moves[loop]
            count += 1
    return count


@subroutine_with_arrays
def _total(some, count, chosen):
    """The sum of those of `count` motions whose bits `chosen` has; motions are whole numbers: it is exact."""
    total = 0.0
    for one in range(count):
        if chosen >> one & 1:
            total += some[one]
    return total


@kernel
def may_meet(moves):
    """Whether the motion of one of a chain's loops is that of others together, or that and one of them again:
    with such loops inside of it, it brings nothing, or what the innermost of them brings.

    `moves` (chains, loops) are 0 for loops that run once. (chains,) out.
    """
    found = np.zeros(len(moves), dtype=np.bool_)
    some = np.empty(moves.shape[1])
    for chain in range(len(moves)):
        count = _gather(moves[chain], some)
        for chosen in range(1, 1 << count):
            total = _total(some, count, chosen)
            for one in range(count):
                if chosen >> one & 1:
                    continue
                found[chain] |= some[one] == total
                for other in range(count):
                    if chosen >> other & 1:
                        found[chain] |= some[one] == total + some[other]
    return found


@kernel
def sums_meet(moves, base, needs_another):
    """Whether the motion of one of a chain's loops is its `base` and the motions of some of its others.

    `moves` (chains, loops) are 0 for loops that run once; with `needs_another` at least one other has to be
    among them. (chains,) in, (chains,) out.
    """
    found = np.zeros(len(moves), dtype=np.bool_)
    some = np.empty(moves.shape[1])
    for chain in range(len(moves)):
        count = _gather(moves[chain], some)
        for one in range(count):
            # Any of the others may be the loops inside: a chain's loops may come in any order.
            for chosen in range(1 if needs_another else 0, 1 << count):
                if chosen >> one & 1:
                    continue
                if base[chain] + _total(some, count, chosen) == some[one]:
                    found[chain] = True
    return found
