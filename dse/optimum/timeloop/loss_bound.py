# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled bound: a loss that no mapping with the factors chosen so far is below, whatever the orders."""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.optimum.timeloop.words import SPATIAL, TEMPORAL, received, served, served_to_macs
from dse.support.jit import LEAN

READ, WRITE, SHARED = range(3)
LATENCY, ENERGY, EDP = range(3)


@njit(**LEAN)
def bound(chosen, assigned, possible, words, m):
    """A loss that no mapping with the chains chosen so far is below, in cycles, pJ or their product.

    `possible` (groups) and `words` (levels, 2) are scratch. Of the deliveries to a level, one group of dims
    has the innermost loop outside of it: what that moves comes again with every step, and the least over the
    groups counts.
    """
    tensors, dims, _ = m.moves.shape
    levels = len(m.capacity)
    steps = 1.0
    for dim in range(dims):
        steps *= m.chains[chosen[dim], TEMPORAL, levels] if assigned[dim] else m.least_steps[dim]
    cycles = max(steps, m.least_cycles)
    energy = m.mac_pj
    words[:] = 0.0
    for tensor in range(tensors):
        level = levels - 1
        while not m.keep[level, tensor]:
            level -= 1
        down, first = served_to_macs(tensor, level, chosen, assigned, m)
        energy += hand_down(tensor, level, down, first, words, m)
    for level in range(1, levels):
        energy += deliver(level, chosen, assigned, possible, words, m)
    leak = 0.0
    for level in range(levels):
        used = 1.0
        for dim in range(dims):
            used *= m.chains[chosen[dim], SPATIAL, level] if assigned[dim] else m.most_wide[dim, level]
        used = min(used, m.instances[level])
        leak += m.leak[level]
        cycles = max(cycles, words[level, READ] / used / m.bandwidth[level, READ])
        cycles = max(cycles, words[level, WRITE] / used / m.bandwidth[level, WRITE])
        both = words[level, READ] + words[level, WRITE]
        cycles = max(cycles, both / used / m.bandwidth[level, SHARED])
    energy += leak * cycles
    if m.objective == LATENCY:
        return cycles
    return energy if m.objective == ENERGY else energy * cycles


@njit(**LEAN)
def hand_down(tensor, level, down, first, words, m):
    """Adds what a level reads, and of an output is sent, to its words: the energy of it."""
    if tensor == m.output:
        words[level, READ] += down - first
        words[level, WRITE] += down
        return (down - first) * m.pj[level, 0] + down * m.pj[level, 2]
    words[level, READ] += down
    return down * m.pj[level, 0]


@njit(**LEAN)
def deliver(level, chosen, assigned, possible, words, m):
    """The least energy of all deliveries to a level, of the groups that can be the innermost; adds the least
    words of each kind to `words`.
    """
    tensors = m.moves.shape[0]
    innermost(level, chosen, assigned, possible, m)
    least, any_group = np.inf, False
    fills, least_fills = 0.0, np.inf
    for tensor in range(tensors):
        if m.keep[level, tensor]:
            any_group = True
    if not any_group:
        return 0.0
    for group in range(-1, len(possible)):
        if group >= 0 and not possible[group]:
            continue
        if group < 0 and not nothing_outside(level, chosen, assigned, m):
            continue
        energy, fills = 0.0, 0.0
        for tensor in range(tensors):
            if m.keep[level, tensor]:
                moved = group if group >= 0 and not m.stays[group, tensor] else -1
                filled, first = received(tensor, level, moved, chosen, assigned, m)
                if tensor == m.output and m.elided:
                    filled -= first
                fills += filled
                energy += filled * m.pj[level, 1]
                above = level - 1
                while not m.keep[above, tensor]:
                    above -= 1
                down, first = served(tensor, above, level, moved, chosen, assigned, m)
                if tensor == m.output:
                    energy += (down - first) * m.pj[above, 0] + down * m.pj[above, 2]
                else:
                    energy += down * m.pj[above, 0]
        least, least_fills = min(least, energy), min(least_fills, fills)
    words[level, WRITE] += least_fills
    # Of numpy: to numba a literal -1 has a type of its own, for which `served` would be compiled anew.
    no_group = np.int64(-1)
    for tensor in range(tensors):
        if m.keep[level, tensor]:
            above = level - 1
            while not m.keep[above, tensor]:
                above -= 1
            down, first = served(tensor, above, level, no_group, chosen, assigned, m)
            hand_down(tensor, above, down, first, words, m)
    return least


@njit(**LEAN)
def nothing_outside(level, chosen, assigned, m):
    """Whether no loop at all can be outside of a level's tiles."""
    for dim in range(m.moves.shape[1]):
        if assigned[dim] and m.chains[chosen[dim], TEMPORAL, level] > 1:
            return False
    return True


@njit(**LEAN)
def innermost(level, chosen, assigned, possible, m):
    """Write which groups of dims can have the innermost loop outside of a level's tiles."""
    possible[:] = False
    dims = m.moves.shape[1]
    for dim in range(dims):
        if not assigned[dim] and m.size[dim] > 1:
            possible[m.group[dim]] = True
    for outer in range(level - 1, -1, -1):
        found = False
        for dim in range(dims):
            if assigned[dim]:
                passed = m.chains[chosen[dim], TEMPORAL]
                if passed[outer + 1] > passed[outer]:
                    possible[m.group[dim]] = True
                    found = True
        if found:
            return
