# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled relaxation: the least loss where components may mix their chains, and a bound from it.

Energy, cycles and what levels hold are sums of terms, and a term is a product of what the components
contribute: with logarithms, a log-sum-exp of sums, which is convex. Mixing a component's chains (convex
combinations of their logarithms) makes a convex problem, solved by simplicial decomposition: `mix_chains`
weighs the
chains found so far, and the gradient there says which chain of each component to add. At any point the
tangent is below the function; its least value over all chains, one component at a time, is the bound. It
holds whatever the point, and says of each chain by how much it exceeds the best one: by that much every
mapping that uses the chain exceeds the bound.
"""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.proof.newton import Tangent, mix_chains, write_tangent
from dse.support.compiling import kernel, subroutine

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
def draw_lines(table, visits, lines):
    """Bounds terms with a first visit by powers, written after all other rows of the table; `lines` are then
    these.

    What is delivered `x` times costs `a x - r`, the first time less. `log(a x - r)` is concave in `log x`:
    between the least and the most that `x` can be here, the line through both is below it. What is not spread
    over children comes one time after the other, and they are no more than `widest`.
    """
    terms, firsts, offsets = len(lines.rows), len(visits.visited), table.offsets
    for first in range(firsts):
        place, size = visits.visited[first], visits.sizes[first]
        whole, once = table.values[place], table.values[terms + first]
        least, late, most = -size, -size - visits.widest, -size
        for part in range(len(offsets) - 1):
            low, lower, high = np.inf, np.inf, -np.inf
            for chain in range(offsets[part], offsets[part + 1]):
                times, spread = whole[chain] - once[chain], 0.0
                for row in visits.spreads:
                    spread += table.values[row, chain]
                low, high = min(low, times), max(high, times)
                lower = min(lower, times + spread)
            least, late, most = least + low, late + lower, most + high
        # It is delivered once at least: that logarithm is not below 0.
        start, slope = line_below(
            max(least, late, 0.0), max(most, 0.0), visits.factors[place], visits.taken[first]
        )
        line = table.values[terms + firsts + first]
        for chain in range(offsets[-1]):
            line[chain] = once[chain] + slope * (whole[chain] - once[chain])
        lines.rows[place] = terms + firsts + first
        lines.coefficients[place] = start + (1.0 - slope) * size


@subroutine
def line_below(least, most, whole, taken):
    """Start and slope of the line below `log(whole e^u - taken)` for `u` from `least` to `most`."""
    here, there = whole * np.exp(least) - taken, whole * np.exp(most) - taken
    if here <= taken * 1e-9:
        # The first visit may be the only one, and costs nothing.
        return -MAX_LOG, 1.0
    if most - least < 1e-9:
        # The slope of `log(whole e^u - taken)` is nowhere below 1: this line is below it too.
        return np.log(here) - least, 1.0
    slope = np.log(there / here) / (most - least)
    return np.log(here) - slope * least, slope


@kernel
def relax(table, lines, groups, mixture, end, rounds, target):
    """The best bound of some rounds; less where one is `target` or more.

    `mixture` and `end.z` say where to begin, and then where it ended, as all of `end` does.
    """
    z, over, weights = end
    at = Tangent(np.empty(len(z)), np.empty(len(z)), weights, np.empty(len(weights)))
    costs, best = np.empty(table.offsets[-1]), np.empty(len(mixture.counts), dtype=np.int64)
    bound, since = -np.inf, 0
    begun = mixture.counts.min() > 0
    smooth = SHARPEST if begun else SMOOTHEST
    for _ in range(rounds):
        if begun:
            mix_chains(table, lines, groups, smooth, z, mixture)
        _, base = write_tangent(z, lines, groups, smooth, at)
        here = least_of_tangent(table, lines, at.gradient, base, costs, best)
        since = 0 if here > bound + CLOSE_ENOUGH else since + 1
        # The tangent at any point is a bound, so the best of all rounds is one, with that round's excesses.
        if here > bound:
            bound = here
            over[:] = costs
        if bound >= target:
            break
        fresh = False
        for part in range(len(best)):
            fresh |= add_atom(mixture, part, best[part])
        if begun and (since >= PATIENCE or not fresh):
            if smooth <= SHARPEST:
                break
            since, smooth = 0, max(smooth * SHARPER, SHARPEST)
        begun = True
    return bound


@subroutine
def least_of_tangent(table, lines, gradient, base, costs, best):
    """The least of a tangent over all choices of chains: `base` at 0, and of each component the chain, which
    `best` is then, that adds least. Writes to `costs` by how much each chain adds more than that.
    """
    costs[:] = 0.0
    for term in range(len(gradient)):
        if gradient[term] > 1e-13:
            row = table.values[lines.rows[term]]
            for chain in range(len(costs)):
                costs[chain] += gradient[term] * row[chain]
        else:
            # Left out, as if it were as small as no term is.
            base -= gradient[term] * 1e3
    # The tangent is a sum over components, so each may choose apart from the others.
    for part in range(len(best)):
        least, place = np.inf, table.offsets[part]
        for chain in range(table.offsets[part], table.offsets[part + 1]):
            if costs[chain] < least:
                least, place = costs[chain], chain
        base += least
        best[part] = place
        for chain in range(table.offsets[part], table.offsets[part + 1]):
            costs[chain] -= least
    return base


@subroutine
def add_atom(mixture, part, chain):
    """Adds a chain to those that a component mixes, with no weight yet; the lightest makes room. Whether it
    was not among them.
    """
    atoms, weights, count = mixture.atoms[part], mixture.weights[part], mixture.counts[part]
    for place in range(count):
        if atoms[place] == chain:
            return False
    place = count
    if count < len(atoms):
        mixture.counts[part] += 1
    else:
        place, heaviest = 0, 0
        for other in range(count):
            if weights[other] < weights[place]:
                place = other
            if weights[other] > weights[heaviest]:
                heaviest = other
        # The weights of a component add up to 1, also without the lightest.
        weights[heaviest] += weights[place]
    atoms[place], weights[place] = chain, 1.0 if mixture.counts[part] == 1 else 0.0
    return True
