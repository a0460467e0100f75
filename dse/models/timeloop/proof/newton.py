# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""How the relaxation weighs the chains that it mixes: Newton's method on the blended loss.

The loss is the logarithm of energy, of the largest of the cycles, each times its power, and a penalty of
limits that are exceeded. `powers` has those of energy and of cycles, at ENERGY and CYCLES.
Largest and penalty are blended over a distance `smooth`, so that there are second derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.compiling import subroutine, subroutine_with_arrays

ENERGY, CYCLES, LIMIT = range(3)
STEEPEST = 8.0
"""The largest weight of a limit: loss per size, both as logarithms."""
STEPS, SHORTER_STEPS = 30, 30


class Tangent(NamedTuple):
    """The loss near a point: of terms the share of their group and the `gradient`, of groups the derivative
    of the loss (`weights`) and the logarithm of the sum (`levels`).
    """

    shares: FloatArray
    gradient: FloatArray
    weights: FloatArray
    levels: FloatArray


class Moves(NamedTuple):
    """Moves of weight from the heaviest chain of a component, `heaviest` (components), to another: which
    (`owner`, `slot`), by how much terms (`shifts`) and groups (`means`) change, the `slope` of the loss, the
    Newton `step`, and `bend`, the second derivatives.
    """

    owner: IntArray
    slot: IntArray
    shifts: FloatArray
    means: FloatArray
    slope: FloatArray
    step: FloatArray
    bend: FloatArray
    heaviest: IntArray


@subroutine
def write_tangent(z, lines, groups, smooth, at):
    """Writes `at`, the Tangent at `z`; returns the blended value, and that of the tangent at 0.

    The value is `powers[CYCLES] (m + smooth log sum exp((l_g - m) / smooth)) + powers[ENERGY] l_energy`, with
    `l_g = log sum exp(c_t + z_t)` of a group and `m` their largest, and `STEEPEST smooth log(1 + exp(l_g /
    smooth))` for every limit: convex in `z`, so the tangent is nowhere above it.
    """
    kinds, starts, powers = groups.kinds, lines.starts, groups.powers
    largest, total = -np.inf, 0.0
    for group in range(len(kinds)):
        fill_shares(z, lines, group, at)
        if kinds[group] == CYCLES:
            largest = max(largest, at.levels[group])
    for group in range(len(kinds)):
        if kinds[group] == CYCLES:
            # Less the largest, so that no power overflows.
            at.weights[group] = np.exp((at.levels[group] - largest) / smooth)
            total += at.weights[group]
    value, base = 0.0, 0.0
    if total > 0.0:
        value = powers[CYCLES] * (largest + smooth * np.log(total))
    for group in range(len(kinds)):
        if kinds[group] == CYCLES:
            at.weights[group] *= powers[CYCLES] / total
        elif kinds[group] == ENERGY:
            at.weights[group] = powers[ENERGY]
            value += powers[ENERGY] * at.levels[group]
        else:
            over = at.levels[group] / smooth
            # Beyond, 1 + exp(over) is exp(over) in doubles.
            if over < 40.0:
                grown = np.exp(over)
                at.weights[group] = STEEPEST * grown / (1.0 + grown)
                value += STEEPEST * smooth * np.log1p(grown)
            else:
                at.weights[group] = STEEPEST
                value += STEEPEST * at.levels[group]
        base += at.weights[group] * at.levels[group]
        for term in range(starts[group], starts[group + 1]):
            at.gradient[term] = at.weights[group] * at.shares[term]
            base -= at.gradient[term] * z[term]
    return value, base


@subroutine
def fill_shares(z, lines, group, at):
    """Writes the level of a group, and what share of its sum each of its terms is."""
    first, end = lines.starts[group], lines.starts[group + 1]
    top, total = -np.inf, 0.0
    for term in range(first, end):
        top = max(top, lines.coefficients[term] + z[term])
    for term in range(first, end):
        at.shares[term] = np.exp(lines.coefficients[term] + z[term] - top)
        total += at.shares[term]
    for term in range(first, end):
        at.shares[term] /= total
    at.levels[group] = top + np.log(total)


