# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Compiled least words: what the tiles of chosen chains bring to a level and hand down, whatever the orders.

An instance receives at least the distinct words that its tiles touch over the run. Of the loops outside of a
level's tiles one is the innermost: a tensor that it moves comes again with every step of all of them. Both
hold for every order. `m` is a `dse.optimum.timeloop.model.Model`; of the dims that are `assigned`, `chosen`
says which chain.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.support.jit import LEAN

TEMPORAL, SPATIAL, BOX = range(3)
"""Rows of a chain in `Model.chains`."""


@njit(**LEAN)
def axis_words(tensor, axis, level, group, chosen, assigned, m):
    """Words along an axis that all instances of a level receive at least, if they receive each once (`group`
    is -1), or if the innermost loop, of a group of dims, moves the tensor: then every step brings words.
    """
    dims, count, known, most = m.moves.shape[1], 0, True, 1
    for dim in range(dims):
        if m.moves[tensor, dim, axis]:
            count += 1
            known = known and assigned[dim]
            most = max(most, m.size[dim])
    if count <= 1 or not known:
        # Of one dim: a tile for every step and instance, which is the whole dim.
        return np.float64(most)
    extent = 1
    for dim in range(dims):
        # Of the other dims nothing may be chosen yet.
        if m.moves[tensor, dim, axis]:
            extent += m.moves[tensor, dim, axis] * (m.chains[chosen[dim], BOX, level] - 1)
    touched, instances, steps, new = 0.0, 1.0, 1.0, extent
    for dim in range(dims):
        if m.moves[tensor, dim, axis]:
            step = m.moves[tensor, dim, axis] * m.chains[chosen[dim], BOX, level]
            times = m.chains[chosen[dim], TEMPORAL, level]
            touched = max(touched, extent + (times - 1.0) * min(extent, step))
            instances *= m.chains[chosen[dim], SPATIAL, level]
            steps *= times
            if m.group[dim] == group:
                new = min(new, step)
    if group >= 0:
        touched = max(touched, steps * new)
    return touched * instances


@njit(**LEAN)
def repeats(tensor, level, group, outer, chosen, assigned, m):
    """How often all that comes to a level comes, by the dims that do not move the tensor: the instances of
    level `outer` that they make, and in how many of their steps, if a group of dims moves it innermost.
    """
    instances, steps = 1.0, 1.0
    for dim in range(m.moves.shape[1]):
        if not m.relevant[tensor, dim] and assigned[dim]:
            instances *= m.chains[chosen[dim], SPATIAL, outer]
            if group >= 0:
                steps *= m.chains[chosen[dim], TEMPORAL, level]
    return instances, steps


@njit(**LEAN)
def received(tensor, level, group, chosen, assigned, m):
    """Words that all instances of a level receive at least, and that of them the first time."""
    words = 1.0
    for axis in range(m.axes[tensor]):
        words *= axis_words(tensor, axis, level, group, chosen, assigned, m)
    instances, steps = repeats(tensor, level, group, level, chosen, assigned, m)
    return words * instances * steps, words * instances


@njit(**LEAN)
def served(tensor, level, below, group, chosen, assigned, m):
    """Words that all instances of a level hand down at least to the level `below`, and the first time."""
    words, dims = 1.0, m.moves.shape[1]
    for axis in range(m.axes[tensor]):
        here = axis_words(tensor, axis, below, group, chosen, assigned, m)
        count, known = 0, True
        for dim in range(dims):
            if m.moves[tensor, dim, axis]:
                count += 1
                known = known and assigned[dim]
        if count > 1 and known:
            distinct, between = 1, 1.0
            for dim in range(dims):
                if m.moves[tensor, dim, axis]:
                    inner = m.chains[chosen[dim], SPATIAL, below] // m.chains[chosen[dim], SPATIAL, level]
                    distinct = max(distinct, inner)
                    between *= inner
            here *= distinct / between
        words *= here
    instances, steps = repeats(tensor, below, group, level, chosen, assigned, m)
    return words * instances * steps, words * instances


@njit(**LEAN)
def served_to_macs(tensor, level, chosen, assigned, m):
    """Words that all instances of a level hand down at least to the MACs, and the first time."""
    first, times, dims = 1.0, 1.0, m.moves.shape[1]
    last = len(m.capacity)
    for axis in range(m.axes[tensor]):
        count, known, most = 0, True, 1
        distinct, parents, steps = 1, 1.0, 1.0
        for dim in range(dims):
            if m.moves[tensor, dim, axis]:
                count += 1
                known = known and assigned[dim]
                most = max(most, m.size[dim])
                if assigned[dim]:
                    inner = m.chains[chosen[dim], SPATIAL, last] // m.chains[chosen[dim], SPATIAL, level]
                    distinct = max(distinct, inner)
                    parents *= m.chains[chosen[dim], SPATIAL, level]
                    steps *= m.chains[chosen[dim], TEMPORAL, last]
        first *= most if count <= 1 or not known else steps * distinct * parents
    for dim in range(dims):
        if not m.relevant[tensor, dim]:
            if assigned[dim]:
                first *= m.chains[chosen[dim], SPATIAL, level]
                times *= m.chains[chosen[dim], TEMPORAL, last]
            else:
                times *= m.least_steps[dim]
    return first * times, first
