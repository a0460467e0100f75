"""The outer level of many mappings at once, in NumPy: what they cannot be below, loop by loop.

Written from the model's definition and sharing nothing with the solver: the transitions between outer steps
are gone through loop by loop, and the input rows that are real are counted row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.check.enumeration import allowed_parallels
from dse.domains.clustered.check.limits import most_steps, room_of
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.loopnest.units import of_tensors, over_link
from dse.support.arrays import BoolArray, IntArray

Sizes = dict[str, IntArray]
"""By dim, a figure of each of n shapes."""


@dataclass(frozen=True)
class Outer:
    """The outer level of n shapes that have the same parallel dim."""

    problem: Problem
    tiles: Sizes
    clusters: IntArray
    parallel: str

    def rows(self, rows: IntArray) -> Outer:
        """The outer levels of some of the shapes."""
        tiles = {dim: sizes[rows] for dim, sizes in self.tiles.items()}
        return replace(self, tiles=tiles, clusters=self.clusters[rows])

    @property
    def _layer(self) -> Layer:
        return self.problem.layer

    @cached_property
    def _of(self) -> tuple[int, int, int]:
        """What an input, the weights of a pair of channels and an output take."""
        return of_tensors(self._layer, self.problem.accelerator)

    @cached_property
    def _link(self) -> tuple[int, int, int]:
        """The same in L2's tiles and over the DRAM link."""
        return over_link(self._layer, self.problem.accelerator)

    @cached_property
    def spans(self) -> Sizes:
        """Indices of an outer step."""
        across = self.problem.accelerator.num_pes // self.clusters
        spans = dict(self.tiles)
        spans[self.parallel] = np.minimum(spans[self.parallel] * across, self._layer.loops[self.parallel])
        return spans

    @cached_property
    def steps(self) -> Sizes:
        """Outer steps of each dim."""
        return {dim: -(-self._layer.loops[dim] // span) for dim, span in self.spans.items()}

    @cached_property
    def lasts(self) -> Sizes:
        """Indices of the last outer step."""
        return {
            dim: self._layer.loops[dim] - (self.steps[dim] - 1) * span for dim, span in self.spans.items()
        }

    @cached_property
    def fits(self) -> BoolArray:
        """Whether L2 holds an outer step twice."""
        inputs, weights, outputs = self._boxes(self.spans, self._windows(self.spans), self._link)
        found: BoolArray = 2 * (inputs + weights + outputs) <= room_of(self.problem)[1]
        return found

    @cached_property
    def busy_enough(self) -> BoolArray:
        """Whether limits let the busiest PE take as many steps as it has to, of all outer steps."""
        most, work = most_steps(self.problem), self._least_steps
        if most is None:
            return np.ones(len(self.clusters), dtype=bool)
        for dim in MAPPED_DIMS:
            work = work * self.steps[dim]
        found: BoolArray = work <= most
        return found

    @cached_property
    def work(self) -> IntArray:
        """Cycles that the busiest PE takes for an outer step, with the best inner parallel dim and tiles."""
        least: IntArray = -(-self._least_steps // self.problem.accelerator.simd_lanes)
        return least

    @cached_property
    def _least_steps(self) -> IntArray:
        """The steps of that PE, each of them on a lane."""
        fixed, layer = self.problem.space.fixed, self._layer
        found = []
        for parallel in allowed_parallels(self.problem, "inner"):
            smallest: Any = fixed.get(f"inner.tile.{parallel}", 1)
            # An even share, in whole tiles of the smallest size: 1, or what is fixed.
            steps = -(-self.tiles[parallel] // (smallest * self.clusters)) * smallest
            for dim in MAPPED_DIMS:
                steps = steps * self.tiles[dim] if dim != parallel else steps
            found.append(layer.R * layer.S * steps)
        least: IntArray = np.minimum.reduce(found)
        return least

    @cached_property
    def ends(self) -> IntArray:
        """Cycles of the NoC for the first data and the last outputs, if one PE of a cluster works."""
        fixed, rate = self.problem.space.fixed, self.problem.accelerator.noc_bandwidth
        pieces: dict[str, Any] = {dim: fixed.get(f"inner.tile.{dim}", 1) for dim in MAPPED_DIMS}
        alone = {dim: np.full_like(self.clusters, piece) for dim, piece in pieces.items()}
        windows = self._windows(alone)
        first, last = dict(alone), dict(alone)
        tile = self.tiles[self.parallel]
        at_first, at_last = self.spans[self.parallel] // tile, self.lasts[self.parallel] // tile
        first[self.parallel], last[self.parallel] = (
            first[self.parallel] * at_first,
            last[self.parallel] * at_last,
        )
        if self.parallel in windows:
            windows[self.parallel] = windows[self.parallel] * at_first
        inputs, weights, _ = self._boxes(first, windows, self._of)
        _, _, outputs = self._boxes(last, windows, self._of)
        ends: IntArray = -(-(inputs + weights) // rate) - (-outputs // rate)
        return ends

    @property
    def least_of_any_order(self) -> tuple[IntArray, IntArray]:
        """Cycles and words from and to DRAM that no mapping is below: all work, every real word once."""
        machine, layer = self.problem.accelerator, self._layer
        steps = np.ones_like(self.clusters)
        for dim in MAPPED_DIMS:
            steps = steps * self.steps[dim]
        of_input, of_weights, of_output = self._link
        words = layer.K * layer.C * of_weights + of_output * output_words(layer)
        inputs = layer.C * of_input
        for dim in "YX":
            inputs *= real_rows(layer, dim, layer.loops[dim])[0]
        cycles = steps * (self.work + machine.noc_latency) + machine.noc_latency
        return cycles, np.full_like(cycles, words + inputs)

    def least(self, order: tuple[str, ...]) -> tuple[IntArray, IntArray]:
        """Cycles that no mapping with this outer order is below, and its words from and to DRAM."""
        machine = self.problem.accelerator
        rate, latency = machine.offchip_bandwidth, machine.noc_latency
        inputs, weights, _ = self._boxes(self.spans, self._windows(self.spans), self._link)
        _, _, last = self._boxes(self.lasts, self._windows(self.lasts), self._link)
        cycles = 2 * latency + self.ends + self.work - (-(inputs + weights) // rate) - (-last // rate)
        weights_moved, up = weights.copy(), last.copy()
        for place, dim in enumerate(order):
            for move in self._transitions(order[:place], dim, order[place + 1 :]):
                weights_moved += move.times * move.weights
                up += move.times * move.up
                for times, link in (
                    (move.begun_before, move.inputs + move.weights + move.up + move.down),
                    (move.times - move.begun_before, move.inputs + move.weights + move.up),
                ):
                    cycles = cycles + times * np.maximum(self.work + latency, -(-link // rate))
        final = self._link[2] * output_words(self._layer)
        return cycles, self._real_inputs(order) + weights_moved + 2 * up - final

    def _transitions(
        self, outside: tuple[str, ...], dim: str, inside: tuple[str, ...]
    ) -> Iterator[_Transition]:
        """The kinds of transitions as `dim` advances, for every state of the parallel dim around it."""
        # Tiles are factors: only the dim that is spread over clusters can have a shorter last step.
        steps, uneven = self.steps, {dim: self.lasts[dim] != self.spans[dim] for dim in MAPPED_DIMS}
        for at_last in (False, True) if self.parallel in outside else (False,):
            for to_last in (False, True) if self.parallel == dim else (False,):
                times = uneven[dim].astype(np.int64) if to_last else steps[dim] - 1 - uneven[dim]
                times = np.where(steps[dim] > 1, times, 0)
                first = np.zeros_like(times) if dim == "C" else times.copy()
                for other in outside:
                    count = steps[other]
                    if other == self.parallel:
                        count = uneven[other].astype(np.int64) if at_last else steps[other] - uneven[other]
                    times = times * count
                    begins = (
                        np.zeros_like(count) if at_last and other == self.parallel else np.ones_like(count)
                    )
                    first = first * (begins if other == "C" else count)
                if not times.any():
                    continue
                around = {
                    other: self.lasts[other] if at_last and other == self.parallel else self.spans[other]
                    for other in outside
                }
                after = self.lasts[dim] if to_last else self.spans[dim]
                yield self._transition(around, dim, after, inside, times, first)

    def _transition(
        self,
        around: Sizes,
        dim: str,
        after: IntArray,
        inside: tuple[str, ...],
        times: IntArray,
        first: IntArray,
    ) -> _Transition:
        """What moves as `dim` advances to a step of `after` indices."""
        nothing = np.zeros_like(after)
        back = {other: np.where(self.steps[other] == 1, self.spans[other], 0) for other in inside}
        new = around | {dim: after} | {other: self.spans[other] for other in inside}
        kept = around | {dim: nothing} | back
        old = around | {dim: self.spans[dim]} | {other: self.lasts[other] for other in inside}
        kept_windows = self._windows(around) | ({dim: self._shared(dim, nothing)} if dim in "YX" else {})
        for other in inside:
            if other in "YX":
                gap = (self.steps[other] - 2) * self.spans[other]
                kept_windows[other] = np.where(
                    self.steps[other] == 1, self._windows(self.spans)[other], self._shared(other, gap)
                )
        inputs, weights, begun = self._boxes(new, self._windows(new), self._link)
        inputs_kept, weights_kept, stay = self._boxes(kept, kept_windows, self._link)
        _, _, left = self._boxes(old, self._windows(old), self._link)
        summed = self._layer.type != "DSCONV"
        return _Transition(
            times=times,
            begun_before=times - first if summed else nothing,
            inputs=inputs - inputs_kept,
            weights=weights - weights_kept,
            up=left - stay,
            down=begun - stay,
        )

    def _windows(self, sizes: Sizes) -> Sizes:
        """Input rows and columns that so many neighbouring outputs use."""
        axes = zip("YX", self._layer.reads, strict=True)
        return {dim: sizes[dim] * reads.pitch + reads.overlap for dim, reads in axes if dim in sizes}

    def _shared(self, dim: str, gap: IntArray) -> IntArray:
        """Rows or columns that outputs so far apart both use."""
        reads = self._layer.reads["YX".index(dim)]
        return np.maximum(reads.overlap - gap * reads.pitch, 0)

    def _boxes(
        self, sizes: Sizes, windows: Sizes, each: tuple[int, int, int]
    ) -> tuple[IntArray, IntArray, IntArray]:
        """What inputs, weights and outputs take, of which one takes `each`."""
        of_input, of_weights, of_output = each
        inputs = of_input * sizes["C"] * windows["Y"] * windows["X"]
        weights = of_weights * sizes["K"] * sizes["C"]
        channels = sizes["C"] if self._layer.type == "DSCONV" else sizes["K"]
        return inputs, weights, of_output * channels * sizes["Y"] * sizes["X"]

    def _real_inputs(self, order: tuple[str, ...]) -> IntArray:
        """Inputs that DRAM sends, without padding: of each step what the one before it had not."""
        whole: Sizes = {}
        ahead: Sizes = {}
        back: Sizes = {}
        whole["K"], ahead["K"], back["K"] = self.steps["K"], self.steps["K"] - 1, np.ones_like(self.clusters)
        channels = np.full_like(self.clusters, self._layer.C)
        whole["C"], ahead["C"] = channels, np.zeros_like(channels)
        back["C"] = np.where(self.steps["C"] == 1, channels, 0)
        for dim in "YX":
            spans, place = np.unique(self.spans[dim], return_inverse=True)
            rows = np.array([real_rows(self._layer, dim, int(span)) for span in spans], dtype=np.int64)
            whole[dim], ahead[dim], back[dim] = rows[place].T
        stays = np.zeros_like(self.clusters)
        for level, dim in enumerate(order):
            kept = ahead[dim]
            for other in order[:level]:
                kept = kept * whole[other]
            for other in order[level + 1 :]:
                kept = kept * back[other]
            stays = stays + kept
        return self._link[0] * (whole["K"] * whole["C"] * whole["Y"] * whole["X"] - stays)


class _Transition(NamedTuple):
    """How often a kind of transition occurs, how often with sums that were begun before; words by tensor."""

    times: IntArray
    begun_before: IntArray
    inputs: IntArray
    weights: IntArray
    up: IntArray
    down: IntArray


@lru_cache(maxsize=4096)
def real_rows(layer: Layer, dim: str, span: int) -> tuple[int, int, int]:
    """Rows (or columns) that are no padding: of all steps, those that stay in the next, and in going back."""
    stride, window, first, end = layer.reads["YX".index(dim)]
    steps = [
        {
            row
            for output in range(start, min(start + span, layer.loops[dim]))
            for row in range(output * stride, output * stride + window)
            if first <= row < end
        }
        for start in range(0, layer.loops[dim], span)
    ]
    ahead = sum(len(one & other) for one, other in pairwise(steps))
    return sum(map(len, steps)), ahead, len(steps[0] & steps[-1])


def output_words(layer: Layer) -> int:
    """Outputs of a layer."""
    rows, columns = layer.output
    return rows * columns * (layer.C if layer.type == "DSCONV" else layer.K)
