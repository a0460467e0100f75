"""A bound of a group that shares tiles, found again: every tiling, by formulas of its own.

Of a product with tiles of a x b x k in the home and loops outside over M/a, N/b and K/k, the innermost of
these leaves one tensor in place; the others come again with every step of the loop that they do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain as joined
from itertools import combinations, pairwise, product
from math import inf

import numpy as np

from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Rates, SharedTiles
from dse.optimum.chains.tilings import Group, Size, part_of

Implied = Callable[[Phase], float]
"""What the proofs say that a phase is not below."""


@dataclass(frozen=True)
class Floor:
    """What the bounds of a group stand on; `weights` are those of energy and latency."""

    problem: AnyProblem
    tiles: SharedTiles
    room: int
    weights: tuple[float, float]
    implied: Implied
    by_energy: Implied
    """The same of their energy."""

    def cheap(self, group: Group) -> float:
        """Without any tiling: what the layers cost inside the home."""
        return sum(self._inside(size, 1, self.implied, 0.0) for size in group.sizes)

    def exact(self, group: Group) -> float:
        """The least over all tilings."""
        return min((self._tiling(group, *one) for one in _all(group)), default=inf)

    def _inside(self, size: Size, rounds: int, implied: Implied, energy: float) -> float:
        """A product inside the home, its sums begun in one of so many rounds; `energy` weighs if alone."""
        must = self.tiles.rates(self.problem)[0].kept
        held = tuple(name for name in ("I", "O", "W") if name != "W" or "W" in must)
        if rounds == 1:
            return implied(Phase(part_of(size), held, 0))
        again = implied(Phase(part_of(size), held, 0, returned=True))
        saved = self.tiles.first_visits(self.problem) * size[0] * size[1] * energy
        first = max(0.0, again / rounds - saved) if energy else 0.0
        return again * (rounds - 1) / rounds + first

    def _tiling(
        self, group: Group, rows: int, splits: tuple[int, ...], kept: frozenset[str], outside: bool
    ) -> float:
        """A bound of one tiling; `kept` are held weights (W0, W1, ...) and the ends of pairs (I, O).

        The better of two: what layers cost inside the home, with what moves over its edge; and what proofs
        say of each part. In both a part takes no less than its words do at each port.
        """
        sizes, (energy, latency) = group.sizes, self.weights
        joules, ports = self.tiles.rates(self.problem)
        across = len(sizes)
        total, proven = 0.0, 0.0
        for place, (_, columns, sums) in enumerate(sizes):
            before = splits[place - 1] if place else 1
            behind = splits[place] if place + 1 < across else 1
            part = (sizes[0][0] // rows, columns // behind, sums // before)
            need, held = needed_room(group, rows, splits, kept, outside, place)
            if need > self.room:
                return inf
            moved, waits = 0.0, 0.0
            for returned, times in ((False, rows * behind), (True, rows * (before - 1))):
                if not times:
                    continue
                moves = _moves(sizes, place, kept, first=not returned, last=returned or before == 1)
                comings = {"W": splits[0] if outside else 1}
                ends = 1 if outside else rows
                phase = Phase(part_of(part), tuple(sorted(held)), need, returned)
                over, *at = (
                    times * _words(part, self.room - need, held, returned, rates) + _held_cost(moves, rates)
                    for rates in (joules, *ports)
                )
                if over == inf:
                    return inf
                own = energy * self._blocks({name: (moves[name], comings.get(name, ends)) for name in moves})
                wait = max(at, default=0.0)
                moved, waits = moved + over, waits + wait
                least = times * self.implied(phase) + own
                if latency:
                    spent = energy * times * self.by_energy(phase) + own if energy else 0.0
                    least = max(least, spent + latency * wait)
                proven += least
            inside = self._inside(sizes[place], before, self.implied, 0.0 if latency else energy)
            inside += energy * moved
            if latency:
                spent = self._inside(sizes[place], before, self.by_energy, 1.0) if energy else 0.0
                inside = max(inside, energy * (spent + moved) + latency * waits)
            total += inside
        return max(total, proven)

    def _blocks(self, moves: dict[str, tuple[int, int]]) -> float:
        """The energy of words that are moved in so many times, of each time the words' whole blocks."""
        each = (
            times * self.tiles.moved(self.problem, name, words // times)[0]
            for name, (words, times) in moves.items()
        )
        return sum(each) * 1e-9


def _moves(
    sizes: tuple[Size, ...], place: int, kept: frozenset[str], *, first: bool, last: bool
) -> dict[str, int]:
    """Words of what is held that come or go as a layer's first or last part is run."""
    rows, columns, sums = sizes[place]
    found = {}
    if first and f"W{place}" in kept:
        found["W"] = columns * sums
    if first and "I" in kept and place == 0:
        found["I"] = rows * sums
    if last and "O" in kept and place + 1 == len(sizes):
        found["O"] = rows * columns
    return found


def _held_cost(moves: dict[str, int], rates: Rates) -> float:
    each = dict(zip("IWO", (*rates.comes[:2], rates.goes), strict=True))
    return sum(words * each[name] for name, words in moves.items())


def _all(group: Group) -> Iterator[tuple[int, tuple[int, ...], frozenset[str], bool]]:
    """Parts of the rows, of each intermediate's columns, what is held, and whether columns are outside."""
    sizes, across = group.sizes, len(group.layers)
    weights = [f"W{place}" for place in range(across) if place not in group.weights]
    for rows in _divisors(sizes[0][0]):
        columns = [
            (1,) if whole else _divisors(size[1])
            for whole, size in zip(group.whole_rows, sizes[:-1], strict=True)
        ]
        for splits in product(*columns):
            if any(one > 1 and two > 1 for one, two in pairwise(splits)) or rows == max(splits) == 1:
                continue
            ends = [] if splits[0] == 1 or group.reads else ["I"]
            ends += [] if splits[-1] == 1 or group.makes else ["O"]
            for kept in _subsets([*(weights if rows > 1 else []), *ends]):
                yield rows, splits, kept, False
            if across == 2 and rows > 1 and splits[0] > 1:
                for kept in _subsets([*weights, *ends]):
                    yield rows, splits, kept, True


def _subsets(names: list[str]) -> Iterator[frozenset[str]]:
    every = joined.from_iterable(combinations(names, size) for size in range(len(names) + 1))
    return map(frozenset, every)


def needed_room(
    group: Group, rows: int, splits: tuple[int, ...], kept: frozenset[str], outside: bool, place: int
) -> tuple[int, frozenset[str]]:
    """The room of all that is alive as a layer's part is run, beside its tiles; and its operands of it."""
    sizes, last = group.sizes, len(group.layers) - 1
    wide_in, wide_weight, wide = group.bits
    part = sizes[0][0] // rows
    # Layers that are run in rounds with this one have what both read and make alive.
    start = place - 1 if place and splits[place - 1] > 1 else place
    end = place + 1 if place < last and splits[place] > 1 else place
    need = group.taken
    for one in range(start - 1, end + 1):
        if 0 <= one < last:
            need += part * sizes[one][1] // splits[one] * wide
    tall = sizes[0][0] if outside else part
    if "I" in kept and start == 0:
        need += tall * sizes[0][2] * wide_in
    if "O" in kept and end == last:
        need += tall * sizes[-1][1] * wide
    for one, (_, columns, sums) in enumerate(sizes):
        if f"W{one}" in kept:
            need += columns * sums // (splits[0] if outside else 1) * wide_weight
    held = set()
    if place or group.reads or "I" in kept:
        held.add("I")
    if place < last or group.makes or "O" in kept:
        held.add("O")
    if f"W{place}" in kept or place in group.weights:
        held.add("W")
    return need, frozenset(held)


@cache
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(one for one in range(1, number + 1) if number % one == 0)


@cache
def _words(
    part: tuple[int, int, int], room: int, held: frozenset[str], returned: bool, rates: Rates
) -> float:
    """The least that a part moves over the edge of the home."""
    m, n, k = part
    a, b, c = (axis.ravel().astype(float) for axis in np.meshgrid(*map(_divisors, part), indexing="ij"))
    bits = dict(zip("IWO", rates.bits, strict=True))
    tile = {"I": a * c, "W": b * c, "O": a * b}
    need = sum(tile[name] * bits[name] for name in rates.kept - held) + np.zeros(len(a))
    fits = need <= room
    if not fits.any():
        return inf
    again = {"I": (n / b)[fits], "W": (m / a)[fits], "O": (k / c)[fits]}
    whole = {"I": float(m * k), "W": float(k * n), "O": float(m * n)}
    once, more = np.zeros(int(fits.sum())), {}
    for place, name in enumerate("IWO"):
        if name in held:
            more[name] = np.zeros(len(once))
            continue
        comes = rates.comes[place]
        each = comes + rates.goes if name == "O" else comes
        start = rates.goes + comes * returned if name == "O" else comes
        once = once + whole[name] * start
        more[name] = whole[name] * each * (again[name] - 1.0) * (name in rates.kept)
    total = once + sum(more.values())
    # The innermost loop that runs leaves one of them in place.
    return float((total - np.maximum.reduce(list(more.values()))).min())
