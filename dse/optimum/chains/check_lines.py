"""A bound of two convolutions with a line buffer, found again: every step is gone through row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Rates, SharedTiles
from dse.optimum.chains.result import Shared
from dse.optimum.chains.tilings import Group

Implied = Callable[[Phase], float]


@dataclass(frozen=True)
class Way:
    """How rows are made: of the first layer, the second's rows a step and steps, and most rows alive."""

    made: tuple[tuple[int, int, int], ...]
    """Rows, how often, and the input rows that come for them and were not there."""
    rows: int
    steps: int
    alive: int


def ways(one: Layer, two: Layer) -> Iterator[Way]:
    """Every number of steps, and whether the first window is made in pieces."""
    above, last = two.padding[0], two.output[0]
    reads = [
        {row * two.stride[0] + tap * two.dilation[0] - above for tap in range(two.R)} for row in range(last)
    ]
    for steps in range(2, last + 1):
        if last % steps:
            continue
        rows = last // steps
        for pieces in (False, True):
            there, made, fresh, alive = set[int](), Counter[int](), Counter[int](), 0
            seen = set[int]()
            for step in range(steps):
                wanted = set[int]().union(*reads[step * rows : step * rows + rows])
                top = max(wanted) if step < steps - 1 else one.output[0] - 1
                new = [row for row in range(one.output[0]) if row <= top and row not in there]
                there |= set(new)
                alive = max(alive, sum(1 for row in there if row >= min(wanted)))
                size = rows * two.stride[0] if pieces else max(len(new), 1)
                for piece in (new[at : at + size] for at in range(0, len(new), size)):
                    begin, end = piece[0] * one.stride[0], piece[-1] * one.stride[0]
                    touched = set(range(begin, end + (one.R - 1) * one.dilation[0] + 1))
                    made[len(piece)] += 1
                    fresh[len(piece)] += len(touched - seen)
                    seen |= touched
            yield Way(tuple((size, made[size], fresh[size]) for size in made), rows, steps, alive)


def part_of_rows(layer: Layer, rows: int) -> Layer:
    """A part of a convolution that makes so many rows."""
    last = (rows - 1) * layer.stride[0] + (layer.R - 1) * layer.dilation[0]
    return replace(layer, Y=last + 1, padding=(0, layer.padding[1]), name="", repeats=1)


