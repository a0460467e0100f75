"""Which machine of a space is best for a network, with its mappings: branch and bound over boxes of hardware.

1. Every combination of the structural parameters is a root: the box of all machines that have it.
2. A box is bounded by the network on a relaxed machine, with the box's largest capacities and rates and its
   least energies: no machine of the box is better for any mapping (see `HardwareSpace.relaxed`). What the
   lemmas of other boxes say is looked at first (`lemmas`), and proven is what they leave open: but for a
   box that would be divided even if its layers' least were what known mappings reach.
3. The mappings of that relaxed machine are priced on the least machine of the box that holds them, and on
   the largest: the best network so far.
4. From the lowest bound on, a box whose bound is below the best is divided. A box of one machine, or whose
   largest machine is allowed and takes no more energy than the others, is settled on that machine: the lower
   hull of the network's energies and cycles is proven as far as it is needed.

Boxes are taken a few at a time, always as many: the result does not depend on the number of processes.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from typing import Any, NamedTuple

import numpy as np

from dse.core.layer import Layer
from dse.core.objective import Objective
from dse.domains.codesign.space import Box, HardwareSpace, Point
from dse.optimum.codesign.lemmas import Lemma
from dse.optimum.codesign.machine import EQUAL, Bound, Chosen, Structure
from dse.optimum.codesign.proving import Ask, OutOfTime, Prover
from dse.optimum.codesign.workload import Part
from dse.optimum.front import Front

NOTHING: Any = object()
AT_ONCE = 4
"""Boxes that are bounded together."""
TRIED_MACHINES, DRAWN_MACHINES = 12, 2000
"""Where the time is limited: machines that are tried first, of so many drawn: others break a limit."""


class Incumbent(NamedTuple):
    """The best machine that was found, with the network's mappings."""

    point: Point
    chosen: Chosen


class Closed(NamedTuple):
    """A box that is settled: nothing in it is below its bound; or every machine of it breaks a limit.

    Where the bound takes more than lines, it is by the layers' exact `fronts` on a machine.
    """

    box: Box
    bound: Bound | None
    reason: str
    fronts: tuple[Front, ...] = ()


@dataclass
class Open:
    """A box that is not settled."""

    box: Box
    root: int
    bound: float
    more: list[float] = field(default_factory=list)
    """Weights of its own, where it is one machine."""
    single: bool = False
    done: bool = False


@dataclass(frozen=True)
class State:
    """How far a search is."""

    value: float
    bound: float
    boxes: int
    open: int
    proofs: int
    seconds: float

    @property
    def gap(self) -> float:
        """By how much of itself the best may be too large."""
        if self.value == math.inf:
            return math.inf
        gap = 1 - self.bound / self.value if self.value > 0 else 0.0
        return gap if gap > EQUAL else 0.0


