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

from dse.support.jit import LEAN, OPTIONS

ENERGY, CYCLES, LIMIT = range(3)
SMOOTH = 0.1
"""Over which distance, in logarithms, the largest of the cycles and limits that bind are blended."""
STEEPEST = 8.0
"""The largest weight of a limit: loss per size, both as logarithms."""
MOST_ATOMS = 24
CLOSE_ENOUGH, PATIENCE = 1e-3, 6
"""It ends where the bound has not grown by so much in so many rounds."""


@njit(**LEAN)
def tangent(z, coefficients, starts, kinds, shares, weights, gradient, levels):
    """Writes the gradient at `z`, with the groups' weights and the terms' shares; returns the value less
    the gradient's product with `z`.
    """
    groups = len(kinds)
    value, largest = 0.0, -np.inf
    for group in range(groups):
        first, end = starts[group], starts[group + 1]
        top = -np.inf
        for term in range(first, end):
            top = max(top, coefficients[term] + z[term])
        total = 0.0
        for term in range(first, end):
            shares[term] = np.exp(coefficients[term] + z[term] - top)
            total += shares[term]
        for term in range(first, end):
            shares[term] /= total
        levels[group] = top + np.log(total)
        if kinds[group] == CYCLES:
            largest = max(largest, levels[group])
    total = 0.0
    for group in range(groups):
        if kinds[group] == CYCLES:
            weights[group] = np.exp((levels[group] - largest) / SMOOTH)
            total += weights[group]
    for group in range(groups):
        if kinds[group] == CYCLES:
            weights[group] /= total
        elif kinds[group] == ENERGY:
            weights[group] = 1.0
        else:
            over = levels[group] / SMOOTH
            weights[group] = STEEPEST / (1.0 + np.exp(-over)) if over < 40.0 else STEEPEST
        value += weights[group] * levels[group]
        for term in range(starts[group], starts[group + 1]):
            gradient[term] = weights[group] * shares[term]
            value -= gradient[term] * z[term]
    return value


@njit(**LEAN)
def curvature(move, starts, kinds, shares, weights):
    """The second derivative of the blended value along `move`."""
    found, mean, square = 0.0, 0.0, 0.0
    for group in range(len(kinds)):
        if weights[group] < 1e-12:
            continue
        first, second = 0.0, 0.0
        for term in range(starts[group], starts[group + 1]):
            first += shares[term] * move[term]
            second += shares[term] * move[term] * move[term]
        found += weights[group] * (second - first * first)
        if kinds[group] == CYCLES:
            mean += weights[group] * first
            square += weights[group] * first * first
        elif kinds[group] == LIMIT:
            found += weights[group] * (1.0 - weights[group] / STEEPEST) / SMOOTH * first * first
    return found + (square - mean * mean) / SMOOTH


@njit(**OPTIONS)
def relax(table, offsets, coefficients, starts, kinds, z, atoms, mixed, counts, rounds, target, over, best):
    """The best bound of some rounds, and how many there were.

    `table` (terms, chains of all components), those of component c from `offsets[c]` on. `z` (terms), `atoms`
    and `mixed` (components, MOST_ATOMS) with `counts` of them say where to begin, and where it ended. Ends
    early at `target`. Writes to `over` (chains) by how much each exceeds its component's best at the bound,
    and to `best` (rounds, components) the chains that were added.
    """
    terms, parts = len(coefficients), len(counts)
    shares, gradient, move = np.empty(terms), np.empty(terms), np.empty(terms)
    weights, levels = np.empty(len(kinds)), np.empty(len(kinds))
    costs = np.empty(offsets[-1])
    bound, since, done = -np.inf, 0, 0
    for turn in range(rounds):
        base = tangent(z, coefficients, starts, kinds, shares, weights, gradient, levels)
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
            best[turn, part] = place
            for chain in range(offsets[part], offsets[part + 1]):
                costs[chain] -= least
        done = turn + 1
        since += 1
        if here > bound:
            if here > bound + CLOSE_ENOUGH:
                since = 0
            bound = here
            over[:] = costs
        if bound >= target or since >= PATIENCE:
            break
        for part in range(parts):
            add_atom(atoms, mixed, counts, part, best[turn, part])
        mix(
            table,
            coefficients,
            starts,
            kinds,
            z,
            atoms,
            mixed,
            counts,
            shares,
            weights,
            gradient,
            move,
            levels,
        )
    return bound, done


@njit(**LEAN)
def add_atom(atoms, mixed, counts, part, chain):
    """Adds a chain to those that a component mixes, with no weight yet; the lightest makes room."""
    for place in range(counts[part]):
        if atoms[part, place] == chain:
            return
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