@dataclass(frozen=True)
class LineFloor:
    """What the bounds of line buffers stand on; `weights` are those of energy and latency."""

    problem: AnyProblem
    tiles: SharedTiles
    sizes: Callable[[Layer], Mapping[str, int]]
    """The room of each tensor of a layer."""
    room: int
    weights: tuple[float, float]
    implied: Implied
    by_energy: Implied
    may_hold: tuple[str, ...]

    def exact(self, group: Group) -> float:
        """The least over all ways and all that may be held."""
        one, two = group.layers
        best = inf
        for way in ways(one, two):
            for chosen in product((False, True), repeat=3):
                held = {name for name, on in zip(("W0", "W1", "I"), chosen, strict=True) if on}
                best = min(best, self._way(group, way, held))
        return best

    def wrong(self, shared: Shared) -> Iterator[str]:
        """What is wrong with the room of a schedule's line buffer, and with how often its parts are run."""
        one, two = shared.group.layers
        parts = [(part.place, part.phase.layer.output[0], part.count) for part in shared.tiling.parts]
        found = [
            way
            for way in ways(one, two)
            if [*((0, rows, count) for rows, count, _ in way.made), (1, way.rows, way.steps)] == parts
        ]
        if not found:
            yield f"{one.name}: its rows are not made in {shared.tiling.rows} steps"
            return
        held = {"I" if move.tensor == "I" else f"W{move.place}" for move in shared.tiling.moves}
        need, inside = self.need(shared.group, found[0], held), self._inside(shared.group, held)
        for part in shared.tiling.parts:
            name = shared.group.layers[part.place].name
            if need > part.phase.taken or need > self.room:
                yield f"{name}: {need} alive, {part.phase.taken} taken"
            if not set(part.phase.held) <= inside[part.place]:
                yield f"{name}: holds {part.phase.held}, not {sorted(inside[part.place])}"
        for place, layer in enumerate(shared.group.layers):
            own = [part for part in shared.tiling.parts if part.place == place]
            work = sum(part.count * part.phase.layer.macs for part in own)
            if work != layer.macs:
                yield f"{layer.name}: {work} MACs of {layer.macs}"

    @staticmethod
    def _inside(group: Group, held: set[str]) -> list[set[str]]:
        """The operands of both layers that are in place."""
        inside = [{"O"}, {"I"}]
        inside[0] |= {"I"} if group.reads or "I" in held else set()
        inside[1] |= {"O"} if group.makes else set()
        for at in (0, 1):
            inside[at] |= {"W"} if at in group.weights or f"W{at}" in held else set()
        return inside

    def need(self, group: Group, way: Way, held: set[str]) -> int:
        """The room of all that is alive over the steps."""
        one, two = group.layers
        row = self.sizes(part_of_rows(one, 1))["O"]
        need = group.taken + way.alive * row
        need += sum(self.sizes(layer)["W"] for at, layer in enumerate((one, two)) if f"W{at}" in held)
        if "I" in held:
            need += max(self.sizes(part_of_rows(one, rows))["I"] for rows, *_ in way.made)
        return need

    def _way(self, group: Group, way: Way, held: set[str]) -> float:
        one = group.layers[0]
        overlap = (one.R - 1) * one.dilation[0] >= one.stride[0]
        void = {f"W{at}" for at in group.weights} | ({"I"} if group.reads or not overlap else set())
        if held & void or (held & {"W0", "W1"} and "W" not in self.may_hold):
            return inf
        need = self.need(group, way, held)
        if need > self.room:
            return inf
        inside = self._inside(group, held)
        row = self._words(part_of_rows(one, 1))["I"] // ((one.R - 1) * one.dilation[0] + 1)
        parts = [(0, *made) for made in way.made] + [(1, way.rows, way.steps, 0)]
        total, begun = 0.0, set[int]()
        for at, rows, count, fresh in parts:
            layer = group.layers[at]
            moves = {"W": self._words(layer)["W"]} if f"W{at}" in held and at not in begun else {}
            moves |= {"I": fresh * row} if at == 0 and "I" in held else {}
            begun.add(at)
            phase = Phase(part_of_rows(layer, rows), tuple(sorted(inside[at])), need)
            total += self._part(phase, count, moves)
        return total

    def _part(self, phase: Phase, count: int, moves: dict[str, int]) -> float:
        """The better of two bounds: what proofs say of the part, and of it with all in place."""
        joules, ports = self.tiles.rates(self.problem)
        (energy, latency), words = self.weights, self._words(phase.layer)
        over, *waits = (
            count * self._cost(words, set(phase.held), rates) + self._cost(moves, set(), rates)
            for rates in (joules, *ports)
        )
        own = self._cost(moves, set(), joules)
        everything = tuple(name for name in ("I", "O", "W") if name != "W" or "W" in joules.kept)
        ideal = Phase(phase.layer, everything)
        found = max(count * self.implied(phase) + energy * own, count * self.implied(ideal) + energy * over)
        if not latency:
            return found
        wait = latency * max(waits, default=0.0)
        spent = max(count * self.by_energy(phase) + own, count * self.by_energy(ideal) + over)
        return max(found, (energy * spent if energy else 0.0) + wait)

    def _words(self, layer: Layer) -> dict[str, int]:
        bits = dict(zip("IWO", self.tiles.rates(self.problem)[0].bits, strict=True))
        return {name: room // bits[name] for name, room in self.sizes(layer).items()}

    @staticmethod
    def _cost(words: dict[str, int], held: set[str], rates: Rates) -> float:
        each = dict(zip("IWO", (*rates.comes[:2], rates.goes), strict=True))
        return sum(count * each[name] for name, count in words.items() if name not in held)
