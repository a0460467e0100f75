"""Sums of a choice of each layer: a few of them quickly, or all that may be the best within caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dse.optimum.network_front import undominated
from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.optimum.codesign.caps import CappedStructure

FEW = 400
"""Sums so far that are gone on from, where a good choice is enough."""
MOST = 4_000_000
"""Sums of which the best are looked for at once."""
ROUNDED = 1e-12

Layers = Sequence[tuple[FloatArray, FloatArray]]
"""Of every layer the cycles and the nJ of its choices, times how often it counts."""


class Sums(NamedTuple):
    """Cycles (n,) and nJ (n,) of sums of choices, and the place of each layer's choice (n, layers)."""

    cycles: FloatArray
    energy: FloatArray
    choices: IntArray

    def at(self, places: IntArray | BoolArray) -> Sums:
        """Some of them."""
        return Sums(self.cycles[places], self.energy[places], self.choices[places])


NOTHING = Sums(np.zeros(1), np.zeros(1), np.zeros((1, 0), np.int64))


def choose_sums(layers: Layers) -> Sums:
    """The front of the sums, thinned out where it becomes long."""
    found = NOTHING
    for cycles, energy in layers:
        found = _with(found, cycles, energy)
        if len(found.cycles) > FEW:
            found = found.at(np.linspace(0, len(found.cycles) - 1, FEW).astype(int))
    return found


class Least(NamedTuple):
    """What no sum within the caps is below, and the choices of the best that there is."""

    bound: float
    choices: tuple[int, ...] | None


def least_within(
    layers: Layers, structure: CappedStructure, weights: Sequence[float], target: float
) -> Least | None:
    """The least value of all sums within the caps, if it is below the target; None if there are too many.

    What is beaten in both figures is left out as soon as it is, and so is what cannot come below the target:
    by the least that the layers to come add to cycles, to energy, and to energy + weight * cycles. A cap on
    mean power leaves of a sum that breaks it what waiting would cost: any that is slower and takes no less.
    """
    order = np.argsort([-len(cycles) for cycles, _ in layers], kind="stable").tolist()
    found = NOTHING
    for place, layer in enumerate(order):
        if len(found.cycles) * len(layers[layer][0]) > MOST:
            return None
        found = _with(found, *layers[layer])
        rest = [layers[other] for other in order[place + 1 :]]
        found = found.at(_least_values(found, rest, structure, weights) < target)
    choices = found.choices[:, np.argsort(order)]
    cycles = sum((of[choices[:, at]] for at, (of, _) in enumerate(layers)), np.zeros(len(choices)))
    energy = sum((of[choices[:, at]] for at, (_, of) in enumerate(layers)), np.zeros(len(choices)))
    seconds, caps = structure.cycle_seconds, structure.caps
    waited = np.maximum(cycles, energy / caps.most_nj(seconds))
    bounds = structure.values(energy, waited) * (1 - ROUNDED)
    bounds[waited > caps.most_cycles(seconds)] = math.inf
    kept = np.flatnonzero(caps.keeps(energy, cycles, seconds))
    if not len(kept):
        return Least(min(float(bounds.min(initial=math.inf)), target), None)
    values = structure.values(energy[kept], cycles[kept])
    best = choices[kept[int(values.argmin())]]
    return Least(min(float(bounds.min()), target), tuple(best.tolist()))


def _with(sums: Sums, cycles: FloatArray, energy: FloatArray) -> Sums:
    """The front of these sums with a choice of one more layer."""
    steps = (sums.cycles[:, np.newaxis] + cycles).ravel()
    joules = (sums.energy[:, np.newaxis] + energy).ravel()
    kept = undominated(steps, joules)
    before, after = kept // len(cycles), kept % len(cycles)
    choices = np.concatenate([sums.choices[before], after[:, np.newaxis]], axis=1)
    return Sums(steps[kept], joules[kept], choices)


def _least_values(
    sums: Sums, rest: Layers, structure: CappedStructure, weights: Sequence[float]
) -> FloatArray:
    """What no network that begins with each of the sums is below, within the caps."""
    seconds, caps = structure.cycle_seconds, structure.caps
    most, rate = caps.most_cycles(seconds), caps.most_nj(seconds)
    energy = sums.energy + math.fsum(of.min() for _, of in rest)
    cycles = sums.cycles + math.fsum(of.min() for of, _ in rest)
    found = np.zeros(len(sums.cycles))
    for weight in weights:
        least = math.fsum((own + weight * of).min() for of, own in rest)
        line = sums.energy + weight * sums.cycles + least
        # From the fewest cycles within the caps along the line to where energy ends it, or a cap.
        fewest = np.maximum(cycles, np.maximum(energy / rate, line / (rate + weight)))
        last = np.minimum(np.maximum(fewest, (line - energy) / weight), most)
        ends = [np.maximum(energy, line - weight * at) for at in (fewest, last)]
        values = np.minimum(structure.values(ends[0], fewest), structure.values(ends[1], last))
        found = np.maximum(found, np.where(fewest > most, math.inf, values))
    return found * (1 - ROUNDED)
