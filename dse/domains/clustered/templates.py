"""Dataflow templates: how well-known accelerators would run a layer, as reference points.

A template fixes the parallel dims and the loop orders; tile and cluster sizes are then fitted by rule,
without a cost model. All are perfect factors (an outer tile divides the output size, an inner tile its
outer tile, a cluster the PE count), R and S stay whole and innermost, and buffers hold every tile twice.

1. Outer tiles and cluster size: of all that fit L2, those of least time; of those the ones with the least
   traffic through L2; of those the fewest, largest tiles.
2. Inner tiles: of all that fit L1, those of least time; then the least traffic into and out of the PEs;
   then the fewest, largest tiles.

The time is that of a double buffer: every step takes as long as the busiest PE computes on its tile, or as
long as the next tiles take to arrive (from off-chip for L2, over the NoC for L1), whichever is longer. So
idle PEs count, and so do tiles too small to keep the PEs fed. Traffic is counted by loop trips: a tile is
fetched again whenever a loop moves at or outside the innermost one that changes it, and an output that is
not finished is written and read again.

The layer is as it is priced: with its stride under a cost model that prices strides, lowered under others
(`Problem.template` sees to that). Padding counts as input. Where words have widths, so do tiles and
traffic, in bits. Along a dim of stride s and filter F (as wide as its dilation makes it), n outputs need `n
min(s, F) + F - min(s, F)` input rows: with a stride beyond the filter, some rows are skipped.

Where not even the smallest tiles fit, a template is the mapping of smallest tiles in one cluster, and
pricing says what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dse.core.chains import find_divisors
from dse.core.layer import COUPLED, DIMS, TENSORS, Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.support.arrays import BoolArray, FloatArray

Options = dict[str, FloatArray]

MAX_OPTIONS = 2**20
"""Combinations looked at in one step: where there are more, the longest lists of sizes are thinned out."""


class Template(Protocol):
    """Fits a dataflow to a layer, as it is, and an accelerator.

    With `output_halo` L1 has to hold a tile of outputs with the halo of its inputs.
    """

    def __call__(self, layer: Layer, accelerator: Accelerator, *, output_halo: bool = True) -> Mapping:
        """The mapping."""


@dataclass(frozen=True)
class Dataflow:
    """What a template fixes: parallel dims, loop orders (outermost first), and dims of inner tile 1."""

    outer_parallel: str
    inner_parallel: str
    outer_order: str
    inner_order: str
    single: str = ""

    def parallel(self, layer: Layer) -> tuple[str, str]:
        """The dims that are parallel outside and inside: a depthwise layer has its K in C."""
        outer, inner = self.outer_parallel, self.inner_parallel
        if layer.type == "DSCONV":
            outer, inner = outer.replace("K", "C"), inner.replace("K", "C")
        return outer, inner


def nvdla(layer: Layer, accelerator: Accelerator, *, output_halo: bool = True) -> Mapping:
    """Weights stationary, after NVIDIA's Deep Learning Accelerator (nvdla.org, hardware architecture).

    Clusters share out output channels, a cluster's PEs input channels, which they sum into the same
    outputs; weights stay while the outputs sweep by. Departures: a PE keeps a tile of weights, where an
    NVDLA multiplier keeps one; in a depthwise layer, which sums over no channels, both levels share out
    its channels.
    """
    return fit(Dataflow("K", "C", "KCYX", "KCYX"), layer, accelerator, output_halo)


def shidiannao(layer: Layer, accelerator: Accelerator, *, output_halo: bool = True) -> Mapping:
    """Outputs stationary, after ShiDianNao (Du et al., ISCA 2015).

    Clusters share out output rows, a cluster's PEs output columns; an output stays where it is until its
    sum is complete. Departures: a PE may keep a tile of outputs, where theirs keeps one neuron; layers need
    not fit on chip; a fully connected layer, which has a single row and column, keeps one PE busy, where
    theirs shares out its outputs.
    """
    return fit(Dataflow("Y", "X", "KYXC", "KYXC"), layer, accelerator, output_halo)


def eyeriss(layer: Layer, accelerator: Accelerator, *, output_halo: bool = True) -> Mapping:
    """By rows, after Eyeriss (Chen et al., JSSC 2017).

    Clusters share out output rows, like the columns of its array. A PE keeps its filters, slides along one
    output row and then takes the next; a cluster's PEs sum into the same outputs. Departures: R is no
    parallel dim here, so a PE keeps whole filters and R rows of inputs, where Eyeriss gives every filter
    row its own PE, and the PEs of a cluster share out input channels alone.
    """
    return fit(Dataflow("Y", "C", "YKCX", "KCYX", single="Y"), layer, accelerator, output_halo)


TEMPLATES: dict[str, Template] = {"nvdla": nvdla, "shidiannao": shidiannao, "eyeriss": eyeriss}
"""The templates by name."""


def fit(dataflow: Dataflow, layer: Layer, accelerator: Accelerator, output_halo: bool) -> Mapping:
    """The mapping of `layer` by `dataflow`, its tiles chosen by this module's rule."""
    outer = _fit_outer(dataflow, layer, accelerator)
    inner = _fit_inner(dataflow, layer, accelerator, outer, output_halo) if outer else None
    if not outer or not inner:
        outer = {"cluster": accelerator.num_pes, **dict.fromkeys(MAPPED_DIMS, 1)}
        inner = outer

    def level(parallel: str, order: str, tiles: dict[str, int]) -> Level:
        whole = {**tiles, "R": layer.R, "S": layer.S}
        return Level(parallel, (*order, "R", "S"), tuple(whole[dim] for dim in DIMS))

    return Mapping(
        level(dataflow.outer_parallel, dataflow.outer_order, outer),
        outer["cluster"],
        level(dataflow.inner_parallel, dataflow.inner_order, inner),
    )


