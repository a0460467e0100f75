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

import re
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Any

from dse.core.layer import DIMS, Layer
from dse.core.timeloop_files import (
    NAMES,
    PROBLEM,
    TENSORS,
    Counts,
    problem_text,
    read_directives,
    read_factors,
    read_order,
)
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.files import read_text
from dse.support.strict_yaml import Tagged, dump_yaml
from dse.support.strict_yaml import parse_yaml as load

OUTER, CLUSTERS, INNER, PES, TILE = "DRAM", "cluster", "cluster_loops", "PE", "L1"
ARCHITECTURE = "timeloop-arch.yaml"
DIM_OF = {name: dim for dim, name in NAMES.items()}
TARGETS = (OUTER, "L2", CLUSTERS, INNER, PES, TILE)
SPATIAL = (CLUSTERS, PES)
BITS = 16


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The three files. InputError where tiles do not divide what they cut."""
    return {
        ARCHITECTURE: dump_yaml(
            f"The accelerator, in elements of {BITS} bits", _architecture(accelerator, mapping)
        ),
        PROBLEM: problem_text(layer),
        "timeloop-mapping.yaml": dump_yaml(
            f"A mapping of {layer.name or 'layer'}: {layer}\npermutations are innermost first",
            {"mapping": _directives(layer, accelerator, mapping)},
        ),
    }


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


def read(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a YAML text, which may hold the architecture too; InputError where it says none.

    Without an architecture in the text, and none in `timeloop-arch.yaml` beside it, clusters are the smallest
    that the spatial factors fit into.
    """
    data = load(text, where)
    counts = {target: dict.fromkeys(DIMS, (1, 1)) for target in TARGETS}
    orders = dict.fromkeys(TARGETS, tuple(DIMS))
    for at, entry, named, kind in read_directives(data, where):
        target = _target(entry, named, kind, at)
        if kind == "dataspace":
            _refuse_bypass(entry, target, at)
        elif not (kind == "temporal" and target in SPATIAL):
            counts[target] |= read_factors(entry.get("factors", []), at, DIM_OF)
            orders[target] = read_order(entry.get("permutation", []), at, DIM_OF, DIMS)
    return _mapping(counts, orders, where, layer, accelerator, data.get("architecture"))


def _target(entry: Table[str, Any], target: str, kind: str, at: str) -> str:
    """The level that a directive is for; InputError where there is none, or it cannot have its loops."""
    # As Timeloop writes out the name of a container.
    target = target.removeprefix("inter_").removesuffix("_spatial")
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS, at)
    if kind == "spatial" and target not in SPATIAL:
        raise InputError(f"{at}: {target} is not spread over anything; expected {' or '.join(SPATIAL)}")
    if (
        kind == "temporal"
        and target in SPATIAL
        and any(last != 1 for last in map(max, read_factors(entry.get("factors", []), at, DIM_OF).values()))
    ):
        raise InputError(f"{at}: {target} has spatial loops only; the inner ones are at {INNER}")
    return target


def _refuse_bypass(entry: Table[str, Any], target: str, at: str) -> None:
    """L1, L2 and DRAM hold all tensors here, and `cluster_loops` none."""
    wrong = entry.get("keep") if target in (INNER, *SPATIAL) else entry.get("bypass")
    if wrong:
        holds = "no tensors" if target in (INNER, *SPATIAL) else "all three tensors"
        raise InputError(
            f"{at}: {target} holds {holds} on this machine, got {shorten(dict(entry))}; a machine of levels "
            "(cost model timeloop) has bypasses"
        )


def _mapping(
    counts: dict[str, Counts],
    orders: dict[str, tuple[str, ...]],
    where: str,
    layer: Layer,
    accelerator: Accelerator,
    architecture: Any,
) -> Mapping:
    inside: dict[str, list[tuple[int, int]]] = {
        dim: [counts[target][dim] for target in TARGETS] for dim in DIMS
    }
    for dim, size in layer.loops.items():
        found = _total(inside[dim])
        if found != size:
            raise InputError(f"{where}: the factors of {NAMES[dim]} make {found}, the layer has {size}")
    inner = {dim: _total(inside[dim][5:]) for dim in DIMS}
    outer = {dim: _total([(n, n) for n, _ in inside[dim][3:4]] + _rest(inside, dim)) for dim in DIMS}
    at_once = {target: max(count for count, _ in counts[target].values()) for target in SPATIAL}
    size = _cluster_size(architecture, where) or _smallest(accelerator, at_once, where)
    levels = []
    for target, spread, tiles in ((OUTER, CLUSTERS, outer), (INNER, PES, inner)):
        parallel = _parallel_loop(layer, counts[spread], orders[spread], f"{where}: {spread}")
        order = tuple(reversed(orders[target]))
        levels.append(Level(parallel, order, tuple(tiles[dim] for dim in DIMS)))
    return Mapping(levels[0], size, levels[1])


def _rest(inside: dict[str, list[tuple[int, int]]], dim: str) -> list[tuple[int, int]]:
    """The counts of PEs and tiles: with the last round's own only where no loop is outside."""
    whole = all(pair == (1, 1) for pair in inside[dim][:3])
    pes = inside[dim][4]
    return [pes if whole else (pes[0], pes[0]), *inside[dim][5:]]


def _total(pairs: list[tuple[int, int]]) -> int:
    """What loops within each other run through, outermost first, where the last round has its own count."""
    found = 1
    for count, last in pairs:
        found = (found - 1) * count + last
    return found


def _parallel_loop(layer: Layer, counts: Counts, order: tuple[str, ...], at: str) -> str:
    """The dim that is spread: the only one with a factor, else the first of the permutation."""
    spread = [dim for dim, (count, _) in counts.items() if count > 1]
    if len(spread) > 1:
        names = " and ".join(NAMES[dim] for dim in spread)
        raise InputError(f"{at} spreads {names}; here a level has one parallel dim")
    if not spread or (layer.type == "DSCONV" and order[0] == "K" and spread == ["C"]):
        return order[0]
    return spread[0]


def _cluster_size(architecture: Any, where: str) -> int | None:
    """The PEs of a cluster, by the architecture in the text or beside the file; None if there is none."""
    if architecture is None:
        file = re.search(r"'(.+)'", where)
        beside = Path(file[1]).parent / ARCHITECTURE if file else None
        if beside is None or not beside.is_file():
            return None
        there = f"file {str(beside)!r}"
        data = load(read_text(beside, there), there)
        architecture = data.get("architecture") if isinstance(data, Table) else None
    nodes = architecture.get("nodes") if isinstance(architecture, Table) else None
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, Table) and node.get("name") == PES and isinstance(node.get("spatial"), Table):
            mesh = [node["spatial"].get(name, 1) for name in ("meshX", "meshY")]
            if all(isinstance(count, int) and count > 0 for count in mesh):
                return int(mesh[0] * mesh[1])
    raise InputError(f"{where}: its architecture lacks a container {PES!r} with spatial meshX or meshY")


def _smallest(accelerator: Accelerator, at_once: dict[str, int], where: str) -> int:
    for size in accelerator.cluster_sizes:
        if size >= at_once[PES] and accelerator.num_pes // size >= at_once[CLUSTERS]:
            return size
    raise InputError(
        f"{where}: {at_once[CLUSTERS]} clusters of {at_once[PES]} PEs are more than {accelerator.num_pes} PEs"
    )
