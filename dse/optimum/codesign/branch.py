"""Which machine of a space is best for a network, with its mappings: boxes of hardware, for the engine.

1. Every combination of the structural parameters is a root: the box of all machines that have it.
2. A box whose turn it is, is bounded by the network on a relaxed machine, with the box's largest capacities
   and rates and its least energies: no machine of the box is better for any mapping (see
   `HardwareSpace.relaxed`). What the lemmas of other boxes say is looked at first (`lemmas`), and proven is
   what they leave open: but for a box that would be divided even if its layers' least were what known
   mappings reach. Until then its bound is that of the box that it is a part of.
3. The mappings of that relaxed machine are priced on the least machine of the box that holds them, and on
   the largest: the best network so far.
4. A box whose bound is below the best is divided. A box of one machine, or whose largest machine is allowed
   and takes no more energy than the others, is settled on that machine: the lower hull of the network's
   energies and cycles is proven as far as it is needed.

Boxes are taken a few at a time, always as many: the result does not depend on the number of processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.objective import Objective
from dse.domains.codesign.space import Box, HardwareSpace, Point, box_of_point
from dse.optimum.codesign.halves import dearest_parameter, split_box
from dse.optimum.codesign.lemmas import Lemma
from dse.optimum.codesign.machine import EQUAL, Bound, Chosen, Structure
from dse.optimum.codesign.proving import Ask, OutOfTime, Prover
from dse.optimum.codesign.workload import Part
from dse.optimum.front import Front
from dse.proof.contract import Bounded, Children, Found, Rounds, boxes_of
from dse.proof.engine import Search
from dse.support.arrays import AnyArray, FloatArray

NOTHING: Any = object()
AT_ONCE = 4
"""Boxes that are bounded together."""
TRIED_MACHINES, DRAWN_MACHINES = 12, 2000
"""Machines that are tried first, of so many drawn: others break a limit."""


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


@dataclass(eq=False)
class Open:
    """A box that is not settled."""

    box: Box
    root: int
    bound: float
    more: list[float] = field(default_factory=list)
    """Weights of its own, where it is one machine."""
    single: bool = False
    broken: str = ""
    """The limit that all its machines break, if they do."""

    @property
    def largest(self) -> Point:
        """The machine with the most of everything."""
        return tuple(last for _, last in self.box)


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
class MachineBoxes:
    """Boxes of machines for the engine. Those `closed` and those left hold every machine, each once."""

    space: HardwareSpace
    layers: Sequence[Layer]
    objective: Objective
    prover: Prover
    observe: Callable[[State], None] = lambda state: None
    best: Incumbent | None = None
    closed: list[Closed] = field(default_factory=list)
    lemmas: list[tuple[Lemma, Ask, int]] = field(default_factory=list)
    """Every proof, what was asked, and of which layer."""
    times: Sequence[float] = ()
    """How often each layer counts; its repeats if it is not said."""
    parts: Sequence[Part] = ()
    """The networks that the layers are of, where there are several."""
    hurried: bool = False
    """Whether the time is limited: see `late`."""
    boxes: int = 0
    interrupted: bool = False
    cpu_seconds: float = 0.0
    more_proofs: int = 0
    """Those that are no lemmas."""
    fresh: int = 0
    """Proofs that were not kept from an earlier run."""
    structures: list[Structure] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    _left: dict[Open, None] = field(default_factory=dict)
    """Those that are neither closed nor divided, as a set in order: the engine may have ruled them out."""

    kind = "machines"
    rounds = Rounds(least=AT_ONCE, most=AT_ONCE, share=AT_ONCE)

    @property
    def value(self) -> float:
        """The best value so far."""
        return self.best.chosen.value if self.best else math.inf

    @property
    def target(self) -> float:
        """What a bound has to be below to be of use: the engine knows the best value by it."""
        return self.value * (1 - EQUAL) if self.value < math.inf else math.inf

    @property
    def late(self) -> bool:
        """Whether the time is limited, and half of it is over."""
        return self.hurried and self.clock.left < self.clock.seconds

    def run(self) -> None:
        """Settle every box, or as many as there is time for."""
        search = Search(self, self.clock, observe=lambda search: self.observe(self._state(search)))
        for number, root in enumerate(self.space.roots()):
            self.structures.append(self._structure(root))
            self._left[Open(root, number, self.structures[number].roofline(root))] = None
        self._draw()
        search.loss = self.target
        try:
            search.run()
        except OutOfTime:
            return

    def left(self) -> list[Open]:
        """The boxes that are not settled, from the lowest bound on."""
        return sorted(self._left, key=lambda one: one.bound)

    def _state(self, search: Search) -> State:
        assert search.open is not None
        closed = [one.bound.corner.value for one in self.closed if one.bound is not None]
        bound = min([self.value, search.open.lowest, *closed])
        return State(self.value, bound, self.boxes, len(search.open), len(self.lemmas), self.clock.seconds)

    # What the engine asks

    def roots(self) -> AnyArray:
        """See Boxes: of equal bounds the latest comes first, and that is the first one."""
        return boxes_of([*self._left][::-1])

    def bound(self, boxes: AnyArray, to_beat: float) -> Bounded:
        """See Boxes: proofs are made when it is a box's turn."""
        return Bounded(np.array([one.bound for one in boxes]))

    def divide(self, boxes: AnyArray, bounds: FloatArray, to_beat: float) -> Children:
        """See Boxes: proofs are made here."""
        admitted = [one for one in boxes if self._admitted(one)]
        try:
            self._prove_all(admitted)
        except (KeyboardInterrupt, OutOfTime):
            for one in admitted:
                one.bound = max(one.bound, self._bound_of(one).corner.value)
            raise
        wide = [one for one in admitted if not one.single and self._bound_of(one).corner.value < self.target]
        parts = [part for one in wide for part in self._parts(one)]
        self._left |= dict.fromkeys(parts)
        for one in wide:
            del self._left[one]
        parents = np.flatnonzero([one in wide for one in boxes]).repeat(2)  # In the order of `wide`.
        return Children(boxes_of(parts), parents, [self._best_found()])

    def settle(self, boxes: AnyArray, to_beat: float) -> Found:
        """See Boxes: what is not divided is closed."""
        for one in boxes:
            self.closed.append(Closed(one.box, None, one.broken) if one.broken else self._close(one))
            del self._left[one]
        return self._best_found()

    def pack(self, boxes: AnyArray, bounds: FloatArray) -> bytes:
        """See Boxes: proofs are kept, boxes are not."""
        return b""

    def unpack(self, kept: bytes) -> tuple[AnyArray, FloatArray]:
        """See Boxes."""
        return boxes_of([]), np.empty(0)

    def _best_found(self) -> Found:
        return Found(np.array([self.target]), [self.best])

    def _draw(self) -> None:
        """Price templates and random mappings on random machines: something is found, whatever the time."""
        rng, tried, roots = np.random.default_rng(0), 0, [*self._left]
        for number in rng.integers(len(roots), size=DRAWN_MACHINES).tolist():
            point = tuple(int(rng.integers(first, last + 1)) for first, last in roots[number].box)
            if self.space.broken(box_of_point(point)):
                continue
            structure = self.structures[number]
            priced = structure.machine(point)
            for place in range(len(self.layers)):
                structure.draw(place, priced, rng)
            self._take(point, structure.choose(structure.each(priced)))
            tried += 1
            if tried == TRIED_MACHINES or self.clock.over:
                return

    def _structure(self, root: Box) -> Structure:
        seconds = self.space.relaxed(root).hardware.cycle_seconds
        return Structure(self.space, self.layers, self.objective, seconds, self.times)

    def _admitted(self, one: Open) -> bool:
        """Whether not all machines of a box break a limit; see whether it is as good as one machine."""
        one.broken = self.space.broken(one.box)
        if one.broken:
            return False
        spread = [place for place, (first, last) in enumerate(one.box) if first < last]
        free = self.space.allowed(one.box) and not self.space.costly.intersection(spread)
        structure = self.structures[one.root]
        one.single = not spread or (free and structure.machine(one.largest) == structure.relaxed(one.box))
        return True

    def _prove_all(self, boxes: Sequence[Open]) -> None:
        """Bound some boxes, with proofs where the lemmas do not settle them."""
        self.boxes += len(boxes)
        every = [(*self.structures[0].weights, *one.more) for one in boxes]
        for wave in zip_longest(*every, fillvalue=NOTHING):
            given = [pair for pair in zip(boxes, wave, strict=True) if pair[1] is not NOTHING]
            self._prove([(one, weight) for one, weight in given if self._may_close(one)])
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

    def _may_close(self, one: Open) -> bool:
        """Whether a box is open, and proofs may close it: otherwise it is divided whatever they come to.

        Late in a time that is limited they are made all the same, as they lift the bound of all that is open.
        Before that they would put off the end: what is proven of a box that is divided rules out little.
        """
        if self._bound_of(one).corner.value >= self.target:
            return False
        if one.single or self.late:
            return True
        structure = self.structures[one.root]
        return structure.reached(structure.each(structure.relaxed(one.box)), one.more) >= self.target

    def _bound_of(self, one: Open) -> Bound:
        return self.structures[one.root].bound(one.box, one.more)

    def _next_weight(self, one: Open) -> float | None:
        """What to prove next of a machine that may be the best, or of a box whose sizes hardly matter: they
        cost at most half of what its bound is short. Others are divided."""
        structure, bound = self.structures[one.root], self._bound_of(one)
        value = bound.corner.value
        if value >= self.target:
            return None
        each = structure.each(structure.relaxed(one.box))
        if not one.single:
            chosen, short = structure.choose(each), 1 - value / self.value if self.best else 0.0
            worth = chosen is not None and dearest_parameter(structure, one.box, chosen).energy
            if chosen is None or worth > short / 2 * chosen.energy:
                return None
        return structure.next_weight(bound, each, one.more)

    def _prove(self, wanted: Sequence[tuple[Open, float | None]]) -> None:
        asked = []
        for one, weight in wanted:
            structure = self.structures[one.root]
            for place, ask in structure.asks(one.box, weight, structure.relaxed(one.box)):
                asked.append((one, weight, place, ask))
        answers = self.prover([ask for *_, ask in asked])
        for (one, weight, place, ask), proven in zip(asked, answers, strict=True):
            lemma = self.structures[one.root].learn(len(self.lemmas), place, one.box, weight, proven)
            self.lemmas.append((lemma, ask, place))
            self.cpu_seconds += proven.seconds
            self.fresh += not proven.cached

    def _improve(self, one: Open) -> None:
        """Price what is known on the largest machine, and on the least that holds the best mappings."""
        structure = self.structures[one.root]
        relaxed = structure.relaxed(one.box)
        chosen = structure.choose(structure.each(relaxed))
        if chosen is None:
            return
        for point in {one.largest, structure.least_machine(one.box, chosen, relaxed)}:
            if self.space.broken(box_of_point(point)):
                continue
            self._take(point, structure.choose(structure.each(structure.machine(point))))

    def _take(self, point: Point, found: Chosen | None) -> None:
        """The best is this, where it is better."""
        if found is not None and found.value < self.value:
            self.best = Incumbent(point, found)

    def _close(self, one: Open) -> Closed:
        return Closed(one.box, self._bound_of(one), "")

    def _parts(self, one: Open) -> list[Open]:
        # What it had before it was proven, such as a roofline, holds of its halves too.
        bound = max(one.bound, self._bound_of(one).corner.value)
        both = split_box(self.structures[one.root], one.box)
        return [Open(half, one.root, bound, list(one.more)) for half in both]