@subroutine_with_arrays
def mix_chains(table, lines, groups, smooth, z, mixture):
    """Weighs the chains that are mixed by Newton's method: each step moves weight between the heaviest of a
    component and its others. Writes `z`, what the mixture contributes to terms.
    """
    terms, parts, sums = len(z), len(mixture.counts), len(groups.kinds)
    at = Tangent(np.empty(terms), np.empty(terms), np.empty(sums), np.empty(sums))
    most = mixture.counts.sum()
    moves = Moves(
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty((most, terms)),
        np.empty((most, sums)), np.empty(most), np.empty(most), np.empty((most, most + 1)),
        np.empty(parts, dtype=np.int64),
    )  # fmt: skip
    move, there = np.empty(terms), np.empty(terms)
    # Anew from the weights: they may have changed since, as where a chain made room for another.
    z[:] = 0.0
    for part in range(parts):
        for place in range(mixture.counts[part]):
            if mixture.weights[part, place] > 0.0:
                for term in range(terms):
                    z[term] += (
                        mixture.weights[part, place]
                        * table.values[lines.rows[term], mixture.atoms[part, place]]
                    )
    for _ in range(STEPS):
        value, _ = write_tangent(z, lines, groups, smooth, at)
        free = newton_step(groups, smooth, at, mixture, moves, find_moves(table, lines, at, mixture, moves))
        gain = 0.0
        move[:] = 0.0
        for one in range(free):
            gain -= moves.slope[one] * moves.step[one]
            for term in range(terms):
                move[term] += moves.step[one] * moves.shifts[one, term]
        # `gain` is what the whole step would bring if the loss were as steep all along.
        if free == 0 or gain < 1e-7:
            return
        length = longest_step(mixture, moves, free)
        for _ in range(SHORTER_STEPS):
            for term in range(terms):
                there[term] = z[term] + length * move[term]
            new, _ = write_tangent(there, lines, groups, smooth, at)
            # Armijo's rule: some share of what the slope promises has to be gained.
            if new <= value - 1e-3 * length * gain:
                break
            length *= 0.4
        else:
            return
        z[:] = there
        move_weights(mixture, moves, free, length)


@subroutine
def find_moves(table, lines, at, mixture, moves):
    """Writes the moves that may gain, and how they move terms and groups; returns how many there are."""
    free, terms, weights = 0, len(lines.rows), mixture.weights
    for part in range(len(mixture.counts)):
        heaviest = 0
        for place in range(mixture.counts[part]):
            if weights[part, place] > weights[part, heaviest]:
                heaviest = place
        moves.heaviest[part] = heaviest
        for place in range(mixture.counts[part]):
            if place == heaviest:
                continue
            cost = 0.0
            for term in range(terms):
                row = table.values[lines.rows[term]]
                shift = row[mixture.atoms[part, place]] - row[mixture.atoms[part, heaviest]]
                moves.shifts[free, term] = shift
                cost += at.gradient[term] * shift
            # A chain without weight can only be given some, so it has to make the loss fall.
            if weights[part, place] > 0.0 or cost < -1e-7:
                moves.slope[free], moves.owner[free], moves.slot[free] = cost, part, place
                free += 1
    for one in range(free):
        for group in range(len(lines.starts) - 1):
            mean = 0.0
            for term in range(lines.starts[group], lines.starts[group + 1]):
                mean += at.shares[term] * moves.shifts[one, term]
            moves.means[one, group] = mean
    return free


