"""Timeloop v4: `timeloop-arch.yaml`, `timeloop-problem.yaml` and `timeloop-mapping.yaml`, version 0.4.

The machine is DRAM, L2, clusters, PEs with an L1 each, and MACs; L1 and L2 hold all three tensors, twice. A
level `cluster_loops` that holds nothing stands where the loops of the inner level are. Directives, outermost
first, and what of the mapping they say:

    DRAM           temporal   the outer level's loops
    cluster        spatial    its parallel dim, over the clusters (X)
    cluster_loops  temporal   the inner level's loops
    PE             spatial    its parallel dim, over a cluster's PEs (Y)
    L1             temporal   a PE's tile

Permutations are innermost first; a spatial one begins with the parallel dim. K, Y and X are Timeloop's M, P
and Q. Where the last round leaves PEs idle, a factor says so as Timeloop's imperfect ones do: `M=4,3`. The
syntax is that of Timeloop's own front end and of its published exercises (github.com/Accelergy-Project).
"""

from __future__ import annotations

from typing import Any

from dse.core.directives import Counts
from dse.core.layer import DIMS, Layer
from dse.core.timeloop_problem import NAMES, PROBLEM, TENSORS, problem_text
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.formats.timeloop_reading import (
    ARCHITECTURE,
    CLUSTERS,
    INNER,
    OUTER,
    PES,
    TILE,
    read_directives,
)
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError
from dse.support.yaml_text import Tagged, dump

BITS = 16


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The three files. InputError where tiles do not divide what they cut, or a PE has lanes."""
    if accelerator.simd_lanes != 1:
        raise InputError(
            f"format timeloop: a PE has one MAC there, got simd_lanes = {accelerator.simd_lanes}"
        )
    return {
        ARCHITECTURE: dump(
            f"The accelerator, in elements of {BITS} bits", _architecture(accelerator, mapping)
        ),
        PROBLEM: problem_text(layer),
        "timeloop-mapping.yaml": dump(
            f"A mapping of {layer.name or 'layer'}: {layer}\npermutations are innermost first",
            {"mapping": _directives(layer, accelerator, mapping)},
        ),
    }


def read(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a file of directives as above; see `dse.domains.clustered.formats.timeloop_reading`."""
    return read_directives(text, where, layer, accelerator)


def _architecture(accelerator: Accelerator, mapping: Mapping) -> dict[str, Any]:
    size = mapping.cluster_size
    system = {"technology": "45nm", "global_cycle_seconds": accelerator.cycle_seconds}
    mac = {"multiplier_width": BITS, "adder_width": BITS}
    noc = {"read_bandwidth": accelerator.noc_bandwidth, "write_bandwidth": accelerator.noc_bandwidth}
    nodes = [
        Tagged("!Container", name="system", attributes=system),
        _storage(OUTER, "DRAM", type="LPDDR4", shared_bandwidth=accelerator.offchip_bandwidth),
        _storage("L2", "SRAM", depth=accelerator.l2_size, multiple_buffering=2, **noc),
        Tagged("!Container", name=CLUSTERS, spatial={"meshX": accelerator.num_pes // size}),
        Tagged(
            "!Component",
            name=INNER,
            **{"class": "dummy_storage"},
            attributes={"width": 1, "depth": 1, "datawidth": 1, "technology": -1},
            constraints={"dataspace": {"bypass": TENSORS}},
        ),
        Tagged("!Container", name=PES, spatial={"meshY": size}),
        _storage(TILE, "regfile", depth=accelerator.l1_size, multiple_buffering=2),
        Tagged("!Component", name="mac", **{"class": "intmac"}, attributes=mac),
    ]  # fmt: skip
    return {"architecture": {"version": 0.4, "nodes": nodes}}


def _storage(name: str, kind: str, **attributes: Any) -> Tagged:
    return Tagged(
        "!Component",
        name=name,
        **{"class": kind},
        attributes={"width": BITS, "datawidth": BITS, **attributes},
    )


def _directives(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> list[dict[str, Any]]:
    whole = layer.loops
    outer = {dim: min(mapping.outer[dim], size) for dim, size in whole.items()}
    tile = {dim: min(mapping.inner[dim], size) for dim, size in outer.items()}
    for dim, size in whole.items():
        for name, large, small in (("outer", size, outer[dim]), ("inner", outer[dim], tile[dim])):
            if large % small:
                raise InputError(
                    f"format timeloop: {name}.tile.{dim} = {small} must divide the {large} that it cuts"
                )
    clusters = accelerator.num_pes // mapping.cluster_size
    steps, spread = _spread(whole, outer, _parallel(layer, mapping.outer), clusters)
    inner_steps, inner_spread = _spread(outer, tile, _parallel(layer, mapping.inner), mapping.cluster_size)
    for dim, (count, last) in inner_spread.items():
        if count != last and whole[dim] != outer[dim]:
            raise InputError(
                f"format timeloop: {outer[dim] // tile[dim]} tiles of {dim} on {count} PEs leave some idle "
                "in every outer tile, which Timeloop's factors cannot say"
            )
    one = dict.fromkeys(DIMS, (1, 1))
    tiles = {dim: (size, size) for dim, size in tile.items()}
    return [
        _directive(OUTER, "temporal", steps, mapping.outer),
        _directive("L2", "temporal", one, mapping.outer),
        _directive(CLUSTERS, "spatial", spread, mapping.outer),
        _directive(INNER, "temporal", inner_steps, mapping.inner),
        _directive(PES, "spatial", inner_spread, mapping.inner),
        _directive(TILE, "temporal", tiles, mapping.inner),
    ]


def _parallel(layer: Layer, level: Level) -> str:
    """The parallel dim; a depthwise layer's output channels are C."""
    return "C" if layer.type == "DSCONV" and level.parallel == "K" else level.parallel


def _spread(large: dict[str, int], small: dict[str, int], parallel: str, units: int) -> tuple[Counts, Counts]:
    """The steps of a level's loops, and the units that its parallel dim is spread over."""
    tiles = {dim: large[dim] // small[dim] for dim in large}
    count = min(tiles[parallel], units)
    rounds = -(-tiles[parallel] // count)
    steps = {dim: (number, number) for dim, number in tiles.items()} | {parallel: (rounds, rounds)}
    last = tiles[parallel] - (rounds - 1) * count
    return steps, dict.fromkeys(large, (1, 1)) | {parallel: (count, last)}


def _directive(target: str, kind: str, counts: Counts, level: Level) -> dict[str, Any]:
    factors = [
        f"{NAMES[dim]}={count}" if count == last else f"{NAMES[dim]}={count},{last}"
        for dim, (count, last) in counts.items()
    ]
    found: dict[str, Any] = {"target": target, "type": kind, "factors": factors}
    if kind == "temporal":
        return found | {"permutation": [NAMES[dim] for dim in reversed(level.order)]}
    first = [level.parallel, *(dim for dim in DIMS if dim != level.parallel)]
    # Before the split is X, behind it Y.
    split = len(DIMS) if target == CLUSTERS else 0
    return found | {"permutation": [NAMES[dim] for dim in first], "split": split}
