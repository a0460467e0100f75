"""`loopnest` in plain Python: all transitions of the nest, what each moves and how long steps take.

What a step needs is a box, so what a transition moves is a product of figures of single dims (docs, section
4). `reference_dims` counts those piece by piece and index by index; the kernel has them in closed form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import TypeVar

from dse.core.layer import Layer
from dse.core.reads import Reads
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping
from dse.models.loopnest.counts import MOVED, Counts
from dse.models.loopnest.reference_dims import Dim, Fill, Move, Outer, Profile
from dse.models.loopnest.units import of_tensors, over_link

DIMS = ("K", "C", "Y", "X")
INDEXES = {
    "CONV": {"input": "CYX", "weight": "KC", "output": "KYX"},
    "DSCONV": {"input": "CYX", "weight": "C", "output": "CYX"},
}
"""The dims that a tensor depends on; a weight has R x S elements for each of its channels."""

Item = TypeVar("Item")


def _dims(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, Dim]:
    channels = {"K": "C"} if layer.type == "DSCONV" else {}
    outer_parallel = channels.get(mapping.outer.parallel, mapping.outer.parallel)
    inner_parallel = channels.get(mapping.inner.parallel, mapping.inner.parallel)
    clusters = accelerator.num_pes // mapping.cluster_size
    dims = {}
    for dim in DIMS:
        size = layer.loops[dim]
        reads = layer.reads["YX".index(dim)] if dim in "YX" else Reads(1, 1, 0, size)
        outer = min(mapping.outer[dim], size)
        dims[dim] = Dim(
            size,
            (outer, min(mapping.inner[dim], outer)),
            (clusters if dim == outer_parallel else 1, mapping.cluster_size if dim == inner_parallel else 1),
            [frozenset(range(i * reads.stride, i * reads.stride + reads.window)) for i in range(size)],
            frozenset(range(reads.first, reads.end)),
        )
    return dims


def price_mapping(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Counts:
    """All counts of a valid mapping of `layer`, as it is."""
    return _Run(layer, accelerator, mapping).counts()


class _Run:
    """One mapping: the kinds of transitions, how often each occurs, what it moves, how long its step is."""

    def __init__(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> None:
        self.layer, self.machine = layer, accelerator.of_widths(layer.bits)
        self.of_input, self.of_weights, self.of_output = of = of_tensors(layer, self.machine)
        self.of, self.link = of, over_link(layer, self.machine)
        self.dims = _dims(layer, accelerator, mapping)
        self.indexes = INDEXES[layer.type]
        self.outer_order = [dim for dim in mapping.outer.order if dim in DIMS]
        self.inner_order = [dim for dim in mapping.inner.order if dim in DIMS]
        self.moved: Counter[str] = Counter()
        self.compute = self.dram_wait = 0
        self.inside = cache(self._inside)

    def counts(self) -> Counts:
        """Everything about the run."""
        fill, steady, drain = self._fill(), self._steady(), self._drain()
        return Counts(
            cycles=fill + steady + drain,
            compute=self.compute,
            filling=fill,
            drain=drain,
            dram_wait=self.dram_wait,
            l1_need=self._need({dim: found.first_piece() for dim, found in self.dims.items()}, self.of),
            l2_need=self._need({dim: found.first_span() for dim, found in self.dims.items()}, self.link),
            **{name: self.moved[name] for name in MOVED},
        )

    def _need(self, spans: dict[str, tuple[int, int]], each: tuple[int, int, int]) -> int:
        """What a step over these spans needs, doubled; the first step is the largest."""
        of_input, of_weights, of_output = each
        inputs, weights, outputs = (self.indexes[name] for name in ("input", "weight", "output"))
        windows = math.prod(spans[dim][dim in "YX"] for dim in inputs)
        channels = math.prod(spans[dim][0] for dim in weights)
        sums = math.prod(spans[dim][0] for dim in outputs)
        return 2 * (of_input * windows + of_weights * channels + of_output * sums)

    @property
    def _filter(self) -> int:
        return self.layer.R * self.layer.S

    def _fill(self) -> int:
        """Cycles until the first step can begin."""
        begin = {dim: found.begin() for dim, found in self.dims.items()}
        link, dram = self._dram({dim: fill for dim, (_, fill) in begin.items()})
        noc = self._noc({dim: move for dim, (move, _) in begin.items()})
        self._add(dram + noc, 1)
        return self._offchip_cycles(link) + self._noc_cycles(_words(noc)) + self.machine.noc_latency

    def _drain(self) -> int:
        """Cycles after the last step, until the last outputs are in DRAM."""
        ends = {dim: found.end() for dim, found in self.dims.items()}
        noc, link = (
            each * math.prod(ends[dim][part] for dim in self.indexes["output"])
            for part, each in enumerate((self.of_output, self.link[2]))
        )
        self._add(Counter({"l2_output_up": noc, "dram_output_up": link}), 1)
        return self._noc_cycles(noc) + self.machine.noc_latency + self._offchip_cycles(link)

    def _steady(self) -> int:
        """Cycles of all outer steps, the last of which has no transition after it."""
        moves = {dim: found.outer_moves() for dim, found in self.dims.items()}
        cycles = 0
        for level, advancing in enumerate(self.outer_order):
            choices = {dim: moves[dim].stays for dim in self.outer_order[:level]}
            choices[advancing] = moves[advancing].advances
            choices |= {dim: Counter([moves[dim].reset]) for dim in self.outer_order[level + 1 :]}
            for transition, times in _each(choices):
                cycles += times * self._outer_step(transition, times)
        last = {dim: found.reset for dim, found in moves.items()}
        time, compute, moved = self.inside(*(last[dim][0] for dim in DIMS))
        busiest = self._compute_cycles(last[dim][1] for dim in DIMS)
        self.compute += compute + busiest
        self._add(moved, 1)
        return cycles + self._noc_cycles(time) + busiest

    def _outer_step(self, transition: dict[str, Outer], times: int) -> int:
        """Cycles of an outer step that ends with this transition; there are `times` of them."""
        time, compute, moved = self.inside(*(transition[dim][0] for dim in DIMS))
        moves = {dim: transition[dim][1] for dim in DIMS}
        busiest, noc = self._compute_cycles(moves.values()), self._noc(moves)
        link, dram = self._dram({dim: transition[dim][2] for dim in DIMS})
        time += max(busiest * self.machine.noc_bandwidth, _words(noc))
        inside = self._noc_cycles(time) + self.machine.noc_latency
        wait = max(0, self._offchip_cycles(link) - inside)
        self.compute += times * (compute + busiest)
        self.dram_wait += times * wait
        self._add(moved + noc + dram, times)
        return inside + wait

    def _inside(self, *profiles: Profile) -> tuple[int, int, Counter[str]]:
        """Time (in words that the NoC could carry), compute cycles and words of the inner transitions."""
        of = dict(zip(DIMS, profiles, strict=True))
        time = compute = 0
        moved: Counter[str] = Counter()
        for level, advancing in enumerate(self.inner_order):
            choices = {dim: Counter(dict(of[dim].stays)) for dim in self.inner_order[:level]}
            choices[advancing] = Counter(dict(of[advancing].advances))
            choices |= {dim: Counter([of[dim].reset]) for dim in self.inner_order[level + 1 :]}
            for moves, times in _each(choices):
                noc, busiest = self._noc(moves), self._compute_cycles(moves.values())
                time += times * max(busiest * self.machine.noc_bandwidth, _words(noc))
                compute += times * busiest
                moved.update({name: times * words for name, words in noc.items()})
        return time, compute, moved

    def _noc(self, moves: dict[str, Move]) -> Counter[str]:
        """Words that a transition moves between L2 and PEs: on L2's side and on the PEs'."""
        moved: Counter[str] = Counter()
        for tensor, size in (("input", self.of_input), ("weight", self.of_weights)):
            of = {dim: move for dim, move in moves.items() if dim in self.indexes[tensor]}
            after = math.prod(move.window if dim in "YX" else move.needed for dim, move in of.items())
            kept = math.prod(move.window_kept if dim in "YX" else move.kept for dim, move in of.items())
            # Along the other dims there are more PEs, which share what is read from L2.
            receivers = math.prod(move.pieces for dim, move in moves.items() if dim not in of)
            moved[f"l2_{tensor}"] = size * (after - kept)
            moved[f"pe_{tensor}"] = size * (after - kept) * receivers
        outputs = [move for dim, move in moves.items() if dim in self.indexes["output"]]
        stay = math.prod(move.stay for move in outputs)
        begun = math.prod(move.needed for move in outputs) - stay
        adders = math.prod(move.pieces for dim, move in moves.items() if dim not in self.indexes["output"])
        moved["l2_output_up"] = self.of_output * (math.prod(move.left for move in outputs) - stay)
        begun *= self.of_output
        moved["l2_output_down"] = begun if self._resumed(moves["C"].first) else 0
        # Each sum that a PE begins it sends once: counted here, it is sent when its outputs leave.
        moved["pe_output_up"] = begun * adders
        return moved

    def _dram(self, fills: dict[str, Fill]) -> tuple[int, Counter[str]]:
        """Words that a transition takes over the DRAM link, and those that DRAM reads and writes."""
        c, y, x = fills["C"], fills["Y"], fills["X"]
        of_input, of_weights, of_output = self.link
        of = [fills[dim] for dim in self.indexes["weight"]]
        weights = math.prod(fill.needed for fill in of) - math.prod(fill.kept for fill in of)
        outputs = [fills[dim] for dim in self.indexes["output"]]
        stay = math.prod(fill.kept for fill in outputs)
        begun = of_output * (math.prod(fill.needed for fill in outputs) - stay)
        moved = Counter(
            dram_input=of_input * (c.needed * y.real * x.real - c.kept * y.real_kept * x.real_kept),
            dram_weight=of_weights * weights,
            dram_output_up=of_output * (math.prod(fill.left for fill in outputs) - stay),
            dram_output_down=begun if self._resumed(c.first) else 0,
        )
        padded = c.needed * y.window * x.window - c.kept * y.window_kept * x.window_kept
        return moved.total() - moved["dram_input"] + of_input * padded, moved

    def _resumed(self, first_channels: bool) -> bool:
        """Whether sums that begin have been begun before: over channels, and not at the first of them."""
        return "C" not in self.indexes["output"] and not first_channels

    def _compute_cycles(self, moves: Iterable[Move]) -> int:
        """Cycles of the step before a transition, on its busiest PE."""
        return quotient(self._filter * math.prod(move.busiest for move in moves), self.machine.simd_lanes)

    def _noc_cycles(self, words: int) -> int:
        return quotient(words, self.machine.noc_bandwidth)

    def _offchip_cycles(self, words: int) -> int:
        return quotient(words, self.machine.offchip_bandwidth)

    def _add(self, moved: Counter[str], times: int) -> None:
        for name, words in moved.items():
            self.moved[name] += times * words


def _each(choices: dict[str, Counter[Item]]) -> Iterator[tuple[dict[str, Item], int]]:
    """Every choice of one item a dim, with how often it occurs."""
    for picked in product(*(found.items() for found in choices.values())):
        times = math.prod(times for _, times in picked)
        yield dict(zip(choices, (item for item, _ in picked), strict=True)), times


def _words(noc: Counter[str]) -> int:
    """Words that pass between L2 and the NoC."""
    return sum(words for name, words in noc.items() if name.startswith("l2_"))


def quotient(amount: int, rate: int) -> int:
    """The quotient, rounded up."""
    return -(-amount // rate)
