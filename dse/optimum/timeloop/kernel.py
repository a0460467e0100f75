# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled enumeration of factors: which chains fit, and which of them their bound does not rule out."""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.optimum.timeloop.loss_bound import bound
from dse.optimum.timeloop.words import BOX, SPATIAL
from dse.support.jit import LEAN, OPTIONS


@njit(**LEAN)
def fits(chosen, assigned, m):
    """Whether tiles and fan-outs of the chains that are chosen fit; the other dims count as 1."""
    tensors, dims, _ = m.moves.shape
    for level in range(len(m.capacity)):
        wide = 1
        for dim in range(dims):
            if assigned[dim]:
                wide *= m.chains[chosen[dim], SPATIAL, level + 1] // m.chains[chosen[dim], SPATIAL, level]
        if wide > m.fan_out[level]:
            return False
        words = 0
        for tensor in range(tensors):
            if m.keep[level, tensor]:
                tile = 1
                for axis in range(m.axes[tensor]):
                    extent = 1
                    for dim in range(dims):
                        if assigned[dim]:
                            extent += m.moves[tensor, dim, axis] * (m.chains[chosen[dim], BOX, level] - 1)
                    tile *= extent
                words += tile
        if words > m.capacity[level]:
            return False
    return True


@njit(**LEAN)
def spread_enough(chosen, m):
    """Whether every level spreads over as many children as are asked for."""
    for level in range(len(m.capacity)):
        wide = 1
        for dim in range(m.moves.shape[1]):
            wide *= m.chains[chosen[dim], SPATIAL, level + 1] // m.chains[chosen[dim], SPATIAL, level]
        if wide < m.least_wide[level]:
            return False
    return True


@njit(**OPTIONS)
def bound_groups(groups, order, m, losses):
    """Write the bounds of groups (n, dims of a group): chains of the first dims in `order`; inf: no fit."""
    dims = m.moves.shape[1]
    chosen, assigned = np.zeros(dims, dtype=np.int64), np.zeros(dims, dtype=np.bool_)
    possible, words = np.zeros(len(m.stays), dtype=np.bool_), np.empty((len(m.capacity), 2))
    for number in range(len(groups)):
        assigned[:] = False
        for place in range(groups.shape[1]):
            chosen[order[place]] = groups[number, place]
            assigned[order[place]] = True
        losses[number] = bound(chosen, assigned, possible, words, m) if fits(chosen, assigned, m) else np.inf


@njit(**OPTIONS)
def survivors(group, order, best, most, m, found, losses):
    """Write the chains (n, dims) of a group that fit and whose bound is below `best`, with their bounds.

    Returns how many there are, or -1 if there is no room for them, -2 if more than `most` chains would have
    to be looked at; and how many were.
    """
    dims = m.moves.shape[1]
    chosen, assigned = np.zeros(dims, dtype=np.int64), np.zeros(dims, dtype=np.bool_)
    possible, words = np.zeros(len(m.stays), dtype=np.bool_), np.empty((len(m.capacity), 2))
    first = len(group)
    for place in range(first):
        chosen[order[place]] = group[place]
        assigned[order[place]] = True
    count, looked, depth = 0, 0, first
    if first == dims:
        losses[0] = bound(chosen, assigned, possible, words, m)
        found[0] = chosen
        return 1, 1
    chosen[order[depth]] = m.first[order[depth]] - 1
    while depth >= first:
        dim = order[depth]
        chosen[dim] += 1
        if chosen[dim] == m.first[dim + 1]:
            assigned[dim] = False
            depth -= 1
            continue
        assigned[dim] = True
        looked += 1
        if looked > most:
            return -2, looked
        if not fits(chosen, assigned, m):
            continue
        here = bound(chosen, assigned, possible, words, m)
        if here >= best:
            continue
        if depth + 1 < dims:
            depth += 1
            chosen[order[depth]] = m.first[order[depth]] - 1
            continue
        if spread_enough(chosen, m):
            if count == len(found):
                return -1, looked
            found[count], losses[count] = chosen, here
            count += 1
    return count, looked