def _fit_outer(dataflow: Dataflow, layer: Layer, accelerator: Accelerator) -> dict[str, int] | None:
    """Step 1: the outer tiles and the cluster size; None if nothing fits L2."""
    parallel, inner_parallel = dataflow.parallel(layer)
    tiles, bits = {dim: find_divisors(layer.loops[dim]) for dim in MAPPED_DIMS}, _tensor_bits(accelerator)

    def cut(options: Options) -> _Cut:
        return _Cut(layer, layer.loops, options, parallel, accelerator.num_pes // options["cluster"], bits)

    options = _grid({**tiles, "cluster": accelerator.cluster_sizes})
    options = _where(options, cut(options).l2_need() <= accelerator.l2_size)
    # The part of a cluster's tile that falls to its busiest PE.
    share = np.ceil(options[inner_parallel] / options["cluster"]) / options[inner_parallel]
    times = cut(options).times(share / accelerator.simd_lanes, accelerator.offchip_bandwidth)
    options = _where(options, _least(times))
    return _cheapest(options, cut, dataflow.outer_order)


def _fit_inner(
    dataflow: Dataflow, layer: Layer, accelerator: Accelerator, outer: dict[str, int], output_halo: bool
) -> dict[str, int] | None:
    """Step 2: the inner tiles; None if nothing fits L1."""
    parallel, bits = dataflow.parallel(layer)[1], _tensor_bits(accelerator)

    def cut(options: Options) -> _Cut:
        return _Cut(layer, outer, options, parallel, np.array(outer["cluster"]), bits)

    options = _grid({dim: find_divisors(1 if dim in dataflow.single else outer[dim]) for dim in MAPPED_DIMS})
    options = _where(options, cut(options).l1_need(output_halo) <= accelerator.l1_size)
    times = cut(options).times(np.array(1 / accelerator.simd_lanes), accelerator.noc_bandwidth)
    options = _where(options, _least(times))
    return _cheapest(options, cut, dataflow.inner_order)


def _tensor_bits(accelerator: Accelerator) -> Table[str, int]:
    """What a word of each tensor takes: an element, or its bits."""
    bits = accelerator.tensor_bits or dict.fromkeys("IWO", 1)
    return {tensor: bits[tensor[0].upper()] for tensor in TENSORS}


def _grid(choices: Table[str, tuple[int, ...]]) -> Options:
    """Every combination of the choices, as one array a name that broadcast against each other."""
    counts = {name: len(values) for name, values in choices.items()}
    while math.prod(counts.values()) > MAX_OPTIONS:
        counts[max(counts, key=lambda name: counts[name])] -= 1
    kept = [
        np.array(values, dtype=np.float64)[np.linspace(0, len(values) - 1, counts[name]).astype(int)]
        for name, values in choices.items()
    ]
    return dict(zip(choices, np.ix_(*kept), strict=True))


def _where(options: Options, keep: BoolArray) -> Options:
    """The options to keep, as one array a name, all of one length."""
    whole = np.broadcast_arrays(*options.values())
    kept = np.broadcast_to(keep, whole[0].shape)
    return {name: values[kept] for name, values in zip(options, whole, strict=True)}


def _least(figures: FloatArray) -> BoolArray:
    """Where the figures are at their minimum, but for rounding."""
    least: BoolArray = figures <= figures.min(initial=np.inf) * (1 + 1e-9)
    return least


def _cheapest(options: Options, cut: Callable[[Options], _Cut], order: str) -> dict[str, int] | None:
    """The option of least traffic, among equals the one of fewest trips; None if there is no option."""
    if not len(options["K"]):
        return None
    options = _where(options, _least(cut(options).traffic(order)))
    chosen = cut(options).all_trips().argmin()
    return {name: int(values[chosen]) for name, values in options.items()}


@dataclass(frozen=True)
class _Cut:
    """Many ways to cut loops of `sizes` into `tiles`, with `units` tiles of the parallel dim at a time.

    `tiles` and `units` are arrays of one length, or of length 1, `bits` what a word of each tensor takes.
    Floats, because products of sizes may pass 64 bits; figures that could fit a buffer are exact.
    """

    layer: Layer
    sizes: Table[str, int]
    tiles: Options
    parallel: str
    units: FloatArray
    bits: Table[str, int]

    def trips(self, dim: str) -> FloatArray:
        """Steps of the loop over `dim`."""
        units = self.units if dim == self.parallel else np.ones(1)
        return np.ceil(self.sizes[dim] / (self.tiles[dim] * units))

    def all_trips(self) -> FloatArray:
        """Steps of the whole nest of loops."""
        return math.prod((self.trips(dim) for dim in MAPPED_DIMS), start=np.ones(1))

    def times(self, cycles_per_mac: FloatArray, bandwidth: int) -> FloatArray:
        """Cycles of all steps, each as long as the longer of its compute and the next one's transfers.

        A unit spends `cycles_per_mac` on each MAC of its tile; `bandwidth` is in elements per cycle.
        """
        window = self.layer.R * self.layer.S
        macs = math.prod((self.tiles[dim] for dim in MAPPED_DIMS), start=np.full(1, float(window)))
        inputs, weights, outputs = self._array_volumes()
        transfer = np.maximum(inputs + weights, outputs) / bandwidth
        return self.all_trips() * np.maximum(macs * cycles_per_mac, transfer)

    def l1_need(self, output_halo: bool) -> FloatArray:
        """The L1 need of a PE that holds such tiles."""
        inputs, weights, outputs = (
            self.bits[tensor] * self._volume(dims, halo=tensor != "output" or output_halo)
            for tensor, dims in zip(TENSORS, COUPLED[self.layer.type], strict=True)
        )
        return 2 * (inputs + weights + outputs)

    def l2_need(self) -> FloatArray:
        """The L2 need of such tiles. MAESTRO may leave out the last cluster's outputs; here they count."""
        inputs, weights, outputs = self._array_volumes()
        return 2 * (inputs + weights + outputs)

    def traffic(self, order: str) -> FloatArray:
        """Elements moved into and out of the units by loops in `order`, outermost first."""
        volumes = zip(self._array_volumes(), COUPLED[self.layer.type], strict=True)
        inputs, weights, outputs = (volume * self._fetches(dims, order) for volume, dims in volumes)
        return inputs + weights + 2 * outputs

    def _fetches(self, dims: str, order: str) -> FloatArray:
        """How often the tile of a tensor with `dims` changes, counting returns to an earlier one."""
        fetches, changes = np.ones(1), np.zeros(1, dtype=bool)
        for dim in reversed(order):
            trips = self.trips(dim)
            if dim in dims:
                changes = changes | (trips > 1)
                fetches = fetches * trips
            else:
                fetches = fetches * np.where(changes, trips, 1)
        return fetches

    def _array_volumes(self) -> list[FloatArray]:
        """Elements of each tensor's tiles in all units together: shared ones are there once."""
        busy = np.minimum(self.units, self.sizes[self.parallel] // self.tiles[self.parallel])
        return [
            self.bits[tensor]
            * self._volume(dims, halo=tensor == "input")
            * (busy if self.parallel in dims else 1)
            for tensor, dims in zip(TENSORS, COUPLED[self.layer.type], strict=True)
        ]

    def _volume(self, dims: str, *, halo: bool) -> FloatArray:
        """Elements of one tile of a tensor; `halo` counts Y and X in inputs."""
        extents = {**self.tiles, "R": np.array(float(self.layer.R)), "S": np.array(float(self.layer.S))}
        if halo:
            for dim, reads in zip("YX", self.layer.reads, strict=True):
                extents[dim] = extents[dim] * reads.pitch + reads.overlap
        return math.prod((extents[dim] for dim in dims), start=np.ones(1))
