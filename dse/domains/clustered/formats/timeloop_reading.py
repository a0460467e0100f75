"""Reading a Timeloop mapping of the machine that `dse.domains.clustered.formats.timeloop` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Any

from dse.core.directives import Counts, read_factors, read_order
from dse.core.directives import read_directives as directives
from dse.core.layer import DIMS, Layer
from dse.core.timeloop_problem import NAMES
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError, shorten, unknown
from dse.support.files import read_text
from dse.support.yaml_text import load

OUTER, CLUSTERS, INNER, PES, TILE = "DRAM", "cluster", "cluster_loops", "PE", "L1"
ARCHITECTURE = "timeloop-arch.yaml"
DIM_OF = {name: dim for dim, name in NAMES.items()}
TARGETS = (OUTER, "L2", CLUSTERS, INNER, PES, TILE)
SPATIAL = (CLUSTERS, PES)


def read_directives(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a YAML text, which may hold the architecture too; InputError where it says none.

    Without an architecture in the text, and none in `timeloop-arch.yaml` beside it, clusters are the smallest
    that the spatial factors fit into.
    """
    data = load(text, where)
    counts = {target: dict.fromkeys(DIMS, (1, 1)) for target in TARGETS}
    orders = dict.fromkeys(TARGETS, tuple(DIMS))
    for at, entry, named, kind in directives(data, where):
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
        raise unknown("target", target, TARGETS, at)
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
        parallel = _parallel(layer, counts[spread], orders[spread], f"{where}: {spread}")
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


def _parallel(layer: Layer, counts: Counts, order: tuple[str, ...], at: str) -> str:
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
