"""Caps on a network's run, its latency and its mean power, and what they make of bounds and choices.

In cycles D and energy E, what lines leave is E >= e(D), which falls. A run within a cap on latency has no
more than so many cycles, so E is no less than e there. A cap on mean power is E <= p D: so D is no less than
where e(D) = p D. Both are lines again, of energy alone and of cycles alone, and nothing that keeps the caps
is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dse.optimum.codesign.lines import KEPT, Corner, Line, lowest_corner
from dse.optimum.codesign.machine import Bound, Chosen, Each, Structure
from dse.optimum.codesign.sums import choose_sums
from dse.optimum.network_front import undominated
from dse.support.validation import positive_number

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
            places.append(undominated(steps, joules))
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
        weights = sorted({math.inf if one is None else one for one in (*self.weights, *more)})
        touching = [self.at_weight(each, weight) for weight in weights]
        for slow, fast in pairwise(touching):
            if slow.cycles <= fast.cycles or fast.energy <= slow.energy:
                continue
            if not fast.cycles * (1 - KEPT) <= bound.corner.cycles <= slow.cycles * (1 + KEPT):
                continue
            weight = (fast.energy - slow.energy) / (slow.cycles - fast.cycles)
            if all(abs(weight - tried) > 1e-9 * weight for tried in more):
                return weight
        return None


def _fewest(line: Line, rate: float) -> float:
    """What a line and a cap on energy a cycle say of cycles alone."""
    if not line.energy:
        return line.least / line.cycles
    return 0.0 if rate == math.inf else line.least / (line.energy * rate + line.cycles)


def _least_energy(line: Line, cycles: float) -> float:
    """What a line says of energy alone, up to so many cycles."""
    return max((line.least - line.cycles * cycles) / line.energy, 0.0) if line.energy else 0.0
