"""Cost models that each break one rule of the contract, and no other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from dse.core.figures import CostBatch
from dse.core.reasons import Reason
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import CLUSTER, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.intervals import IntervalBoxes
from dse.models.loopnest import LoopNest
from dse.plugins import LowerBounds, TileBoxes
from dse.support.errors import InputError
from tests.models import bus_model

_CALLS = itertools.count()


class Honest(CostModel):
    """The loop nest's figures, and none of its abilities: it keeps every rule."""

    name = "honest"
    prices_strides = True

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        return LoopNest().evaluate(layer, accelerator, mappings, threads=threads)


class Unpicklable(Honest):
    name = "unpicklable"

    def __init__(self) -> None:
        self.secret = lambda: None


class Fragile(Honest):
    """Raises on sizes that no mapping of a space has."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        if (mappings.rows[:, CLUSTER] < 1).any():
            raise ZeroDivisionError("a cluster of nothing")
        return super().evaluate(layer, accelerator, mappings, threads=threads)


class Floating(Honest):
    """Counts cycles in floats."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, cycles=costs.cycles.astype(np.float64))


class Tidying(Honest):
    """Puts right what it is given, in place."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        np.maximum(mappings.rows, 1, out=mappings.rows)
        return costs


class Noisy(Honest):
    """Draws from the global random state."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, energy_nj=costs.energy_nj * (1 + next(_CALLS) / 1000))


class Relative(Honest):
    """Prices a mapping by its neighbours in the batch."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, area=costs.area * min(len(mappings), 2))


class Otherwise(Honest):
    """Prices otherwise once it is made ready."""

    def prepared(self, layer, accelerator):
        honest = super().prepared(layer, accelerator)

        def price(rows, machines=None):
            costs = honest(rows, machines)
            return replace(costs, power=costs.power * 2)

        return price


class Threaded(Honest):
    """Adds the threads to its cycles."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, cycles=costs.cycles + (threads - 1) * costs.valid)


class Speechless(Honest):
    """Refuses without a reason."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, reason=np.zeros_like(costs.reason))


class Crowded(Honest):
    """Refuses for a reason that only the rules of feasibility have."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, reason=np.where(costs.valid, 0, Reason.L1_TOO_SMALL).astype(costs.reason.dtype))


class Leftover(Honest):
    """Leaves figures where it refuses."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, cycles=np.where(costs.valid, costs.cycles, 7))


class Free(Honest):
    """Gives energy away where tiles are large."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        free = mappings.rows[:, OUTER_TILE] > 4
        return replace(costs, energy_nj=np.where(free, 0.0, costs.energy_nj))


class Endless(Honest):
    """Says that something takes for ever."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, power=np.where(costs.valid, np.inf, 0.0))


class Refusing(Honest):
    """Accepts nothing."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        nothing = CostBatch.zeros(len(mappings))
        return replace(nothing, reason=np.full(len(mappings), Reason.NO_WORK, np.uint8))


class Skipping(Honest):
    """Does half of the work."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, macs=-(-costs.macs // 2))


class Lowering(Honest):
    """Says that it prices strides, and lowers the layer."""

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        return super().evaluate(layer.lowered(), accelerator, mappings, threads=threads)


class Caseless(Honest):
    """Says that it prices cases."""

    prices_cases = True


class Dearer(Honest):
    """Prices cases higher than mappings."""

    prices_cases = True

    def price_cases(self, layers, hardware, rows, extras=None, *, threads=1):
        costs = LoopNest().price_cases(layers, hardware, rows, extras)
        return replace(costs, energy_nj=costs.energy_nj * 2)


class Vague(Honest):
    """Says that it explains."""

    explains = True


class Miscounting(Honest):
    """Explains more cycles than there are."""

    explains = True

    def detail(self, layer, accelerator, mapping):
        found = LoopNest().detail(layer, accelerator, mapping)
        return replace(found, cycles={**found.cycles, "more": 1}) if found else None


@dataclass(frozen=True)
class Deaf(LoopNest):
    """Takes constants, and prices without them."""

    proof_module = ""

    def prepared(self, layer, accelerator):
        return LoopNest().prepared(layer, accelerator)


class Unproven(Honest):
    """Says that its optima can be proven."""

    proof_module = "tests.no_such_module"


class Congested(Honest):
    """Slower with a wider NoC."""

    name = "congested"
    rates = ("noc_bandwidth",)

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        costs = super().evaluate(layer, accelerator, mappings, threads=threads)
        return replace(costs, cycles=costs.cycles + accelerator.noc_bandwidth * costs.valid)


class Misnamed(Honest):
    name = "misnamed"
    rates = ("simd_lanes",)


def bounds_too_high(problem: Problem) -> IntervalBoxes:
    """Of a convolution that is large, energies that are above the prices."""

    def lower_bound(problem: Problem, boxes: TileBoxes) -> LowerBounds:
        bounds = bus_model.lower_bound(problem, boxes)
        return bounds._replace(energy_nj=bounds.energy_nj * (2 if problem.layer.K > 9 else 1))

    return IntervalBoxes(problem, lower_bound)


def boxes_of_factors(problem: Problem) -> IntervalBoxes:
    """Refuses a small layer, and only when the proof begins."""
    boxes = IntervalBoxes(problem, bus_model.lower_bound)
    if problem.tiles == "any" and problem.layer.K == 5:
        raise InputError("tiles of any size are too many")
    return boxes
