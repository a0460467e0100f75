# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled bound of factors, whatever the orders, and the enumeration of those that it does not rule out.

An instance receives at least the distinct words that its tiles touch over the run. Of the loops outside of a
level's tiles one is the innermost: a tensor that it moves comes again with every step of all of them. Both
hold for every order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.support.jit import OPTIONS

TEMPORAL, SPATIAL, BOX = range(3)
READ, WRITE, SHARED = range(3)
LATENCY, ENERGY, EDP = range(3)


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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
        extent += m.moves[tensor, dim, axis] * (m.chains[chosen[dim], BOX, level] - 1)
    touched, instances, steps, new = 0.0, 1.0, 1.0, extent
    for dim in range(dims):
        step = m.moves[tensor, dim, axis] * m.chains[chosen[dim], BOX, level]
        if m.moves[tensor, dim, axis]:
            times = m.chains[chosen[dim], TEMPORAL, level]
            touched = max(touched, extent + (times - 1.0) * min(extent, step))
            instances *= m.chains[chosen[dim], SPATIAL, level]
            steps *= times
            if m.group[dim] == group:
                new = min(new, step)
    if group >= 0:
        touched = max(touched, steps * new)
    return touched * instances


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def received(tensor, level, group, chosen, assigned, m):
    """Words that all instances of a level receive at least, and that of them the first time."""
    words = 1.0
    for axis in range(m.axes[tensor]):
        words *= axis_words(tensor, axis, level, group, chosen, assigned, m)
    instances, steps = repeats(tensor, level, group, level, chosen, assigned, m)
    return words * instances * steps, words * instances


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def hand_down(tensor, level, down, first, words, m):
    """Adds what a level reads, and of an output is sent, to its words: the energy of it."""
    if tensor == m.output:
        words[level, READ] += down - first
        words[level, WRITE] += down
        return (down - first) * m.pj[level, 0] + down * m.pj[level, 2]
    words[level, READ] += down
    return down * m.pj[level, 0]


@njit(**OPTIONS)
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
    for tensor in range(tensors):
        if m.keep[level, tensor]:
            above = level - 1
            while not m.keep[above, tensor]:
                above -= 1
            down, first = served(tensor, above, level, -1, chosen, assigned, m)
            hand_down(tensor, above, down, first, words, m)
    return least


@njit(**OPTIONS)
def nothing_outside(level, chosen, assigned, m):
    """Whether no loop at all can be outside of a level's tiles."""
    for dim in range(m.moves.shape[1]):
        if assigned[dim] and m.chains[chosen[dim], TEMPORAL, level] > 1:
            return False
    return True


@njit(**OPTIONS)
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
