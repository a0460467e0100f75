"""What `loopnest` means, executed: a mapping of a tiny layer, step by step, with explicit buffers and values.

Every PE, the L2 and DRAM hold sets of elements. Each step is carried out MAC by MAC on real numbers, each MAC
finding its operands in its PE's L1 or failing; each transfer is the difference of what is needed next and
what is there. At the end DRAM must hold the layer's outputs. Nothing here is derived from the closed form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import gcd

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping

MAPPED = ("K", "C", "Y", "X")
ONE = {"I": 1, "W": 1, "O": 1}
Span = range
Box = dict[str, Span]
Element = tuple[int, ...]
Position = dict[str, int]
Key = tuple[int | None, ...]


@dataclass(frozen=True)
class Step:
    """One step of the nest: the indices of the outer and of the inner loops, by dim."""

    outer: Position
    inner: Position


@dataclass
class Simulated:
    """What a run did: words moved by what they are, cycles, MACs and the largest needs."""

    moved: Counter[str] = field(default_factory=Counter)
    macs: int = 0
    cycles: int = 0
    compute_cycles: int = 0
    l1_need: int = 0
    l2_need: int = 0


class Pe:
    """One PE's L1: its inputs, its weights and the partial sums it has under way."""

    def __init__(self, cluster: int, place: int) -> None:
        self.cluster, self.place = cluster, place
        self.inputs, self.weights = frozenset[Element](), frozenset[Element]()
        self.psums: dict[Element, int] = {}


