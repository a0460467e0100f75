"""Which machine is best for a network whose run has to keep a cap on latency or mean power.

As in `branch`, with bounds that know the caps (see `caps`). What lines say of a machine alone is the best of
convex combinations of runs, and a run of that kind there need not be. So a machine that they do not settle
is settled by the exact fronts of its layers: the least of all their sums within the caps (see `sums`). A cap
on mean power may be kept by a slower mapping that takes no less energy, which no front has. What any such
mapping would cost at least is in the bound: where that is the lowest of all, the answer is a bound with its
gap.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE
from dse.domains.codesign.space import Box
from dse.optimum.codesign.branch import Closed, MachineBoxes, Open
from dse.optimum.codesign.caps import NO_CAPS, CappedStructure, Caps, least_within
from dse.optimum.codesign.proving import Cache, OutOfTime, prove_front
from dse.optimum.front import Front


@dataclass
class CappedBoxes(MachineBoxes):
    """Boxes of machines whose network has to keep `caps`."""

    caps: Caps = NO_CAPS
    cache: Cache = True

    def _structure(self, root: Box) -> CappedStructure:
        seconds = self.space.relaxed(root).hardware.cycle_seconds
        return CappedStructure(self.space, self.layers, self.objective, seconds, self.times, caps=self.caps)

    def _admitted(self, one: Open) -> bool:
        if not super()._admitted(one):
            return False
        if self.caps.power < math.inf:
            # A machine that is worse may be the one that keeps a cap on power.
            one.single = all(first == last for first, last in one.box)
        return True

    def _close(self, one: Open) -> Closed:
        if not one.single or self._bound_of(one).corner.value >= self.target:
            return super()._close(one)
        value, fronts = self._by_fronts(one)
        bound = self._bound_of(one)
        corner = bound.corner._replace(value=max(value, bound.corner.value))
        return Closed(one.box, bound._replace(corner=corner), "", tuple(fronts))

    def _by_fronts(self, one: Open) -> tuple[float, list[Front]]:
        """What the fronts of the layers say of a machine; the best network on it, if it is better."""
        structure = self.structures[one.root]
        assert isinstance(structure, CappedStructure)
        fronts = self._fronts(one)
        if any(front.status == INFEASIBLE for front in fronts):
            return math.inf, fronts
        layers = [
            (
                times * np.array([best.cycles for best in front.points], float),
                times * np.array([best.energy_nj for best in front.points]),
            )
            for times, front in zip(structure.times, fronts, strict=True)
        ]
        corner = self._bound_of(one).corner
        weights = {weight for weight in (*structure.weights, *one.more) if weight}
        weights.add(max(corner.energy, 1e-300) / max(corner.cycles, 1e-300))
        least = least_within(layers, structure, sorted(weights), self.target)
        if least is None:
            return 0.0, []
        if least.choices is not None:
            chosen = structure.chosen(
                [
                    (
                        [best.energy_nj for best in front.points],
                        [best.cycles for best in front.points],
                        [best.mapping for best in front.points],
                    )
                    for front in fronts
                ],
                least.choices,
            )
            self._take(one.largest, chosen)
        return least.bound, fronts

    def _fronts(self, one: Open) -> list[Front]:
        """The exact front of each layer on the largest machine of a box."""
        begun, found = time.process_time(), []
        priced = self.structures[one.root].machine(one.largest)
        for layer in self.layers:
            if self.clock.left <= 0:
                raise OutOfTime
            found.append(prove_front(layer, priced, self.clock, self.cache))
            self.more_proofs += len(found[-1].steps)
            self.fresh += sum(not step.certificate.cached for step in found[-1].steps)
            if found[-1].status == BOUNDED:
                raise OutOfTime
        self.cpu_seconds += time.process_time() - begun
        return found
