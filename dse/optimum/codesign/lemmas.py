"""What is proven of one layer on machines of one structure, and what follows from it for others.

A mapping's energy is a sum of counts times energies. So the least of `energy + weight * cycles` over all
mappings, as a function of the energies and the weight, is concave, grows with each of them, and doubles when
all double: with the least values v_i at prices c_i, and shares s_i >= 0 whose sum of s_i c_i is nowhere above
the prices c, it is at least the sum of s_i v_i at c. The best shares are a small linear program. What was
proven with larger capacities and rates holds for smaller ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
        seen, usable = self._usable.get(limits, (0, []))
        if seen < len(self.lemmas):
            usable += [lemma for lemma in self.lemmas[seen:] if _covers(lemma.limits, limits)]
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


def _covers(wide: tuple[float, ...], narrow: tuple[float, ...]) -> bool:
    return all(one >= other for one, other in zip(wide, narrow, strict=True))


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