@subroutine
def newton_step(groups, smooth, at, mixture, moves, free):
    """Writes the Newton step, without moves that would take weight from a chain that has none, as such a
    chain can only gain; returns how many moves are left.
    """
    for _ in range(free):
        fill_bend(groups, smooth, at, moves, free)
        eliminate_gauss(moves, free)
        kept = 0
        for one in range(free):
            owner, slot = moves.owner[one], moves.slot[one]
            if moves.step[one] > 0.0 or mixture.weights[owner, slot] > 0.0:
                if kept != one:
                    for term in range(moves.shifts.shape[1]):
                        moves.shifts[kept, term] = moves.shifts[one, term]
                    for group in range(moves.means.shape[1]):
                        moves.means[kept, group] = moves.means[one, group]
                    moves.slope[kept], moves.owner[kept], moves.slot[kept] = moves.slope[one], owner, slot
                kept += 1
        if kept == free:
            break
        free = kept
    return free


@subroutine
def fill_bend(groups, smooth, at, moves, free):
    """Writes the second derivatives of the blended value along moves, with a small ridge, and the slopes."""
    bend, means = moves.bend, moves.means
    for one in range(free):
        for two in range(one + 1):
            found, first, second = 0.0, 0.0, 0.0
            for group in range(len(groups.kinds)):
                weight = at.weights[group]
                if weight < 1e-12:
                    continue
                product = means[one, group] * means[two, group]
                square = 0.0
                for term in range(groups.starts[group], groups.starts[group + 1]):
                    square += at.shares[term] * moves.shifts[one, term] * moves.shifts[two, term]
                # Of a log-sum-exp: the covariance of the shifts, by the terms' shares.
                found += weight * (square - product)
                if groups.kinds[group] == CYCLES:
                    # The blend of the cycles is a log-sum-exp of groups, with a covariance over these: the
                    # product of means is taken off below.
                    found += weight / smooth * product
                    first += weight * means[one, group]
                    second += weight * means[two, group]
                elif groups.kinds[group] == LIMIT:
                    # A limit's weight is a logistic function of its level, and this is its derivative.
                    found += weight * (1.0 - weight / STEEPEST) / smooth * product
            bend[one, two] = bend[two, one] = found - first * second / (smooth * groups.powers[CYCLES])
        # Chains that contribute nearly the same would make the equations singular.
        bend[one, one] = bend[one, one] * (1.0 + 1e-8) + 1e-6
        bend[one, free] = -moves.slope[one]


@subroutine
def eliminate_gauss(moves, free):
    """Writes the step that solves the linear equations of `bend`, by Gaussian elimination."""
    bend, step = moves.bend, moves.step
    for one in range(free):
        # No exchange of rows: the loss is convex, so with the ridge pivots are positive but for rounding.
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


@subroutine
def longest_step(mixture, moves, free):
    """Up to which share of the step, 1 at most, no weight is below 0."""
    longest = 1.0
    for one in range(free):
        if moves.step[one] < 0.0:
            longest = min(longest, mixture.weights[moves.owner[one], moves.slot[one]] / -moves.step[one])
    for part in range(len(mixture.counts)):
        # What all moves of a component give its other chains, its heaviest loses.
        less = 0.0
        for one in range(free):
            if moves.owner[one] == part:
                less += moves.step[one]
        if less > 0.0:
            longest = min(longest, mixture.weights[part, moves.heaviest[part]] / less)
    return longest


@subroutine
def move_weights(mixture, moves, free, length):
    """Moves weights by so much of the step; what is next to nothing goes to the heaviest."""
    weights = mixture.weights
    for one in range(free):
        part, place = moves.owner[one], moves.slot[one]
        heaviest = moves.heaviest[part]
        weights[part, place] += length * moves.step[one]
        weights[part, heaviest] -= length * moves.step[one]
        if weights[part, place] < 1e-9:
            weights[part, heaviest] += weights[part, place]
            weights[part, place] = 0.0
    for part in range(len(mixture.counts)):
        weights[part, moves.heaviest[part]] = max(weights[part, moves.heaviest[part]], 0.0)