class Nest:
    """The loops of a mapping and the pieces that they give to PEs."""

    def __init__(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> None:
        depthwise = layer.type == "DSCONV"
        self.layer = layer
        self.sizes = {dim: layer.loops[dim] for dim in MAPPED}
        self.outer_tile = {dim: min(mapping.outer[dim], self.sizes[dim]) for dim in MAPPED}
        self.inner_tile = {dim: min(mapping.inner[dim], self.outer_tile[dim]) for dim in MAPPED}
        self.outer_order = [dim for dim in mapping.outer.order if dim in MAPPED]
        self.inner_order = [dim for dim in mapping.inner.order if dim in MAPPED]
        channels = {"K": "C"} if depthwise else {}
        self.outer_parallel = channels.get(mapping.outer.parallel, mapping.outer.parallel)
        self.inner_parallel = channels.get(mapping.inner.parallel, mapping.inner.parallel)
        self.cluster_size = mapping.cluster_size
        self.clusters = accelerator.num_pes // mapping.cluster_size
        self.indexes = {
            "input": ("C", "Y", "X"),
            "weight": ("C",) if depthwise else ("K", "C"),
            "output": ("C", "Y", "X") if depthwise else ("K", "Y", "X"),
        }

    def steps(self) -> Iterator[Step]:
        """All steps in their order; a step is there if the first PE of the first cluster has work."""
        for outer in self._positions(
            self.outer_order, lambda dim: range(0, self.sizes[dim], self._outer(dim))
        ):
            first = {dim: self.cluster_piece(dim, outer[dim], 0) for dim in MAPPED}
            for inner in self._positions(
                self.inner_order, lambda dim, first=first: range(0, len(first[dim]), self._inner(dim))
            ):
                yield Step(outer, inner)

    def _positions(self, order: list[str], starts) -> Iterator[Position]:
        for values in product(*(starts(dim) for dim in order)):
            yield dict(zip(order, values, strict=True))

    def _outer(self, dim: str) -> int:
        return self.outer_tile[dim] * (self.clusters if dim == self.outer_parallel else 1)

    def _inner(self, dim: str) -> int:
        return self.inner_tile[dim] * (self.cluster_size if dim == self.inner_parallel else 1)

    def cluster_piece(self, dim: str, start: int, cluster: int) -> Span:
        """The outputs (or channels) of a cluster in the outer step from `start` on; empty beyond the end."""
        tile = self.outer_tile[dim]
        begin = start + (cluster * tile if dim == self.outer_parallel else 0)
        return range(begin, max(begin, min(begin + tile, self.sizes[dim])))

    def piece(self, dim: str, step: Step, cluster: int, place: int) -> Span:
        """What one PE works on in a step."""
        whole, tile = self.cluster_piece(dim, step.outer[dim], cluster), self.inner_tile[dim]
        begin = whole.start + step.inner[dim] + (place * tile if dim == self.inner_parallel else 0)
        return range(begin, max(begin, min(begin + tile, whole.stop)))

    def box(self, step: Step, cluster: int, place: int) -> Box | None:
        """All dims' pieces of a PE, or None if it has no work."""
        box = {dim: self.piece(dim, step, cluster, place) for dim in MAPPED}
        return box if all(box.values()) else None

    def outer_box(self, outer: Position) -> Box:
        """What all clusters together work on in an outer step."""
        return {dim: range(outer[dim], min(outer[dim] + self._outer(dim), self.sizes[dim])) for dim in MAPPED}

    def inputs(self, box: Box) -> frozenset[Element]:
        """The input elements that a box uses, padding included, in coordinates of the padded input."""
        rows, columns = (self._reach(box[dim], "YX".index(dim)) for dim in "YX")
        return frozenset(product(box["C"], rows, columns))

    def _reach(self, outputs: Span, axis: int) -> set[int]:
        """Rows (columns) from the first to the last tap of each output; between the taps of a dilated filter
        those that other outputs of the layer may read.
        """
        layer = self.layer
        taps, stride, dilation = (layer.R, layer.S)[axis], layer.stride[axis], layer.dilation[axis]
        last, step = (taps - 1) * dilation, gcd(stride, dilation)
        return {output * stride + row for output in outputs for row in range(0, last + 1, step)}

    def weights(self, box: Box) -> frozenset[Element]:
        """The weights that a box uses."""
        channels = (box[dim] for dim in self.indexes["weight"])
        return frozenset(product(*channels, range(self.layer.R), range(self.layer.S)))

    def outputs(self, box: Box) -> frozenset[Element]:
        """The outputs that a box adds to."""
        return frozenset(product(*(box[dim] for dim in self.indexes["output"])))

    def group(self, tensor: str, cluster: int, place: int) -> Key:
        """PEs of the same key need the same elements of the tensor whenever they work."""
        return (
            cluster if self.outer_parallel in self.indexes[tensor] else None,
            place if self.inner_parallel in self.indexes[tensor] else None,
        )


class Simulator:
    """One run of a mapping."""

    def __init__(self, layer: Layer, accelerator: Accelerator, mapping: Mapping, seed: int = 0) -> None:
        self.nest, self.layer, self.accelerator = Nest(layer, accelerator, mapping), layer, accelerator
        self.pes = [Pe(c, q) for c in range(self.nest.clusters) for q in range(self.nest.cluster_size)]
        self.done = Simulated()
        self.input, self.weight, self.output = map((accelerator.tensor_bits or ONE).__getitem__, "IWO")
        rng = np.random.default_rng(seed)
        (rows, columns), channels = layer.padding, 1 if layer.type == "DSCONV" else layer.K
        values = rng.integers(-9, 10, (layer.C, layer.Y, layer.X))
        self.image = np.pad(values, ((0, 0), (rows, rows), (columns, columns)))
        self.filters = rng.integers(-9, 10, (channels, layer.C, layer.R, layer.S))
        whole = {dim: range(size) for dim, size in self.nest.sizes.items()}
        self.holds, nothing = accelerator.holds, frozenset[Element]()
        self.l2_inputs = self.nest.inputs(whole) if "I" in self.holds else nothing
        self.l2_weights = self.nest.weights(whole) if "W" in self.holds else nothing
        self.l2_psums, self.dram_psums = dict[Element, int](), dict[Element, int]()

    def run(self) -> Simulated:
        """Walk all steps; what a step needs is fetched while the step before it runs."""
        accelerator, done, steps = self.accelerator, self.done, list(self.nest.steps())
        offchip, noc = self._move_to(steps[0], new_outer=True)
        done.cycles += ceil(offchip, accelerator.offchip_bandwidth)
        done.cycles += ceil(noc, accelerator.noc_bandwidth) + accelerator.noc_latency
        inner_time = 0  # of the present outer step, in words that the NoC could carry
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            compute = ceil(self._compute(step), accelerator.simd_lanes)
            done.compute_cycles += compute
            offchip = noc = 0
            outer_ends = following is not None and following.outer != step.outer
            if following is not None:
                offchip, noc = self._move_to(following, new_outer=outer_ends)
            inner_time += max(compute * accelerator.noc_bandwidth, noc)
            if outer_ends:
                inside = ceil(inner_time, accelerator.noc_bandwidth) + accelerator.noc_latency
                done.cycles += max(inside, ceil(offchip, accelerator.offchip_bandwidth))
                inner_time = 0
        done.cycles += ceil(inner_time, accelerator.noc_bandwidth)
        noc, offchip = self._send_psums(None), self._write_back(frozenset())
        done.cycles += ceil(noc, accelerator.noc_bandwidth) + accelerator.noc_latency
        done.cycles += ceil(offchip, accelerator.offchip_bandwidth)
        self._check_outputs()
        return done

    def _compute(self, step: Step) -> int:
        """All MACs of a step; returns those of the busiest PE."""
        busiest = 0
        for pe in self.pes:
            box = self.nest.box(step, pe.cluster, pe.place)
            busiest = max(busiest, macs := self._compute_on(pe, box) if box else 0)
            self.done.macs += macs
        return busiest

    def _compute_on(self, pe: Pe, box: Box) -> int:
        depthwise = self.layer.type == "DSCONV"
        ((down, right), (lower, wider)), macs = (self.layer.stride, self.layer.dilation), 0
        window = list(product(range(self.layer.R), range(self.layer.S)))
        for k, c, y, x in product(*(box[dim] for dim in MAPPED)):
            output = (c, y, x) if depthwise else (k, y, x)
            total = pe.psums[output]
            for r, s in window:
                element = c, y * down + r * lower, x * right + s * wider
                weight = (c, r, s) if depthwise else (k, c, r, s)
                assert element in pe.inputs
                assert weight in pe.weights
                total += int(self.image[element]) * int(self.filters[k, c, r, s])
            pe.psums[output] = total
            macs += len(window)
        return macs

    def _move_to(self, step: Step, *, new_outer: bool) -> tuple[int, int]:
        """Bring what the step needs, send away what it does not: words over the DRAM link and the NoC."""
        offchip, noc = 0, self._send_psums(step)
        if new_outer:
            box = self.nest.outer_box(step.outer)
            outputs = self.nest.outputs(box)
            offchip = self._fill_l2(box) + self._write_back(outputs) + self._read_back(outputs)
        noc += self._fill_l1(step) + self._start_psums(step)
        return offchip, noc

    def _fill_l2(self, box: Box) -> int:
        """Inputs and weights of an outer step; zeros of the padding take time but are not in DRAM."""
        inputs = self.l2_inputs if "I" in self.holds else self.nest.inputs(box)
        weights = self.l2_weights if "W" in self.holds else self.nest.weights(box)
        new, brought = inputs - self.l2_inputs, self.weight * len(weights - self.l2_weights)
        self.done.moved["dram input"] += self.input * sum(map(self._is_real, new))
        self.done.moved["dram weight"] += brought
        self.l2_inputs, self.l2_weights = inputs, weights
        self.done.l2_need = max(self.done.l2_need, 2 * self._room(box, self.holds))
        return self.input * len(new) + brought

    def _room(self, box: Box, besides: tuple[str, ...] = ()) -> int:
        """What a box takes, without the tensors that are there besides."""
        nest, each = self.nest, (self.input, self.weight, self.output)
        parts = zip("IWO", each, (nest.inputs(box), nest.weights(box), nest.outputs(box)), strict=True)
        return sum(size * len(elements) for name, size, elements in parts if name not in besides)

    def _is_real(self, element: Element) -> bool:
        _, row, column = element
        above, left = self.layer.padding
        return above <= row < above + self.layer.Y and left <= column < left + self.layer.X

    def _write_back(self, kept: frozenset[Element]) -> int:
        """Outputs that leave L2 for DRAM."""
        if "O" in self.holds:
            return 0
        leaving = [element for element in self.l2_psums if element not in kept]
        self.dram_psums |= {element: self.l2_psums.pop(element) for element in leaving}
        self.done.moved["dram output up"] += self.output * len(leaving)
        return self.output * len(leaving)

    def _read_back(self, needed: frozenset[Element]) -> int:
        """Partial sums that come back from DRAM; an output that was never there starts from zero."""
        coming = [e for e in needed if e in self.dram_psums and e not in self.l2_psums]
        self.l2_psums |= {element: self.dram_psums[element] for element in coming}
        self.done.moved["dram output down"] += self.output * len(coming)
        return self.output * len(coming)

    def _fill_l1(self, step: Step) -> int:
        """Inputs and weights of the PEs that work; an idle PE keeps what it has. Words that L2 sends."""
        sent: dict[tuple[str, Key], set[Element]] = defaultdict(set)
        for pe in self.pes:
            box = self.nest.box(step, pe.cluster, pe.place)
            if box is None:
                continue
            inputs, weights = self.nest.inputs(box), self.nest.weights(box)
            assert inputs <= self.l2_inputs
            assert weights <= self.l2_weights
            for tensor, new in (("input", inputs - pe.inputs), ("weight", weights - pe.weights)):
                sent[tensor, self.nest.group(tensor, pe.cluster, pe.place)] |= new
                self.done.moved[f"pe {tensor}"] += getattr(self, tensor) * len(new)
            pe.inputs, pe.weights = inputs, weights
            self.done.l1_need = max(self.done.l1_need, 2 * self._room(box))
        for (tensor, _), elements in sent.items():
            self.done.moved[f"l2 {tensor}"] += getattr(self, tensor) * len(elements)
        return sum(getattr(self, tensor) * len(elements) for (tensor, _), elements in sent.items())

    def _groups(self) -> dict[Key, list[Pe]]:
        """PEs that add to the same outputs, the first of each group first."""
        groups: dict[Key, list[Pe]] = defaultdict(list)
        for pe in self.pes:
            groups[self.nest.group("output", pe.cluster, pe.place)].append(pe)
        return groups

    def _send_psums(self, step: Step | None) -> int:
        """Sums whose group's first PE does not need them next leave all its PEs, added up on the way."""
        words = 0
        for group in self._groups().values():
            box = self.nest.box(step, group[0].cluster, group[0].place) if step else None
            kept = self.nest.outputs(box) if box else frozenset()
            for element in {element for pe in group for element in pe.psums} - kept:
                assert element in group[0].psums
                parts = [pe.psums.pop(element) for pe in group if element in pe.psums]
                self.done.moved["pe output up"] += self.output * len(parts)
                self.l2_psums[element] = sum(parts)
                words += self.output
        self.done.moved["l2 output up"] += words
        return words

    def _start_psums(self, step: Step) -> int:
        """Sums that a PE begins: the group's first PE with what L2 has so far, if anything, others with 0."""
        words = 0
        for group in self._groups().values():
            for pe in group:
                box = self.nest.box(step, pe.cluster, pe.place)
                for element in (self.nest.outputs(box) if box else frozenset()) - pe.psums.keys():
                    back = pe is group[0] and element in self.l2_psums
                    pe.psums[element] = self.l2_psums[element] if back else 0
                    words += self.output * back
        self.done.moved["l2 output down"] += words
        return words

    def _check_outputs(self) -> None:
        """DRAM, or L2 where they stay, holds the layer's outputs, each exactly."""
        (rows, columns), (down, right) = self.layer.output, self.layer.stride
        (lower, wider), taps = self.layer.dilation, (self.layer.R, self.layer.S)
        extents = (taps[0] - 1) * lower + 1, (taps[1] - 1) * wider + 1
        patches = np.lib.stride_tricks.sliding_window_view(self.image, extents, axis=(1, 2))
        patches = patches[:, ::down, ::right, ::lower, ::wider][:, :rows, :columns]
        sums = "cyxrs,kcrs->cyx" if self.layer.type == "DSCONV" else "cyxrs,kcrs->kyx"
        expected = np.einsum(sums, patches, self.filters)
        found = self.l2_psums if "O" in self.holds else self.dram_psums
        assert len(found) == expected.size
        assert all(expected[element] == value for element, value in found.items())


def ceil(words: int, rate: int) -> int:
    """Whole cycles."""
    return -(-words // rate)


def simulate(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Simulated:
    """Run the mapping; tiles above a dim are cut to it. R and S stay whole inside a PE."""
    assert all(mapping.outer[dim] >= getattr(layer, dim) for dim in DIMS[4:])
    return Simulator(layer, accelerator.of_widths(layer.bits), mapping).run()
