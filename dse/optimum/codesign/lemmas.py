"""What is proven of one layer on machines of one structure, and what follows from it for others.

A mapping's energy is a sum of counts times energies. So the least of `energy + weight * cycles` over all
mappings, as a function of the energies and the weight, is concave, grows with each of them, and doubles when
all double: with the least values v_i at prices c_i, and shares s_i >= 0 whose sum of s_i c_i is nowhere above
the prices c, it is at least the sum of s_i v_i at c. The best shares are a small linear program. What was
proven with larger capacities and rates holds for smaller ones.

Sums over layers are lines: whatever the mappings, the network's energy E and cycles D keep every proven line
`a E + b D >= c`. A product of powers has convex upper level sets, so its least value over all (E, D) that
keep the lines is at a corner of theirs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dse.core.domains import make_problem
from dse.core.hardware_figures import HardwareFigures
from dse.core.layer import Layer
from dse.domains.codesign.space import Priced
from dse.support.arrays import FloatArray

ROUNDED = 1e-12
"""By so much of itself a bound is lowered that was added up from others."""

Shares = tuple[tuple[int, float], ...]
"""The numbers of lemmas, with the share of each."""


@dataclass(frozen=True)
class Lemma:
    """A proof: with these capacities and rates, no mapping costs less than `least` at these prices.

    `prices` are 1 or 0 for the part of the energy that is the same on all machines, the energies that
    are not, and the weight of a cycle; `least` is in nJ (or in cycles, where only cycles have a price).
    `least` is inf where nothing fits.
    """

    number: int
    limits: tuple[float, ...]
    prices: tuple[float, ...]
    least: float


@dataclass
class LayerLemmas:
    """The lemmas of one layer and one structure, and every good mapping that is known."""

    lemmas: list[Lemma] = field(default_factory=list)
    mappings: dict[str, Any] = field(default_factory=dict)
    """By their JSON."""
    _usable: dict[tuple[float, ...], tuple[int, list[Lemma]]] = field(default_factory=dict)
    """Of how many lemmas those were taken that hold within some limits, and these."""
    _bounds: dict[tuple[tuple[float, ...], tuple[float, ...]], tuple[int, tuple[float, Shares]]] = field(
        default_factory=dict
    )
    """What was followed at some limits and prices, from how many usable lemmas: more may say more."""

    def add_mapping(self, mapping: Any) -> None:
        """Keep a mapping, if it is new."""
        self.mappings.setdefault(mapping.to_json(), mapping)

    def bound(self, limits: tuple[float, ...], prices: tuple[float, ...]) -> tuple[float, Shares]:
        """What no mapping is below within `limits` and at `prices`, and the lemmas that say so."""
        # Lemmas are only ever added: among the new ones are those to take up.
        seen, usable = self._usable.get(limits, (0, []))
        if seen < len(self.lemmas):
            new = self.lemmas[seen:]
            usable += [one for one in new if all(map(operator.ge, one.limits, limits))]
            self._usable[limits] = len(self.lemmas), usable
        count, found = self._bounds.get((limits, prices), (-1, (0.0, ())))
        if count != len(usable):
            found = self._follow(usable, prices)
            self._bounds[limits, prices] = len(usable), found
        return found

    @staticmethod
    def _follow(usable: list[Lemma], prices: tuple[float, ...]) -> tuple[float, Shares]:
        best: tuple[float, Shares] = (0.0, ())
        for lemma in usable:
            share = _share(lemma.prices, prices)
            if share and share * lemma.least > best[0]:
                # A lemma at these very prices is as good as a proof of them.
                least = lemma.least if share == 1.0 else share * lemma.least * (1 - ROUNDED)
                best = (least, ((lemma.number, share),))
        if best[0] < math.inf and len(usable) > 1 and not _at(usable, best, prices):
            found = _best_shares(usable, prices)
            if found[0] > best[0]:
                return found
        return best


def _share(lemma: tuple[float, ...], prices: tuple[float, ...]) -> float:
    """The largest share of a lemma's prices that is nowhere above others."""
    ratios = [other / one for one, other in zip(lemma, prices, strict=True) if one > 0]
    return min(ratios, default=0.0)


def _at(lemmas: list[Lemma], best: tuple[float, Shares], prices: tuple[float, ...]) -> bool:
    """Whether the best bound is of a lemma at these very prices."""
    numbers = {number for number, share in best[1] if share == 1.0}
    return any(lemma.number in numbers and lemma.prices == prices for lemma in lemmas)


