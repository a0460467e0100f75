# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled relaxation: the least loss where components may mix their chains, and a bound from it.

Energy, cycles and what levels hold are sums of terms, and a term is a product of what the components
contribute: with logarithms, a log-sum-exp of sums, which is convex. Mixing a component's chains (convex
combinations of their logarithms) makes a convex problem, solved by simplicial decomposition: `mix` weighs the
chains found so far, and the gradient there says which chain of each component to add. At any point the
tangent is below the function; its least value over all chains, one component at a time, is the bound. It
holds whatever the point, and says of each chain by how much it exceeds the best one: by that much every
mapping that uses the chain exceeds the bound.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.domains.levels.models.timeloop.proof.newton import mix, tangent
from dse.support.jit import LEAN, OPTIONS

MOST_ATOMS = 24
SMOOTHEST, SHARPEST, SHARPER = 0.1, 0.003, 0.3
"""Over which distance, in logarithms, the largest of the cycles and limits that bind are blended: at first
where nothing is known of where it ends, at last, and what it is multiplied by where the bound stands still.
"""
CLOSE_ENOUGH, PATIENCE = 1e-3, 2
"""It stands still where it has not grown by so much in so many rounds."""


@njit(**OPTIONS)
def gather(columns, places, chains, found):
    """Writes these chains of these columns: what `columns[places][:, chains]` is, in less time."""
    for row in range(len(places)):
        column = columns[places[row]]
        for number in range(len(chains)):
            found[row, number] = column[chains[number]]


@njit(**OPTIONS)
def relax(
    table, offsets, coefficients, starts, kinds, z, atoms, mixed, counts, rounds, target, over, weights
):
    """The best bound of some rounds.

    `table` (terms, chains of all components), those of component c from `offsets[c]` on. `z` (terms), `atoms`
    and `mixed` (components, MOST_ATOMS) with `counts` of them say where to begin, and where it ended. Ends
    early at `target`. Writes to `over` (chains) by how much each exceeds its component's best at the bound,
    and to `weights` (groups) what each counts at the end.
    """
    terms, parts = len(coefficients), len(counts)
    shares, gradient = np.empty(terms), np.empty(terms)
    levels = np.empty(len(kinds))
    costs = np.empty(offsets[-1])
    bound, since = -np.inf, 0
    begun = counts.min() > 0
    smooth = SHARPEST if begun else SMOOTHEST
    best = np.empty(parts, dtype=np.int64)
    for _ in range(rounds):
        if begun:
            mix(table, coefficients, starts, kinds, smooth, z, atoms, mixed, counts)
        _, base = tangent(z, coefficients, starts, kinds, smooth, shares, weights, gradient, levels)
        costs[:] = 0.0
        for term in range(terms):
            weight = gradient[term]
            if weight > 1e-13:
                row = table[term]
                for chain in range(len(costs)):
                    costs[chain] += weight * row[chain]
            else:
                # Left out, as if it were as small as no term is.
                base -= weight * 1e3
        here = base
        for part in range(parts):
            least, place = np.inf, offsets[part]
            for chain in range(offsets[part], offsets[part + 1]):
                if costs[chain] < least:
                    least, place = costs[chain], chain
            here += least
            best[part] = place
            for chain in range(offsets[part], offsets[part + 1]):
                costs[chain] -= least
        since = 0 if here > bound + CLOSE_ENOUGH else since + 1
        if here > bound:
            bound = here
            over[:] = costs
        if bound >= target:
            break
        fresh = False
        for part in range(parts):
            fresh |= add_atom(atoms, mixed, counts, part, best[part])
        if begun and (since >= PATIENCE or not fresh):
            if smooth <= SHARPEST:
                break
            since, smooth = 0, max(smooth * SHARPER, SHARPEST)
        begun = True
    return bound


@njit(**LEAN)
def add_atom(atoms, mixed, counts, part, chain):
    """Adds a chain to those that a component mixes, with no weight yet; the lightest makes room. Whether it
    was not among them.
    """
    for place in range(counts[part]):
        if atoms[part, place] == chain:
            return False
    if counts[part] < atoms.shape[1]:
        place = counts[part]
        counts[part] += 1
    else:
        place = 0
        for other in range(counts[part]):
            if mixed[part, other] < mixed[part, place]:
                place = other
        heaviest = 0
        for other in range(counts[part]):
            if mixed[part, other] > mixed[part, heaviest]:
                heaviest = other
        mixed[part, heaviest] += mixed[part, place]
    atoms[part, place], mixed[part, place] = chain, 1.0 if counts[part] == 1 else 0.0
    return True
