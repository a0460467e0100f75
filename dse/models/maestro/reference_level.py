"""A level of the reference: its loops, their states, and what each case moves and computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from dse.core.layer import DIMS
from dse.core.reasons import Reason

K, C, Y, X, R, S = range(6)
FILTER_OF = {Y: R, X: S}
FIRST, STEADY, EDGE = range(3)
INPUT, WEIGHT, OUTPUT = range(3)
COUPLED = {
    "CONV": ((C, Y, X), (K, C, R, S), (K, Y, X)),
    "DSCONV": ((C, Y, X), (C, R, S), (C, Y, X)),
}


class NotPriced(Exception):
    """MAESTRO ends without a result: `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def truncated_quotient(a: int, b: int) -> int:
    """C's integer division: truncated toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True)
class Directive:
    """One loop of a level after MAESTRO's rewrites of Y, X and strides."""

    dim: int
    spatial: bool
    size: int
    offset: int


@dataclass(frozen=True)
class Extent:
    """A dim's static table entries: whole and edge sizes, and the new part that a step brings."""

    whole: int
    new: int
    edge: int
    edge_new: int


@dataclass(frozen=True)
class State:
    """One loop's place in a case."""

    position: int
    occurrences: int
    unrolled: bool = False
    edge: bool = False
    partial: bool = False


@dataclass
class Level:
    """One level's directives in loop order, with its static tables (steps 1 and 2)."""

    directives: Sequence[Directive]
    sizes: Sequence[int]
    fanout: int
    coupled: Sequence[Sequence[int]]
    extents: dict[int, Extent] = field(init=False)
    outputs: dict[int, Extent] = field(init=False)
    spatial: Directive = field(init=False)
    edge_units: int = field(init=False)

    def __post_init__(self) -> None:
        self.extents = {d.dim: self._extent(d) for d in self.directives}
        self.outputs = {d.dim: self._output_extent(d) for d in self.directives}
        self.spatial = next(d for d in self.directives if d.spatial)
        self.edge_units = self._edge_units()

    def _extent(self, d: Directive) -> Extent:
        total = self.sizes[d.dim]
        steps = max(0, truncated_quotient(total - d.size, d.offset))
        has_edge = steps * d.offset + d.size < total or d.size > total
        rest = total - (steps + 1) * d.offset
        # A tile beyond the dim has all of it.
        rest = rest if rest >= 0 else total
        new = 0 if not d.spatial and total <= d.size else min(d.size, d.offset)
        edge_new = max(d.offset - (d.size - rest), 0)
        return Extent(d.size, new, rest if has_edge else d.size, edge_new)

    def _output_extent(self, d: Directive) -> Extent:
        extent = self.extents[d.dim]
        if d.dim not in FILTER_OF:
            return extent
        window = self.extents[FILTER_OF[d.dim]]
        edge = extent.edge - window.edge + 1
        return Extent(extent.whole - window.whole + 1, min(d.offset, d.size), edge, min(d.offset, edge))

    def _edge_units(self) -> int:
        """How many sub-clusters work in the edge iteration of the spatial directive (step 2.2)."""
        d, total = self.spatial, self.sizes[self.spatial.dim]
        if total > d.offset * (self.fanout - 1) + d.size:
            rounds = truncated_quotient(truncated_quotient(total - d.size, d.offset) + 1, self.fanout) - 1
            rest = total - (rounds + 1) * d.offset * self.fanout
            return 1 if rest < d.size else truncated_quotient(rest - d.size, d.offset) + 1
        if total <= d.size:
            return 1
        units = truncated_quotient(total - d.size, d.offset) + 1
        # A rest is one more, which in the branch above MAESTRO leaves out.
        return units + (d.offset * (units - 1) + d.size < total)

    def states(self, d: Directive, actual: int) -> list[State]:
        """The states of one loop over `actual` elements (step 3.1)."""
        if d.spatial:
            return self._spatial_states(d, actual)
        states = [State(FIRST, 1, unrolled=actual <= d.size, edge=actual < d.size)]
        steps = truncated_quotient(actual - d.size, d.offset)
        if d.size < actual and steps > 0:
            states.append(State(STEADY, steps))
        if actual >= d.size and steps * d.offset + d.size < actual:
            states.append(State(EDGE, 1, edge=True))
        return states

    def _spatial_states(self, d: Directive, actual: int) -> list[State]:
        covered = d.size + d.offset * (self.fanout - 1)
        short = actual < covered
        states = [State(FIRST, 1, unrolled=actual <= covered, edge=short, partial=short)]
        steps = truncated_quotient(truncated_quotient(actual - d.size, d.offset) + 1, self.fanout) - 1
        stride = d.offset * self.fanout
        if covered < actual and steps > 0:
            states.append(State(STEADY, steps))
        if (
            actual > covered
            and (steps + 1) * stride + covered > actual
            and steps * stride + covered != actual
        ):
            rest = actual - (steps + 1) * stride
            units = 1 if rest < d.size else truncated_quotient(rest - d.size, d.offset) + 1
            states.append(State(EDGE, 1, edge=True, partial=(units - 1) * d.offset + d.size < rest))
        return states

    def cases(self, actual: Sequence[int]) -> list[tuple[int, Case]]:
        """Every case with its occurrence count, in MAESTRO's order (step 3.2)."""
        choices = [self.states(d, actual[d.dim]) for d in self.directives]
        inside = [math.prod(len(c) for c in choices[i + 1 :]) for i in range(len(choices))]
        cases = []
        for number in range(math.prod(len(c) for c in choices)):
            # Rounded up, as MAESTRO does: each combination comes once, but not in the order of the loops.
            states = [c[-(-number // f) % len(c)] for c, f in zip(choices, inside, strict=True)]
            count = math.prod(state.occurrences for state in states)
            # A signed counter of 32 bits, which wraps.
            count = (count + 2**31) % 2**32 - 2**31
            if count <= 0:
                raise NotPriced(Reason.TOO_MANY_STEPS)
            cases.append((count, Case(self, states)))
        return cases

    def product(self, tensor: int) -> int:
        """Elements of a tensor's whole tile, with the input-side extent of Y and X."""
        return math.prod(self.extents[d].whole for d in self.coupled[tensor])


@dataclass
class Case:
    """One case of a level: the volumes it moves and the work it does (step 4)."""

    level: Level
    states: Sequence[State]

    def __post_init__(self) -> None:
        moving = [i for i, state in enumerate(self.states) if state.position != FIRST]
        self.changing = max(moving, default=-1)
        self.spatial_state = next(
            s for d, s in zip(self.level.directives, self.states, strict=True) if d.spatial
        )

    @property
    def first_of_all(self) -> bool:
        """Whether every loop is at its first iteration."""
        return self.changing < 0

    def _coupled(self, tensor: int) -> list[tuple[int, Directive, State, Extent]]:
        return [
            (i, d, state, self.level.extents[d.dim])
            for i, (d, state) in enumerate(zip(self.level.directives, self.states, strict=True))
            if d.dim in self.level.coupled[tensor]
        ]

    def _resident(self, tensor: int, *, first: bool, part: bool) -> int:
        volume = 1
        for _, d, state, extent in self._coupled(tensor):
            if not d.spatial:
                volume *= extent.edge if state.edge else extent.whole
            elif not state.edge:
                volume *= extent.whole
            elif self.level.edge_units == 1:
                volume *= extent.edge if first or part else 1
            else:
                volume *= extent.edge if part else extent.whole
        return volume

    def _fetch(self, tensor: int, *, first: bool, part: bool) -> int:
        """New elements of an input tensor for one sub-cluster (step 4.2)."""
        changing = self.changing
        if changing < 0:
            return self._resident(tensor, first=first, part=part)
        if self.level.directives[changing].dim not in self.level.coupled[tensor]:
            return 0
        coupled = self._coupled(tensor)
        # A loop inside that has more than one tile begins anew: of the tile before nothing is left.
        restarted = any(i > changing and not state.unrolled for i, _, state, _ in coupled)
        volume = 1
        for i, d, state, extent in coupled:
            moves = i == changing and not restarted
            if d.spatial:
                whole, new = (extent.edge, extent.edge_new) if part else (extent.whole, extent.new)
                reused = i > changing if state.position == FIRST else moves
                volume *= new if reused and not first else whole
            elif state.position == FIRST:
                volume *= extent.edge if state.edge else extent.whole
            elif moves:
                if extent.new == 0:
                    raise NotPriced(Reason.ZERO_FETCH)
                volume *= extent.new
            else:
                volume *= extent.whole
        return volume

    def _produce(self, *, psums: bool, first: bool, part: bool, reuse: bool = True) -> int:
        """Outputs (or partial sums) that one sub-cluster produces (step 4.3)."""
        volume = 1
        for d, state in zip(self.level.directives, self.states, strict=True):
            coupled = d.dim in self.level.coupled[OUTPUT]
            if not coupled and not psums:
                continue
            extent = self.level.outputs[d.dim] if coupled else self.level.extents[d.dim]
            if not d.spatial:
                volume *= extent.edge if state.edge else extent.whole
            else:
                volume *= self._spatial_output(d, state, extent, coupled, first, part, reuse)
        return volume

    def _spatial_output(
        self, d: Directive, state: State, extent: Extent, coupled: bool, first: bool, part: bool, reuse: bool
    ) -> int:
        one = self.level.edge_units == 1
        if state.position == FIRST and state.edge and part:
            return extent.edge_new if coupled and not one and reuse else extent.edge
        if state.position == EDGE and one:
            # The input-side edge of Y and X, although outputs are counted: MAESTRO's own.
            return self.level.extents[d.dim].edge if first or part else 1
        if state.position == EDGE and part:
            return extent.edge_new
        return extent.whole if first else extent.new or 1

    def ingress(self, tensor: int) -> int:
        """Elements of an input tensor that enter the whole array (step 4.4)."""
        one = partial(self._fetch, tensor)
        return self._in_all(one) if self._spreads(tensor) else one(first=True, part=False)

    def egress(self) -> int:
        """Outputs that leave the whole array."""
        one = partial(self._produce, psums=False)
        return self._in_all(one) if self._spreads(OUTPUT) else one(first=True, part=False)

    def critical_psums(self) -> int:
        """Partial sums of the sub-cluster that works longest."""
        return self._produce(psums=True, first=True, part=self._spreads(OUTPUT) and self._lone_part)

    def macs(self) -> int:
        """Multiply-accumulates of the whole array."""

        def one(*, first: bool, part: bool) -> int:
            # A whole sub-cluster works as much as the first.
            first = first or not part
            return self._produce(psums=True, first=first, part=part, reuse=first)

        return self._in_all(one)

    def _spreads(self, tensor: int) -> bool:
        """Whether sub-clusters have their own shares of a tensor."""
        return self.level.spatial.dim in self.level.coupled[tensor]

    def _in_all(self, one: Callable[..., int]) -> int:
        """The sum over the first sub-cluster and the whole and partial ones beside it."""
        whole, parts = self._beside_the_first
        volume = one(first=True, part=self._lone_part) + whole * one(first=False, part=False)
        return volume + (parts * one(first=False, part=True) if parts else 0)

    @property
    def _lone_part(self) -> bool:
        """Whether the first sub-cluster is the only one, with a part of a share."""
        return self.spatial_state.edge and self.level.edge_units == 1 and self.spatial_state.partial

    @property
    def _beside_the_first(self) -> tuple[int, int]:
        """How many sub-clusters beside the first have a whole share, and how many a part of one."""
        if not self.spatial_state.edge:
            return self.level.fanout - 1, 0
        if self.level.edge_units == 1:
            return 0, 0
        part = int(self.spatial_state.partial)
        return max(self.level.edge_units - part - 1, 0), part

    def active_units(self) -> int:
        """Sub-clusters at work."""
        return self.level.edge_units if self.spatial_state.edge else self.level.fanout

    def tile_sizes(self, *, partial: bool) -> tuple[int, ...]:
        """The sizes handed to the level inside, by dim (step 3.3)."""
        sizes = [1] * len(DIMS)
        for d, state in zip(self.level.directives, self.states, strict=True):
            extent = self.level.extents[d.dim]
            edge = state.edge and (not d.spatial or partial or self.level.edge_units == 1)
            sizes[d.dim] = extent.edge if edge else extent.whole
        return tuple(sizes)
