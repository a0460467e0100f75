# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Which chains of a node may be part of a mapping that keeps all sums within what they may be; compiled.

With `x` of a chain in place of its component's least, and the least of every other component, a sum of terms
is at least `sum over t of c_t x_t prod over others of least_t`: above what the sum may be, the chain is out.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel, subroutine


@kernel
def keep_fitting(table, lines, most, left):
    """Clears `left` (chains) of those that exceed `most` (groups), until none does; whether each component
    has one left.
    """
    offsets, parts, terms = table.offsets, len(table.offsets) - 1, len(lines.rows)
    least, range_ = np.empty((parts, terms)), np.empty((parts, terms))
    whole = np.empty(terms)
    changed = True
    while changed:
        # With chains gone a least may be larger, and rule out more.
        if not fill_ranges(table, lines.rows, left, least, range_):
            return False
        for term in range(terms):
            whole[term] = np.exp(lines.coefficients[term] + least[:, term].sum())
        changed = False
        for group in range(len(most)):
            first, end = lines.starts[group], lines.starts[group + 1]
            together = whole[first:end].sum()
            # Every component at its least is too much already.
            if together > most[group]:
                return False
            if most[group] == np.inf:
                continue
            for part in range(parts):
                # All terms at their most, as if of one chain: if that fits, so do all the component's chains.
                at_most = together
                for term in range(first, end):
                    at_most += whole[term] * (np.exp(range_[part, term]) - 1.0)
                if at_most <= most[group]:
                    continue
                for chain in range(offsets[part], offsets[part + 1]):
                    if left[chain]:
                        here = together
                        for term in range(first, end):
                            more = table.values[lines.rows[term], chain] - least[part, term]
                            if more > 0.0:
                                here += whole[term] * (np.exp(more) - 1.0)
                        if here > most[group]:
                            left[chain] = False
                            changed = True
    return True


@subroutine
def fill_ranges(table, rows, left, least, range_):
    """Writes the least of each component's terms, and how far its most is above; whether all have a chain."""
    for part in range(len(table.offsets) - 1):
        for term in range(len(rows)):
            row = table.values[rows[term]]
            low, high = np.inf, -np.inf
            for chain in range(table.offsets[part], table.offsets[part + 1]):
                if left[chain]:
                    low, high = min(low, row[chain]), max(high, row[chain])
            least[part, term], range_[part, term] = low, high - low
        if least[part, 0] == np.inf:
            return False
    return True


@kernel
def relate(table, lines, most, related):
    """Relates terms to what is left of `most` (groups) beside the terms that are the same for all chains.

    Writes `lines.coefficients` anew, of terms that are the same as good as nothing; what these sum up to in
    `related.constants`, and what is left in `rests`, 0 and 1 for groups that may be anything.
    """
    offsets, (constants, rests) = table.offsets, related
    for group in range(len(most)):
        constants[group], rests[group] = 0.0, 1.0
        if most[group] == np.inf:
            continue
        for term in range(lines.starts[group], lines.starts[group + 1]):
            row, total, same = table.values[lines.rows[term]], lines.coefficients[term], True
            for part in range(len(offsets) - 1):
                low = row[offsets[part]]
                total += low
                for chain in range(offsets[part], offsets[part + 1]):
                    same = same and abs(row[chain] - low) < 1e-12
            if same:
                constants[group] += np.exp(total)
                lines.coefficients[term] = NOTHING
        # Above 0, as it is divided by and its logarithm is taken.
        rests[group] = max(most[group] - constants[group], most[group] * 1e-12)
        for term in range(lines.starts[group], lines.starts[group + 1]):
            if lines.coefficients[term] != NOTHING:
                lines.coefficients[term] -= np.log(rests[group])


NOTHING = -2400.0
"""The logarithm of a term that is none."""


@kernel
def least_cycles(base, weights, constants, rests, most):
    """The least `x` with `sum over g of w_g log((x - c_g) / r_g) >= base`, or just below; at most `most`."""
    low, high = constants.max(), most
    for _ in range(60):
        middle = 0.5 * (low + high)
        total = 0.0
        for group in range(len(weights)):
            total += weights[group] * np.log((middle - constants[group]) / rests[group])
        if total < base:
            low = middle
        else:
            high = middle
    # Of both ends the lower: a bound may be too small, not too large.
    return low
