# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""How the relaxation weighs the chains that it mixes: Newton's method on the blended loss.

The loss is the logarithm of energy, of the largest of the cycles, each times its power, and a penalty of
limits that are exceeded. `powers` has those of energy and of cycles, at ENERGY and CYCLES.
Largest and penalty are blended over a distance `smooth`, so that there are second derivatives.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import subroutine, subroutine_with_arrays

ENERGY, CYCLES, LIMIT = range(3)
STEEPEST = 8.0
"""The largest weight of a limit: loss per size, both as logarithms."""
STEPS = 30


@subroutine
def tangent(z, coefficients, starts, kinds, powers, smooth, shares, weights, gradient, levels):
    """Writes the gradient at `z`, with the groups' weights and levels and the terms' shares; returns the
    blended value, and that of the tangent at 0.
    """
    groups = len(kinds)
    largest = -np.inf
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
            weights[group] = np.exp((levels[group] - largest) / smooth)
            total += weights[group]
    value, base = 0.0, 0.0
    if total > 0.0:
        value = powers[CYCLES] * (largest + smooth * np.log(total))
    for group in range(groups):
        if kinds[group] == CYCLES:
            weights[group] *= powers[CYCLES] / total
        elif kinds[group] == ENERGY:
            weights[group] = powers[ENERGY]
            value += powers[ENERGY] * levels[group]
        else:
            over = levels[group] / smooth
            if over < 40.0:
                grown = np.exp(over)
                weights[group] = STEEPEST * grown / (1.0 + grown)
                value += STEEPEST * smooth * np.log1p(grown)
            else:
                weights[group] = STEEPEST
                value += STEEPEST * levels[group]
        base += weights[group] * levels[group]
        for term in range(starts[group], starts[group + 1]):
            gradient[term] = weights[group] * shares[term]
            base -= gradient[term] * z[term]
    return value, base


@subroutine_with_arrays
def mix(table, rows, coefficients, starts, kinds, powers, smooth, z, atoms, mixed, counts):
    """Weighs the chains that are mixed by Newton's method: each step moves weight between the heaviest of a
    component and its others. Writes `z`.
    """
    terms, parts, groups = len(z), len(counts), len(kinds)
    shares, gradient = np.empty(terms), np.empty(terms)
    weights, levels = np.empty(groups), np.empty(groups)
    most = counts.sum()
    moves, means = np.empty((most, terms)), np.empty((most, groups))
    slope, step, bend = np.empty(most), np.empty(most), np.empty((most, most + 1))
    owner, slot = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    move, there, drop = np.empty(terms), np.empty(terms), np.empty(parts)
    z[:] = 0.0
    for part in range(parts):
        for place in range(counts[part]):
            if mixed[part, place] > 0.0:
                for term in range(terms):
                    z[term] += mixed[part, place] * table[rows[term], atoms[part, place]]
    for _ in range(STEPS):
        value, _ = tangent(z, coefficients, starts, kinds, powers, smooth, shares, weights, gradient, levels)
        free = 0
        for part in range(parts):
            heaviest = 0
            for place in range(counts[part]):
                if mixed[part, place] > mixed[part, heaviest]:
                    heaviest = place
            for place in range(counts[part]):
                if place == heaviest:
                    continue
                cost = 0.0
                for term in range(terms):
                    row = table[rows[term]]
                    moves[free, term] = row[atoms[part, place]] - row[atoms[part, heaviest]]
                    cost += gradient[term] * moves[free, term]
                if mixed[part, place] > 0.0 or cost < -1e-7:
                    slope[free], owner[free], slot[free] = cost, part, place
                    free += 1
            drop[part] = heaviest
        if free == 0:
            return
        fill_means(moves, means, free, starts, shares)
        for _ in range(free):
            solve(moves, means, slope, starts, kinds, powers, smooth, shares, weights, bend, step, free)
            # A chain without weight can only gain.
            kept = 0
            for one in range(free):
                if step[one] > 0.0 or mixed[owner[one], slot[one]] > 0.0:
                    if kept != one:
                        moves[kept], means[kept] = moves[one], means[one]
                        slope[kept], owner[kept], slot[kept] = slope[one], owner[one], slot[one]
                    kept += 1
            if kept == free:
                break
            free = kept
        if free == 0:
            return
        longest, gain = 1.0, 0.0
        for one in range(free):
            gain -= slope[one] * step[one]
            if step[one] < 0.0:
                longest = min(longest, mixed[owner[one], slot[one]] / -step[one])
        for part in range(parts):
            less = 0.0
            for one in range(free):
                if owner[one] == part:
                    less += step[one]
            if less > 0.0:
                longest = min(longest, mixed[part, int(drop[part])] / less)
        if gain < 1e-7:
            return
        move[:] = 0.0
        for one in range(free):
            for term in range(terms):
                move[term] += step[one] * moves[one, term]
        length = longest
        for _ in range(30):
            for term in range(terms):
                there[term] = z[term] + length * move[term]
            new, _ = tangent(
                there, coefficients, starts, kinds, powers, smooth, shares, weights, gradient, levels
            )
            if new <= value - 1e-3 * length * gain:
                break
            length *= 0.4
        else:
            return
        z[:] = there
        for one in range(free):
            part, place = owner[one], slot[one]
            mixed[part, place] += length * step[one]
            mixed[part, int(drop[part])] -= length * step[one]
            if mixed[part, place] < 1e-9:
                mixed[part, int(drop[part])] += mixed[part, place]
                mixed[part, place] = 0.0
        for part in range(parts):
            mixed[part, int(drop[part])] = max(mixed[part, int(drop[part])], 0.0)


@subroutine
def fill_means(moves, means, free, starts, shares):
    """Writes by how much each move moves every group."""
    for one in range(free):
        for group in range(len(starts) - 1):
            mean = 0.0
            for term in range(starts[group], starts[group + 1]):
                mean += shares[term] * moves[one, term]
            means[one, group] = mean


@subroutine
def solve(moves, means, slope, starts, kinds, powers, smooth, shares, weights, bend, step, free):
    """Writes the Newton step: the second derivatives of the blended value with a small ridge, eliminated."""
    for one in range(free):
        for two in range(one + 1):
            found, first, second = 0.0, 0.0, 0.0
            for group in range(len(kinds)):
                weight = weights[group]
                if weight < 1e-12:
                    continue
                product = means[one, group] * means[two, group]
                square = 0.0
                for term in range(starts[group], starts[group + 1]):
                    square += shares[term] * moves[one, term] * moves[two, term]
                found += weight * (square - product)
                if kinds[group] == CYCLES:
                    found += weight / smooth * product
                    first += weight * means[one, group]
                    second += weight * means[two, group]
                elif kinds[group] == LIMIT:
                    found += weight * (1.0 - weight / STEEPEST) / smooth * product
            bend[one, two] = bend[two, one] = found - first * second / (smooth * powers[CYCLES])
        bend[one, one] = bend[one, one] * (1.0 + 1e-8) + 1e-6
        bend[one, free] = -slope[one]
    for one in range(free):
        pivot = max(bend[one, one], 1e-9)
        for row in range(one + 1, free):
            factor = bend[row, one] / pivot
            if factor != 0.0:
                for column in range(one, free + 1):
                    bend[row, column] -= factor * bend[one, column]
    for one in range(free - 1, -1, -1):
        total = bend[one, free]
        for column in range(one + 1, free):
            total -= bend[one, column] * step[column]
        step[one] = total / max(bend[one, one], 1e-9)