@njit(**LEAN)
def mix(table, coefficients, starts, kinds, z, atoms, mixed, counts, shares, weights, gradient, move, levels):
    """Moves weight between the chains that are mixed, pair by pair, until that gains little; writes `z`."""
    terms, parts = len(z), len(counts)
    z[:] = 0.0
    for part in range(parts):
        for place in range(counts[part]):
            if mixed[part, place] > 0.0:
                for term in range(terms):
                    z[term] += mixed[part, place] * table[term, atoms[part, place]]
    for _ in range(60):
        gain = 0.0
        for part in range(parts):
            if counts[part] < 2:
                continue
            tangent(z, coefficients, starts, kinds, shares, weights, gradient, levels)
            least, most = np.inf, -np.inf
            to, away = 0, 0
            for place in range(counts[part]):
                cost = 0.0
                for term in range(terms):
                    cost += gradient[term] * table[term, atoms[part, place]]
                if cost < least:
                    least, to = cost, place
                if mixed[part, place] > 0.0 and cost > most:
                    most, away = cost, place
            if most - least < 1e-9 or to == away:
                continue
            for term in range(terms):
                move[term] = table[term, atoms[part, to]] - table[term, atoms[part, away]]
            bend = curvature(move, starts, kinds, shares, weights)
            step = mixed[part, away]
            if bend > 0.0:
                step = min(step, (most - least) / bend)
            gain += step * (most - least)
            mixed[part, to] += step
            mixed[part, away] -= step
            if mixed[part, away] < 1e-12:
                mixed[part, to] += mixed[part, away]
                mixed[part, away] = 0.0
            for term in range(terms):
                z[term] += step * move[term]
        if gain < 1e-5:
            break


@njit(**LEAN)
def fits_and_costs(product, row, starts, first_starts, kinds, slack):
    """The loss of whole chains: energy, cycles or both multiplied; inf where a limit is exceeded.

    `product` and `row` are factors of terms, and then of first visits, which are taken off again.
    """
    terms = starts[-1]
    energy, cycles = 1.0, 0.0
    for group in range(len(kinds) - 1, -1, -1):
        total = 0.0
        for term in range(starts[group], starts[group + 1]):
            total += product[term] * row[term]
        if kinds[group] == LIMIT:
            if total > slack:
                return np.inf
            continue
        for term in range(terms + first_starts[group], terms + first_starts[group + 1]):
            total -= product[term] * row[term]
        if kinds[group] == CYCLES:
            cycles = max(cycles, total)
        else:
            energy = total
    return energy * cycles if cycles > 0.0 else energy


@njit(**OPTIONS)
def losses_of(rows, coefficients, starts, first_starts, kinds, chains, losses):
    """Writes the losses of chains (n, components); `rows` (chains, terms and first visits) has factors."""
    product = np.empty(len(coefficients))
    last = chains.shape[1] - 1
    for number in range(len(chains)):
        product[:] = coefficients
        for part in range(last):
            product *= rows[chains[number, part]]
        losses[number] = fits_and_costs(
            product, rows[chains[number, last]], starts, first_starts, kinds, 1.0 + 1e-9
        )


@njit(**OPTIONS)
def enumerate_chains(
    rows, offsets, over, coefficients, starts, first_starts, kinds, rest, room, limit, found, losses
):
    """Goes through all choices of chains whose excesses add up to at most `room`, and keeps those with a
    loss of at most `limit`, in `found` (n, components) and `losses`. `over` is ascending in each component.

    `rest` (components, terms and first visits) is the least that a term, and the most that a first visit, is
    multiplied by in the components after one. Returns how many are kept, -1 if there is no room for them, and
    how many were looked at.
    """
    parts, width = len(offsets) - 1, rows.shape[1]
    at = offsets[:-1].copy()
    products, spent = np.empty((parts + 1, width)), np.zeros(parts + 1)
    products[0] = coefficients
    depth, kept, looked = 0, 0, 0
    slack = 1.0 + 1e-9
    while depth >= 0:
        chain = at[depth]
        if chain == offsets[depth + 1] or spent[depth] + over[chain] > room:
            at[depth] = offsets[depth]
            depth -= 1
            if depth >= 0:
                at[depth] += 1
            continue
        looked += 1
        if depth + 1 < parts:
            for term in range(width):
                products[depth + 1, term] = products[depth, term] * rows[chain, term]
            loss = fits_and_costs(products[depth + 1], rest[depth], starts, first_starts, kinds, slack)
            if loss <= limit:
                spent[depth + 1] = spent[depth] + over[chain]
                depth += 1
                at[depth] = offsets[depth]
                continue
        else:
            loss = fits_and_costs(products[depth], rows[chain], starts, first_starts, kinds, slack)
            if loss <= limit:
                if kept == len(found):
                    return -1, looked
                found[kept, :] = at
                losses[kept] = loss
                kept += 1
        at[depth] += 1
    return kept, looked
