"""The exact front over machines: every pair of latency and energy (and area) that none has better in all.

As in `branch`, each combination of structural parameters is a box of machines, bounded on its relaxed machine
by proven lines `energy + weight * cycles >= least`. What is found so far leaves corners: for each point, the
latency and energy of which nothing is known to be better in both, of machines no larger than the box's
smallest. A box with no corner on the far side of all its lines has nothing to add, and is closed. Else lines
are proven between those it has; when none may help, it is divided, and of a machine alone the network's exact
front is added up from its layers' (`dse.optimum.network_front`).

The loop over boxes is of its own. The engine has one loss to beat, here it is a set of corners; and boxes
come as they were made, so that each finds the corners that those before it left.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE
from dse.domains.codesign.space import Box, Point, box_of_point
from dse.optimum.codesign.branch import Incumbent, MachineBoxes, Open
from dse.optimum.codesign.lemmas import int_if_whole
from dse.optimum.codesign.machine import EQUAL, Chosen, Each
from dse.optimum.codesign.proving import NJ, Cache, OutOfTime, prove_front
from dse.optimum.network_front import summed_fronts, undominated_points
from dse.support.arrays import BoolArray, FloatArray

LATENCY, ENERGY, AREA = 0, 1, 2


@dataclass
class Archive:
    """What no other found so far is as good as: figures (n, 3) are s, J and mm2 (0 without area)."""

    figures: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    entries: list[Incumbent] = field(default_factory=list)

    def add(self, figures: FloatArray, entries: Sequence[Incumbent]) -> None:
        """Take in points; of those that are equal but for rounding the first."""
        for row, entry in zip(figures, entries, strict=True):
            if (self.figures * (1 - EQUAL) <= row).all(axis=1).any():
                continue
            # What the new one is as good as goes.
            kept = ~(row <= self.figures).all(axis=1)
            self.figures = np.vstack([self.figures[kept], row])
            self.entries = [one for one, keep in zip(self.entries, kept, strict=True) if keep] + [entry]

    def corners(self, area: float) -> FloatArray:
        """The seconds and joules (n, 2) below both of which nothing of up to this area is known."""
        within = self.figures[self.figures[:, AREA] <= area]
        within = within[undominated_points(within[:, LATENCY], within[:, ENERGY])]
        seconds = np.append(within[:, LATENCY], math.inf)
        joules = np.insert(within[:, ENERGY], 0, math.inf)
        return np.stack([seconds, joules], axis=1)


@dataclass
class FrontBoxes(MachineBoxes):
    """`archive` becomes the front when no box is left; `areas` says whether a smaller machine is better."""

    areas: bool = False
    cache: Cache = True
    found: Callable[[int], None] = lambda points: None
    """Told how many points there are."""
    archive: Archive = field(default_factory=Archive)
    epsilon: float = 0.0
    """By how much of itself a point may be better in either than one of the archive."""
    cut: bool = False
    """Whether something is left that the time was too short for."""
    fronts: int = 0
    """Of a layer on a machine, how many were proven."""
    _waiting: deque[Open] = field(default_factory=deque)
    _alone: list[Open] = field(default_factory=list)

    @property
    def target(self) -> float:
        """No value is too high: what is of use, the corners say."""
        return math.inf

    def run(self) -> None:
        """Settle every box, or as many as there is time for."""
        try:
            self._settle_all()
        except OutOfTime:
            self.cut = True

    def _settle_all(self) -> None:
        """First what lines settle, then one machine after the other."""
        for number, root in enumerate(self.space.roots()):
            self.structures.append(self._structure(root))
            self._waiting.append(Open(root, number, 0.0))
        while self._waiting:
            if self.clock.over:
                raise OutOfTime
            one = self._waiting.popleft()
            if self._admitted(one):
                self._look_at(one)
        for one in self._alone:
            if self._open_corners(one, self._lines(one)).any():
                if self.clock.over:
                    raise OutOfTime
                self._add_front(one)

    def _admitted(self, one: Open) -> bool:
        if not super()._admitted(one):
            return False
        if self.areas:
            # A smaller machine may be worse and on the front.
            one.single = all(first == last for first, last in one.box)
        return True

    def _look_at(self, one: Open) -> None:
        """Close a box by lines, or divide it."""
        self.boxes += 1
        for weight in self.structures[one.root].weights:
            self._prove([(one, weight)])
            lines = self._lines(one)
            if not self._open_corners(one, lines).any():
                return
        while True:
            self._offer(one)
            still = self._open_corners(one, lines)
            if not still.any():
                return
            weight = self._between(one, still)
            if weight is None:
                break
            one.more.append(weight)
            self._prove([(one, weight)])
            lines = self._lines(one)
        if one.single:
            self._alone.append(one)
        else:
            self._waiting.extend(self._parts(one))

    # Corners

    def _lines(self, one: Open) -> FloatArray:
        """The proven lines (n, 3) of a box, in joules and seconds: of energy, of latency, the least."""
        structure = self.structures[one.root]
        lines = structure.bound(one.box, one.more).lines
        scale = np.array([1 / NJ, 1 / structure.cycle_seconds, 1.0])
        found: FloatArray = np.array(lines) * scale
        return found

    def _least_area(self, box: Box) -> float:
        return self.space.measured(box)["area_mm2"][0] if self.areas else 0.0

    def _open_corners(self, one: Open, lines: FloatArray) -> BoolArray:
        """Which of the corners a machine of the box may be below, by the lines that it keeps."""
        if np.isinf(lines[:, 2]).any():
            return np.zeros(1, dtype=bool)
        seconds, joules = self.archive.corners(self._least_area(one.box)).T * (1 - EQUAL)
        # What is below a corner in both is below it on each line, and nothing of the box is below a line.
        found = np.ones(len(seconds), dtype=bool)
        for of_energy, of_latency, least in lines.tolist():
            # A line without a weight says nothing, also where a corner is at inf.
            value = (of_energy * joules if of_energy else 0.0) + (of_latency * seconds if of_latency else 0.0)
            found &= value > least
        return found

    def _between(self, one: Open, still: BoolArray) -> float | None:
        """The slope between what touches two neighbouring lines, where a corner between is still open."""
        structure = self.structures[one.root]
        each = structure.each(structure.relaxed(one.box))
        if not all(mappings for _, _, mappings in each):
            return None
        corners = self.archive.corners(self._least_area(one.box))
        # The seconds of a corner are from those of the point before it to its own.
        spans = np.stack([np.insert(corners[:-1, 0], 0, 0.0), corners[:, 0]], axis=1)[still]

        def is_open(fewest: float, most: float) -> bool:
            ends = np.array([fewest, most]) * structure.cycle_seconds
            return bool(((spans[:, 1] > ends[0]) & (spans[:, 0] < ends[1])).any())

        return structure.weight_between(each, one.more, is_open)

    # Points

    def _offer(self, one: Open) -> None:
        """Add up what is known of the box's largest machine, and of the least ones that hold the hull's."""
        structure = self.structures[one.root]
        relaxed = structure.relaxed(one.box)
        each = structure.each(relaxed)
        if not all(mappings for _, _, mappings in each):
            return
        points = {one.largest}
        for weight in structure.ascending_weights(one.more):
            chosen = structure.at_weight(each, weight)
            points.add(structure.least_machine(one.box, chosen, relaxed))
        for point in sorted(points):
            if not self.space.broken(box_of_point(point)):
                self._keep(one.root, point, structure.each(structure.machine(point)))

    def _keep(self, root: int, point: Point, each: Each) -> float:
        """Take in the front of sums of these mappings of the layers; the epsilon it is within."""
        if not all(mappings for _, _, mappings in each):
            return 0.0
        structure, fronts, places = self.structures[root], [], []
        for times, (energy, cycles, _) in zip(structure.times, each, strict=True):
            slow, joules = np.array(cycles, dtype=float), np.array(energy) * NJ
            kept = undominated_points(slow, joules)
            fronts.append((slow[kept] * times, joules[kept] * times))
            places.append(kept)
        sums = summed_fronts(fronts)
        area = self._least_area(box_of_point(point))
        figures = np.stack(
            [sums.cycles * structure.cycle_seconds, sums.energy, np.full(len(sums), area)], axis=1
        )
        entries = []
        for steps, energy, choice in zip(
            sums.cycles.tolist(), (sums.energy / NJ).tolist(), sums.choices, strict=True
        ):
            mappings = tuple(of[kept[at]] for (*_, of), kept, at in zip(each, places, choice, strict=True))
            value = structure.value(energy, steps)
            entries.append(Incumbent(point, Chosen(value, energy, int_if_whole(steps), mappings)))
        self.archive.add(figures, entries)
        self.found(len(self.archive.entries))
        return sums.epsilon

    def _add_front(self, one: Open) -> None:
        """Prove the front of every layer on a machine alone, and add them up."""
        structure = self.structures[one.root]
        priced = structure.machine(one.largest)
        for place, layer in enumerate(self.layers):
            front = prove_front(layer, priced, self.clock, self.cache)
            self.fronts += 1
            self.cut |= front.status == BOUNDED
            if front.status == INFEASIBLE:
                return
            for best in front.points:
                structure.known[place].add_mapping(best.mapping)
        self.epsilon = max(self.epsilon, self._keep(one.root, one.largest, structure.each(priced)))
