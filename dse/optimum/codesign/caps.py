"""Caps on a network's run, its latency and its mean power, and what they make of bounds and choices.

In cycles D and energy E, what lines leave is E >= e(D), which falls. A run within a cap on latency has no
more than so many cycles, so E is no less than e there. A cap on mean power is E <= p D: so D is no less than
where e(D) = p D. Both are lines again, of energy alone and of cycles alone, and nothing that keeps the caps
is lost. On one machine sums of a choice of each layer are added up: a few of them quickly, or all that may be
the best within caps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dse.optimum.codesign.lemmas import KEPT, Corner, Line, lowest_corner
from dse.optimum.codesign.machine import Bound, Chosen, Each, Structure
from dse.optimum.network_front import NO_LAYERS, Sums, undominated_points
from dse.support.arrays import FloatArray
from dse.support.validation import positive_number

FEW = 400
"""Sums so far that are gone on from, where a good choice is enough."""
MOST = 4_000_000
"""Sums of which the best are looked for at once."""
ROUNDED = 1e-12

Layers = Sequence[tuple[FloatArray, FloatArray]]
"""Of every layer the cycles and the nJ of its choices, times how often it counts."""


def choose_sums(layers: Layers) -> Sums:
    """The front of the sums, thinned out where it becomes long."""
    found = NO_LAYERS
    for cycles, energy in layers:
        found = found.with_layer(cycles, energy)
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
    # The longest lists first: then sums are few where they are multiplied by them.
    order = np.argsort([-len(cycles) for cycles, _ in layers], kind="stable").tolist()
    found = NO_LAYERS
    for place, layer in enumerate(order):
        if len(found.cycles) * len(layers[layer][0]) > MOST:
            return None
        found = found.with_layer(*layers[layer])
        rest = [layers[other] for other in order[place + 1 :]]
        found = found.at(_least_values(found, rest, structure, weights) < target)
    # Back in the layers' own order, and added up in it.
    choices = found.choices[:, np.argsort(order)]
    cycles = sum((of[choices[:, at]] for at, (of, _) in enumerate(layers)), np.zeros(len(choices)))
    energy = sum((of[choices[:, at]] for at, (_, of) in enumerate(layers)), np.zeros(len(choices)))
    seconds, caps = structure.cycle_seconds, structure.caps
    # At the same energy, as slow as the cap on mean power asks.
    waited = np.maximum(cycles, energy / caps.most_nj(seconds))
    bounds = structure.values(energy, waited) * (1 - ROUNDED)
    bounds[waited > caps.most_cycles(seconds)] = math.inf
    kept = np.flatnonzero(caps.keeps(energy, cycles, seconds))
    if not len(kept):
        return Least(min(float(bounds.min(initial=math.inf)), target), None)
    values = structure.values(energy[kept], cycles[kept])
    best = choices[kept[int(values.argmin())]]
    return Least(min(float(bounds.min()), target), tuple(best.tolist()))


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
        # From the fewest cycles within the caps along the line to where energy ends it, or a cap. On such a
        # piece the value is least at an end, as its upper level sets are convex; beyond it energy is no less.
        fewest = np.maximum(cycles, np.maximum(energy / rate, line / (rate + weight)))
        last = np.minimum(np.maximum(fewest, (line - energy) / weight), most)
        ends = [np.maximum(energy, line - weight * at) for at in (fewest, last)]
        values = np.minimum(structure.values(ends[0], fewest), structure.values(ends[1], last))
        found = np.maximum(found, np.where(fewest > most, math.inf, values))
    return found * (1 - ROUNDED)


NJ = 1e-9


@dataclass(frozen=True)
class Caps:
    """The most seconds that a run of the network may take, and the most watts in the mean; inf without."""

    latency: float = math.inf
    power: float = math.inf

    def __bool__(self) -> bool:
        """Whether there is a cap."""
        return min(self.latency, self.power) < math.inf

    def keeps(self, energy: Any, cycles: Any, cycle_seconds: float) -> Any:
        """Whether runs of this energy (nJ) and these cycles keep the caps, but for rounding."""
        seconds = cycles * cycle_seconds
        in_time = seconds <= self.latency * (1 + KEPT)
        return in_time & (energy * NJ / seconds <= self.power * (1 + KEPT))

    def most_cycles(self, cycle_seconds: float) -> float:
        """No run within the caps has more cycles, but for rounding."""
        return self.latency / cycle_seconds * (1 + KEPT)

    def most_nj(self, cycle_seconds: float) -> float:
        """No run within the caps takes more energy a cycle, but for rounding."""
        return self.power * cycle_seconds / NJ * (1 + KEPT)

    def to_dict(self) -> dict[str, float]:
        """Those that there are, by the names of options."""
        given = {"max_latency": self.latency, "max_power": self.power}
        return {name: cap for name, cap in given.items() if cap < math.inf}


NO_CAPS = Caps()


def caps_of(max_latency: float | None, max_power: float | None) -> Caps:
    """Caps as users give them; InputError where one is no number above 0."""
    given = ((max_latency, "max_latency"), (max_power, "max_power"))
    return Caps(*(math.inf if cap is None else positive_number(cap, name) for cap, name in given))


@dataclass
class CappedStructure(Structure):
    """The machines of one root and a network whose run has to keep caps."""

    caps: Caps = NO_CAPS

    @property
    def weights(self) -> tuple[float | None, ...]:
        """Those of the objective, and what the caps are of; that of cycles first, as it rules most out."""
        own = super().weights
        if self.caps.power == math.inf and own == (None,):
            return own
        return (None, 0.0, *(weight for weight in own if weight))

    def corner(self, lines: Sequence[Line]) -> Corner:
        """The lowest corner of what the lines and the caps leave; at inf where that is nothing."""
        if any(line.least == math.inf for line in lines):
            return Corner(math.inf, math.inf, math.inf, (0, 0))
        most, rate = self.caps.most_cycles(self.cycle_seconds), self.caps.most_nj(self.cycle_seconds)
        fewest = max(_fewest(line, rate) for line in lines)
        # No run is fast enough at so little power.
        if fewest > most:
            return Corner(math.inf, math.inf, math.inf, (0, 0))
        more = [Line(0.0, 1.0, fewest)]
        if most < math.inf:
            more.append(Line(1.0, 0.0, max((_least_energy(line, most) for line in lines), default=0.0)))
        return lowest_corner([*lines, *more], self.value)

    def choose(self, each: Each) -> Chosen | None:
        """The best known mappings that keep the caps; where there are many, good ones that are found soon."""
        if not all(mappings for _, _, mappings in each):
            return None
        layers, places = [], []
        for times, (energy, cycles, _) in zip(self.times, each, strict=True):
            steps, joules = np.array(cycles, float), np.array(energy)
            places.append(undominated_points(steps, joules))
            layers.append((times * steps[places[-1]], times * joules[places[-1]]))
        sums = choose_sums(layers)
        kept = np.flatnonzero(self.caps.keeps(sums.energy, sums.cycles, self.cycle_seconds))
        if not len(kept):
            return None
        values = self.values(sums.energy[kept], sums.cycles[kept])
        for at in kept[np.argsort(values)].tolist():
            choices = zip(places, sums.choices[at].tolist(), strict=True)
            found = self.chosen(each, [int(kept_of[choice]) for kept_of, choice in choices])
            if self.caps.keeps(found.energy, found.cycles, self.cycle_seconds):
                return found
        return None

    def next_weight(self, bound: Bound, each: Each, more: Sequence[float]) -> float | None:
        """The slope between what touches two lines that are next to each other, around the lowest corner."""
        if len(self.weights) < 2 or not all(mappings for _, _, mappings in each):
            return None
        at = bound.corner.cycles
        return self.weight_between(
            each, more, lambda fewest, most: fewest * (1 - KEPT) <= at <= most * (1 + KEPT)
        )


def _fewest(line: Line, rate: float) -> float:
    """What a line and a cap on energy a cycle say of cycles alone."""
    if not line.energy:
        return line.least / line.cycles
    return 0.0 if rate == math.inf else line.least / (line.energy * rate + line.cycles)


def _least_energy(line: Line, cycles: float) -> float:
    """What a line says of energy alone, up to so many cycles."""
    return max((line.least - line.cycles * cycles) / line.energy, 0.0) if line.energy else 0.0
