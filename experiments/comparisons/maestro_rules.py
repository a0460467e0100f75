"""What MAESTRO makes of an even mapping, said in the terms of the loop nest: each departure in closed form.

Even: tiles divide, and as many PEs work in every step as in the first. Layers are lowered (stride 1, no
padding). That these rules give MAESTRO's figures, `loopnest_vs_maestro.py` counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.domains.clustered.nest import nest
from dse.models.loopnest import Counts

COUPLED = {
    "CONV": {"input": "CYX", "weight": "KC", "output": "KYX"},
    "DSCONV": {"input": "CYX", "weight": "C", "output": "CYX"},
}


@dataclass(frozen=True)
class Rules:
    """MAESTRO's figures by rule: words between DRAM and L2 (its L2 reads and writes), buffers, cycles."""

    input: int
    weight: int
    output: int
    l1_size: int
    l2_size: int
    cycles: int


@dataclass(frozen=True)
class _Loops:
    """The loops of a level, outermost first, and how its parallel dim is dealt to `units` of a step."""

    layer: Layer
    order: tuple[str, ...]
    steps: dict[str, int]
    tile: dict[str, int]
    parallel: str
    units: int
    all_units: bool

    def places(self) -> Iterator[tuple[int, int]]:
        """The start (-1, once), and each loop's place with how often it is the innermost that has moved."""
        yield -1, 1
        outside = 1
        for place, dim in enumerate(self.order):
            yield place, outside * (self.steps[dim] - 1)
            outside *= self.steps[dim]

    def fetch(self, tensor: str, place: int) -> int:
        """Words brought to all units as the loop at `place` advances (at -1: at the start).

        Nothing, if the loop is not the tensor's, even where the tensor's loops inside it start anew.
        """
        coupled = COUPLED[self.layer.type][tensor]
        if place >= 0 and self.order[place] not in coupled:
            return 0
        inside = self.order[place + 1 :] if place >= 0 else ()
        anew = any(dim in coupled and self.steps[dim] > 1 for dim in inside)
        first, further = 1, 1
        for dim in coupled:
            whole, fresh = self._window(dim) if tensor == "input" else self.tile[dim], self.tile[dim]
            advances = place >= 0 and dim == self.order[place] and not anew
            first *= fresh if advances and dim != self.parallel else whole
            # Units share their halos only where the parallel dim starts anew or advances.
            further *= fresh if advances or (dim == self.parallel and dim in inside) else whole
        filters = self.layer.R * self.layer.S if tensor == "weight" else 1
        if self.parallel not in coupled:
            return filters * first
        left_out = int(self.parallel in inside and not self.all_units and self.units > 1)
        return filters * (first + further * (self.units - 1 - left_out))

    def fetches(self, tensor: str) -> int:
        """Words brought in all steps."""
        return sum(times * self.fetch(tensor, place) for place, times in self.places())

    def outputs(self) -> int:
        """Outputs of a step; without the last unit's, if units have channels of their own and some idle."""
        coupled = COUPLED[self.layer.type]["output"]
        words = math.prod(self.tile[dim] for dim in coupled)
        if self.parallel not in coupled:
            return words
        left_out = self.parallel in "KC" and not self.all_units and self.units > 1
        return words * (self.units - int(left_out))

    def cycles(self, accelerator: Accelerator, compute: int, least: int) -> int:
        """Cycles of all steps: what is brought, what leaves and `compute` overlap, but for the first step."""
        total = 0
        for place, times in self.places():
            come = _noc_cycles(accelerator, self.fetch("input", place) + self.fetch("weight", place))
            step = compute + come
            if place >= 0:
                step = max(compute, come, _noc_cycles(accelerator, self.outputs()))
            total += times * max(step, least)
        return total

    def _window(self, dim: str) -> int:
        return self.tile[dim] + {"Y": self.layer.R, "X": self.layer.S}.get(dim, 1) - 1


def rules(layer: Layer, accelerator: Accelerator, mapping: Mapping, counts: Counts) -> Rules:
    """MAESTRO's figures; `counts` are loopnest's, from which the L1's need departs."""
    loops = nest(layer, accelerator, mapping)
    tiles = {dim: min(mapping.outer[dim], layer.loops[dim]) for dim in loops.outer}
    clusters = accelerator.num_pes // mapping.cluster_size
    outer = _loops(layer, mapping.outer, loops.outer, layer.loops, tiles, clusters)
    inner = _loops(layer, mapping.inner, loops.inner, tiles, loops.tile, mapping.cluster_size)
    # DRAM brings, and takes, in each step what it does in the first, whether or not it stays.
    inputs, outputs = outer.fetch("input", -1) + outer.fetch("weight", -1), outer.outputs()
    least = max(inputs, outputs) // accelerator.offchip_bandwidth
    macs = layer.R * layer.S * math.prod(loops.tile.values())
    step = inner.cycles(accelerator, -(-macs // accelerator.simd_lanes), 0)
    # L1 gets an output for each input of a window.
    channels = loops.tile["C" if layer.type == "DSCONV" else "K"]
    rows, columns = loops.tile["Y"], loops.tile["X"]
    halo = (rows + layer.R - 1) * (columns + layer.S - 1) - rows * columns
    return Rules(
        outer.fetches("input"),
        outer.fetches("weight"),
        math.prod(loops.outer.values()) * outputs,
        counts.l1_need + 2 * channels * halo,
        2 * (inputs + outputs),
        outer.cycles(accelerator, step, least),
    )


def _loops(
    layer: Layer, level: Level, steps: dict[str, int], sizes: dict[str, int], tile: dict[str, int], units: int
) -> _Loops:
    parallel = "C" if layer.type == "DSCONV" and level.parallel == "K" else level.parallel
    busy = sizes[parallel] // (tile[parallel] * steps[parallel])
    order = tuple(dim for dim in level.order if dim in steps)
    return _Loops(layer, order, steps, tile, parallel, busy, busy == units)


def _noc_cycles(accelerator: Accelerator, words: int) -> int:
    """Cycles on the NoC, of which each cluster has one as wide as the one between L2 and the clusters."""
    return accelerator.noc_latency - 1 - (-words // accelerator.noc_bandwidth)
