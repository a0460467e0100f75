# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Whole chains, compiled: what they cost, the way down from some, and all of a node's."""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.proof.newton import CYCLES, ENERGY, LIMIT, STEEPEST
from dse.support.compiling import kernel, subroutine


@subroutine
def fits_and_costs(product, row, groups, slack, steepest):
    """The loss of whole chains: energy, cycles or both multiplied, each to its power. Where a limit is
    exceeded it is inf, or grows with the power `steepest` of that, if this is not 0.

    `product` and `row` are factors of terms, and then of first visits, which are taken off again.
    """
    kinds, starts, first_starts, powers = groups
    terms = starts[-1]
    energy, cycles = 1.0, 0.0
    for group in range(len(kinds) - 1, -1, -1):
        total = 0.0
        for term in range(starts[group], starts[group + 1]):
            total += product[term] * row[term]
        for term in range(terms + first_starts[group], terms + first_starts[group + 1]):
            total -= product[term] * row[term]
        if kinds[group] == LIMIT:
            if total > slack:
                if steepest == 0.0:
                    return np.inf
                energy *= total**steepest
        elif kinds[group] == CYCLES:
            cycles = max(cycles, total)
        else:
            energy *= total if powers[ENERGY] == 1.0 else total ** powers[ENERGY]
    if cycles > 0.0:
        energy *= cycles if powers[CYCLES] == 1.0 else cycles ** powers[CYCLES]
    return energy


@kernel
def descend(factors, groups, chains):
    """Changes `chains` (components) one at a time to the one of least loss, until none gains; returns the
    loss, inf where they fit nowhere.
    """
    parts, slack = len(chains), 1.0 + 1e-9
    rows, offsets, coefficients = factors
    product = np.empty(len(coefficients))
    best, still, part = np.inf, 0, 0
    while still < parts:
        product[:] = coefficients
        for other in range(parts):
            if other != part:
                product *= rows[chains[other]]
        still += 1
        for chain in range(offsets[part], offsets[part + 1]):
            loss = fits_and_costs(product, rows[chain], groups, slack, STEEPEST)
            # A gain that is only rounding could come again and again.
            if loss < best * (1.0 - 1e-9):
                best, chains[part], still = loss, chain, 1
        part = (part + 1) % parts
    # `product` lacks just the component that came last. Without a penalty what breaks a limit is inf.
    last = part - 1 if part > 0 else parts - 1
    return fits_and_costs(product, rows[chains[last]], groups, slack, 0.0)


@kernel
def enumerate_chains(factors, groups, over, rest, room, limit, found, losses):
    """Goes through all choices of chains whose excesses add up to at most `room`, and keeps those with a
    loss of at most `limit`, in `found` (n, components) and `losses`. `over` is ascending in each component.

    `rest` (components, terms and first visits) is the least that a term, and the most that a first visit, is
    multiplied by in the components after one. Returns how many are kept, -1 if there is no room for them.
    """
    rows, offsets, coefficients = factors
    parts, width = len(offsets) - 1, rows.shape[1]
    at = offsets[:-1].copy()
    products, spent = np.empty((parts + 1, width)), np.zeros(parts + 1)
    products[0] = coefficients
    depth, kept = 0, 0
    # Rounding must not leave out what just fits.
    slack = 1.0 + 1e-9
    while depth >= 0:
        chain = at[depth]
        # Excesses ascend: where one is too much, so are all that follow.
        if chain == offsets[depth + 1] or spent[depth] + over[chain] > room:
            at[depth] = offsets[depth]
            depth -= 1
            if depth >= 0:
                at[depth] += 1
            continue
        if depth + 1 < parts:
            for term in range(width):
                products[depth + 1, term] = products[depth, term] * rows[chain, term]
            # Terms at their least, with the most taken off: no choice in the other components costs less.
            loss = fits_and_costs(products[depth + 1], rest[depth], groups, slack, 0.0)
            if loss <= limit:
                spent[depth + 1] = spent[depth] + over[chain]
                depth += 1
                at[depth] = offsets[depth]
                continue
        else:
            loss = fits_and_costs(products[depth], rows[chain], groups, slack, 0.0)
            if loss <= limit:
                if kept == len(found):
                    return -1
                found[kept, :] = at
                losses[kept] = loss
                kept += 1
        at[depth] += 1
    return kept
