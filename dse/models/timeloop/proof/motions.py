# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Loops that undo each other: by the rules a tile moves by a loop's motion less that of all loops inside."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel


@kernel
def may_meet(moves):
    """Whether the motion of one of a chain's loops is that of others together, or that and one of them again:
    with such loops inside of it, it brings nothing, or what the innermost of them brings.

    `moves` (chains, loops) are 0 for loops that run once. (chains,) out.
    """
    found = np.zeros(len(moves), dtype=np.bool_)
    some = np.empty(moves.shape[1])
    for chain in range(len(moves)):
        count = 0
        for loop in range(moves.shape[1]):
            if moves[chain, loop] > 0:
                some[count] = moves[chain, loop]
                count += 1
        for chosen in range(1, 1 << count):
            total = 0.0
            for other in range(count):
                if chosen >> other & 1:
                    total += some[other]
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
        count = 0
        for loop in range(moves.shape[1]):
            if moves[chain, loop] > 0:
                some[count] = moves[chain, loop]
                count += 1
        for one in range(count):
            # Any of the others may be the loops inside: a chain's loops may come in any order.
            for chosen in range(1 if needs_another else 0, 1 << count):
                if chosen >> one & 1:
                    continue
                total = base[chain]
                for other in range(count):
                    if chosen >> other & 1:
                        total += some[other]
                if total == some[one]:
                    found[chain] = True
    return found
