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

from dse.models.timeloop.proof.newton import mix, tangent
from dse.support.compiling import kernel, subroutine

MAX_ATOMS = 24
MAX_LOG = 600.0
"""A logarithm that is as good as infinite."""
SMOOTHEST, SHARPEST, SHARPER = 0.1, 0.003, 0.3
"""Over which distance, in logarithms, the largest of the cycles and limits that bind are blended: at first
where nothing is known of where it ends, at last, and what it is multiplied by where the bound stands still.
"""
CLOSE_ENOUGH, PATIENCE = 1e-3, 2
"""It stands still where it has not grown by so much in so many rounds."""


@kernel
def gather(columns, places, chains, found):
    """Writes these chains of these columns: what `columns[places][:, chains]` is, in less time."""
    for row in range(len(places)):
        column = columns[places[row]]
        for number in range(len(chains)):
            found[row, number] = column[chains[number]]


@kernel
def draw_lines(table, offsets, visited, factors, taken, sizes, spreads, widest, rows, coefficients):
    """Bounds terms with a first visit by powers, written after all other rows of the table; `rows` (terms)
    and their coefficients are then these.

    What is delivered `x` times costs `a x - r`, the first time less. `log(a x - r)` is concave in `log x`:
    between the least and the most that `x` can be here, the line through both is below it. What is not spread
    over children comes one time after the other, and they are no more than `widest`.
    """
    terms, firsts, parts = len(coefficients), len(visited), len(offsets) - 1
    for first in range(firsts):
        whole, once = table[visited[first]], table[terms + first]
        least, late, most = -sizes[first], -sizes[first] - widest, -sizes[first]
        for part in range(parts):
            low, lower, high = np.inf, np.inf, -np.inf
            for chain in range(offsets[part], offsets[part + 1]):
                times, spread = whole[chain] - once[chain], 0.0
                for row in spreads:
                    spread += table[row, chain]
                low, high = min(low, times), max(high, times)
                lower = min(lower, times + spread)
            least, late, most = least + low, late + lower, most + high
        start, slope = line_below(
            max(least, late, 0.0), max(most, 0.0), factors[visited[first]], taken[first]
        )
        line = table[terms + firsts + first]
        for chain in range(offsets[-1]):
            line[chain] = once[chain] + slope * (whole[chain] - once[chain])
        rows[visited[first]] = terms + firsts + first
        coefficients[visited[first]] = start + (1.0 - slope) * sizes[first]


@subroutine
def line_below(least, most, whole, taken):
    """Start and slope of the line below `log(whole e^u - taken)` for `u` from `least` to `most`."""
    here, there = whole * np.exp(least) - taken, whole * np.exp(most) - taken
    if here <= taken * 1e-9:
        # The first visit may be the only one, and costs nothing.
        return -MAX_LOG, 1.0
    if most - least < 1e-9:
        return np.log(here) - least, 1.0
    slope = np.log(there / here) / (most - least)
    return np.log(here) - slope * least, slope


@kernel
def relax(
    table, rows, offsets, coefficients, starts, kinds, powers, z, atoms, mixed, counts, rounds, target,
    over, weights,
):  # fmt: skip
    """The best bound of some rounds.

    `table` has chains of all components, those of component c from `offsets[c]` on, and `rows` (terms) says
    where in it a term is. `z` (terms), `atoms`
    and `mixed` (components, MAX_ATOMS) with `counts` of them say where to begin, and where it ended. Ends
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
            mix(table, rows, coefficients, starts, kinds, powers, smooth, z, atoms, mixed, counts)
        _, base = tangent(z, coefficients, starts, kinds, powers, smooth, shares, weights, gradient, levels)
        costs[:] = 0.0
        for term in range(terms):
            weight = gradient[term]
            if weight > 1e-13:
                row = table[rows[term]]
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


@subroutine
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