@dataclass
class Search:
    """`closed` boxes and those in the queue hold every machine of the space, each once."""

    space: HardwareSpace
    layers: Sequence[Layer]
    objective: Objective
    prover: Prover
    observe: Callable[[State], None] = lambda state: None
    best: Incumbent | None = None
    closed: list[Closed] = field(default_factory=list)
    lemmas: list[tuple[Lemma, Ask, int]] = field(default_factory=list)
    """Every proof, what was asked, and for which root."""
    times: Sequence[float] = ()
    """How often each layer counts; its repeats if it is not said."""
    parts: Sequence[Part] = ()
    """The networks that the layers are of, where there are several."""
    hurried: bool = False
    """Whether the time is limited: then machines and mappings that no proof found come first."""
    boxes: int = 0
    interrupted: bool = False
    cpu_seconds: float = 0.0
    more_proofs: int = 0
    """Those that are no lemmas."""
    fresh: int = 0
    """Proofs that were not kept from an earlier run."""
    structures: list[Structure] = field(default_factory=list)
    _queue: list[tuple[float, int, Open]] = field(default_factory=list)
    _places: count[int] = field(default_factory=count)
    _begun: float = field(default_factory=time.perf_counter)
    _floor: float = math.inf
    """The lowest bound of a box that is closed."""

    @property
    def value(self) -> float:
        """The best value so far."""
        return self.best.chosen.value if self.best else math.inf

    @property
    def state(self) -> State:
        """How far it is."""
        open_ = [entry for entry in self._queue if entry[0] < self.target]
        bound = min([self.value, self._floor, *(entry[0] for entry in open_)])
        seconds = time.perf_counter() - self._begun
        return State(self.value, bound, self.boxes, len(open_), len(self.lemmas), seconds)

    @property
    def target(self) -> float:
        """What a bound has to be below to be of use."""
        return self.value * (1 - EQUAL) if self.value < math.inf else math.inf

    def run(self, over: Callable[[], bool]) -> None:
        """Settle every box, or as many as there is time for."""
        roots = list(self.space.roots())
        for number, root in enumerate(roots):
            self.structures.append(self._structure(root))
            self._push(Open(root, number, self.structures[number].roofline(root) if self.hurried else 0.0))
        if self.hurried:
            self._draw(roots, over)
        while self._queue and self._queue[0][0] < self.target:
            if over():
                return
            first = [heapq.heappop(self._queue)[2] for _ in range(min(AT_ONCE, len(self._queue)))]
            try:
                self._bound([one for one in first if self._admitted(one)])
            except (KeyboardInterrupt, OutOfTime) as stop:
                for one in first:
                    if not one.done:
                        one.bound = max(one.bound, self._bound_of(one).corner.value)
                        self._push(one)
                if isinstance(stop, OutOfTime):
                    return
                raise
            self.observe(self.state)

    def _draw(self, roots: Sequence[Box], over: Callable[[], bool]) -> None:
        """Price templates and random mappings on random machines: something is found, whatever the time."""
        rng, tried = np.random.default_rng(0), 0
        for number in rng.integers(len(roots), size=DRAWN_MACHINES).tolist():
            point = tuple(int(rng.integers(first, last + 1)) for first, last in roots[number])
            if self.space.broken(tuple((index, index) for index in point)):
                continue
            structure = self.structures[number]
            priced = structure.machine(point)
            for place in range(len(self.layers)):
                structure.draw(place, priced, rng)
            found = structure.choose(structure.each(priced))
            if found is not None and found.value < self.value:
                self.best = Incumbent(point, found)
            tried += 1
            if tried == TRIED_MACHINES or over():
                return

    def _structure(self, root: Box) -> Structure:
        seconds = self.space.relaxed(root).hardware.cycle_seconds
        return Structure(self.space, self.layers, self.objective, seconds, self.times)

    def left(self) -> list[Open]:
        """The boxes that are not settled, from the lowest bound on."""
        return [entry[2] for entry in sorted(self._queue, key=lambda entry: entry[:2])]

    def _push(self, one: Open) -> None:
        heapq.heappush(self._queue, (one.bound, next(self._places), one))

    def _admitted(self, one: Open) -> bool:
        """Close a box whose machines all break a limit; see whether another is as good as one machine."""
        reason = self.space.broken(one.box)
        if reason:
            self.closed.append(Closed(one.box, None, reason))
            one.done = True
            return False
        spread = [place for place, (first, last) in enumerate(one.box) if first < last]
        free = self.space.allowed(one.box) and not self.space.costly.intersection(spread)
        largest = tuple(last for _, last in one.box)
        structure = self.structures[one.root]
        one.single = not spread or (free and structure.machine(largest) == structure.relaxed(one.box))
        return True

    def _bound(self, boxes: Sequence[Open]) -> None:
        """Bound some boxes, with proofs where the lemmas do not settle them, and close or divide each."""
        self.boxes += len(boxes)
        every = [(*self.structures[0].weights, *one.more) for one in boxes]
        for wave in zip_longest(*every, fillvalue=NOTHING):
            self._prove(
                [
                    (one, weight)
                    for one, weight in zip(boxes, wave, strict=True)
                    if weight is not NOTHING and self._may_close(one)
                ]
            )
        for one in boxes:
            if self._bound_of(one).corner.value < self.target:
                self._improve(one)
        while True:
            sharper = []
            for one in boxes:
                if not self._may_close(one):
                    continue
                weight = self._next_weight(one)
                if weight is not None:
                    one.more.append(weight)
                    sharper.append((one, weight))
            if not sharper:
                break
            self._prove(sharper)
            for one, _ in sharper:
                self._improve(one)
        for one in boxes:
            self._settle(one)

    def _may_close(self, one: Open) -> bool:
        """Whether a box is open, and proofs may close it: otherwise it is divided whatever they come to.

        Where the time is limited they are made all the same, as they lift the bound of all that is open.
        """
        if self._bound_of(one).corner.value >= self.target:
            return False
        if one.single or self.hurried:
            return True
        structure = self.structures[one.root]
        return structure.reached(structure.each(structure.relaxed(one.box)), one.more) >= self.target

    def _bound_of(self, one: Open) -> Bound:
        return self.structures[one.root].bound(one.box, one.more)

    def _next_weight(self, one: Open) -> float | None:
        """What to prove next of a machine that may be the best, or of a box whose sizes hardly matter."""
        structure, bound = self.structures[one.root], self._bound_of(one)
        value = bound.corner.value
        if value >= self.target:
            return None
        each = structure.each(structure.relaxed(one.box))
        if not one.single:
            chosen, short = structure.choose(each), 1 - value / self.value if self.best else 0.0
            if chosen is None or self._dearest(one, chosen)[1][0] > short / 2 * chosen.energy:
                return None
        return structure.next_weight(bound, each, one.more)

    def _prove(self, wanted: Sequence[tuple[Open, float | None]]) -> None:
        asked = []
        for one, weight in wanted:
            structure = self.structures[one.root]
            for place, ask in structure.asks(one.box, weight, structure.relaxed(one.box)):
                asked.append((one, weight, place, ask))
        for (one, weight, place, ask), proven in zip(
            asked, self.prover([ask for *_, ask in asked]), strict=True
        ):
            lemma = self.structures[one.root].learn(len(self.lemmas), place, one.box, weight, proven)
            self.lemmas.append((lemma, ask, one.root))
            self.cpu_seconds += proven.seconds
            self.fresh += not proven.cached

    def _improve(self, one: Open) -> None:
        """Price what is known on the largest machine, and on the least that holds the best mappings."""
        structure = self.structures[one.root]
        relaxed = structure.relaxed(one.box)
        chosen = structure.choose(structure.each(relaxed))
        if chosen is None:
            return
        largest = tuple(last for _, last in one.box)
        for point in {largest, structure.least_machine(one.box, chosen, relaxed)}:
            box = tuple((index, index) for index in point)
            if self.space.broken(box):
                continue
            found = structure.choose(structure.each(structure.machine(point)))
            if found is not None and found.value < self.value:
                self.best = Incumbent(point, found)

    def _settle(self, one: Open) -> None:
        """Close a box, or divide it."""
        bound = self._bound_of(one)
        if bound.corner.value >= self.target or one.single:
            self.closed.append(Closed(one.box, bound, ""))
            self._floor = min(self._floor, bound.corner.value)
        else:
            for part in self._parts(one):
                self._push(Open(part, one.root, bound.corner.value, list(one.more)))
        one.done = True

    def _parts(self, one: Open) -> tuple[Box, Box]:
        """A box in two, along the parameter that the bound leaves most of open."""
        structure = self.structures[one.root]
        chosen = structure.choose(structure.each(structure.relaxed(one.box)))
        at, (energy, *_), needed = self._dearest(one, chosen)
        first, last = one.box[at]
        # Beyond what is needed, the bound is not too low for the energy.
        end = needed if energy > 0 else last
        values = self.space.parameters[self.space.names[at]]
        mean = math.sqrt(values[first] * values[end])
        middle = first + sum(value < mean for value in values[first + 1 : end])
        lower, upper = list(one.box), list(one.box)
        lower[at], upper[at] = (first, middle), (middle + 1, last)
        return tuple(lower), tuple(upper)

    def _dearest(self, one: Open, chosen: Chosen | None) -> tuple[int, tuple[float, float, float], int]:
        """The parameter whose least value is paid for while more is needed; how much, and what is needed.

        Where all fit, it is the one that most of a limit, or else the widest range, depends on.
        """
        structure = self.structures[one.root]
        relaxed = structure.relaxed(one.box)
        spread = [place for place, (first, last) in enumerate(one.box) if first < last]
        needs = structure.least_machine(one.box, chosen, relaxed) if chosen else None
        effects = {}
        for place in spread:
            if needs and needs[place] > one.box[place][0]:
                effects[place] = structure.effect(one.box, place, chosen, needs[place])
            if effects.get(place, (0.0,))[0] <= 0:
                effects[place] = (0.0, *structure.effect(one.box, place, None, one.box[place][1])[1:])
        at = max(spread, key=lambda place: (effects[place], -place))
        return at, effects[at], needs[at] if needs else one.box[at][1]