def _best_shares(lemmas: list[Lemma], prices: tuple[float, ...]) -> tuple[float, Shares]:
    """The linear program. Its shares are made to keep the prices, whatever the solver's tolerance was."""
    from scipy.optimize import linprog

    table: FloatArray = np.array([lemma.prices for lemma in lemmas])
    least, limit = np.array([lemma.least for lemma in lemmas]), np.array(prices)
    # What has no price may not be paid for.
    usable = np.flatnonzero(~(table[:, limit == 0] > 0).any(axis=1))
    priced = limit > 0
    if not len(usable) or not priced.any():
        return 0.0, ()
    shares, size = np.zeros(len(lemmas)), float(least[usable].max()) or 1.0
    # In shares of what may be paid, and of the largest least: the solver's tolerances are absolute.
    uses = table[np.ix_(usable, priced)] / limit[priced]
    solved = linprog(-least[usable] / size, A_ub=uses.T, b_ub=np.ones(uses.shape[1]), method="highs")
    if solved.status != 0:
        return 0.0, ()
    shares[usable] = np.where(solved.x > 1e-12, solved.x, 0.0)
    over = float((shares @ table[:, priced] / limit[priced]).max())
    shares /= max(over, 1.0) * (1 + ROUNDED)
    found = tuple((lemma.number, float(share)) for lemma, share in zip(lemmas, shares, strict=True) if share)
    # What may not be paid for has no share, even where it says that nothing fits.
    return float(shares[usable] @ least[usable]) * (1 - ROUNDED), found


KEPT = 1e-12
"""By so much of itself a corner may miss a line and still count: that only lowers the bound."""

Value = Callable[[float, float], float]
"""From energy and cycles to what is minimised; it falls in neither."""


class Line(NamedTuple):
    """`energy * E + cycles * D >= least`."""

    energy: float
    cycles: float
    least: float


class Corner(NamedTuple):
    """Where two lines meet, and the value there."""

    value: float
    energy: float
    cycles: float
    lines: tuple[int, int]


def lowest_corner(lines: Iterable[Line], value: Value) -> Corner:
    """The corner of the least value. There is a line of energy alone and one of cycles alone."""
    every = list(lines)
    # A layer fits on none of the machines.
    if any(line.least == math.inf for line in every):
        return Corner(math.inf, math.inf, math.inf, (0, 0))
    found = Corner(math.inf, math.inf, math.inf, (0, 0))
    for place, one in enumerate(every):
        for other in range(place + 1, len(every)):
            met = _meet(one, every[other])
            if met is None or not all(_keeps(met, line) for line in every):
                continue
            corner = Corner(value(*met), *met, (place, other))
            found = min(found, corner, key=lambda corner: corner.value)
    return found


def _meet(one: Line, other: Line) -> tuple[float, float] | None:
    # By Cramer's rule; parallel lines do not meet.
    across = one.energy * other.cycles - other.energy * one.cycles
    if abs(across) <= 1e-15 * (abs(one.energy * other.cycles) + abs(other.energy * one.cycles)):
        return None
    energy = (one.least * other.cycles - other.least * one.cycles) / across
    cycles = (one.energy * other.least - other.energy * one.least) / across
    if not np.isfinite([energy, cycles]).all():
        return None
    # Nothing is below 0, whatever the rounding.
    return max(energy, 0.0), max(cycles, 0.0)


def _keeps(met: tuple[float, float], line: Line) -> bool:
    return line.energy * met[0] + line.cycles * met[1] >= line.least * (1 - KEPT)


@dataclass
class Costs:
    """Energies in nJ and cycles of those of the first `seen` mappings that a machine can run, and these."""

    machine: Priced
    seen: int = 0
    energies: list[float] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    mappings: list[Any] = field(default_factory=list)

    def learn(self, layer: Layer, domain: HardwareFigures, mappings: Sequence[Any]) -> None:
        """Price the mappings of a layer that follow."""
        problem = make_problem(layer, self.machine.hardware, "energy", self.machine.model)
        found = domain.price(problem, mappings)
        fits = (found.reason == 0).nonzero()[0].tolist()
        self.seen += len(mappings)
        self.energies += found.energy_nj[fits].tolist()
        self.cycles += found.cycles[fits].tolist()
        self.mappings += [mappings[at] for at in fits]


def int_if_whole(number: float) -> float:
    """A number, as an int where it is one: of networks by shares, cycles need not be whole."""
    return int(number) if number == int(number) else number
