"""The machine `edge` and mappings onto it as `timeloop` has them."""

from __future__ import annotations

from collections.abc import Sequence

from dse.core.layer import Layer
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import nest
from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping
from dse.models.loopnest import Constants
from experiments.comparisons.mappings import MACHINE

EVERYTHING = ("W", "I", "O")
NAMES = {"K": "K", "C": "C", "Y": "P", "X": "Q", "R": "R", "S": "S"}
"""The dims as machines of levels have them."""


def levels_of(cluster_size: int) -> Machine:
    """The machine with clusters of that many PEs, as `timeloop` knows machines."""
    costs = Constants()
    link, noc = Bandwidth(shared=MACHINE.offchip_bandwidth), Bandwidth(shared=MACHINE.noc_bandwidth)
    clusters = MACHINE.num_pes // cluster_size
    l2, l1 = Energy.of_any(costs.l2_pj), Energy.of_any(costs.l1_pj)
    return Machine(
        "edge",
        (
            Level("DRAM", keeps=EVERYTHING, bandwidth=link, energy=Energy.of_any(costs.dram_pj)),
            Level("L2", MACHINE.l2_size, clusters, EVERYTHING, bandwidth=noc, energy=l2),
            Level("Cluster", fan_out=cluster_size),
            Level("L1", MACHINE.l1_size, keeps=EVERYTHING, energy=l1),
        ),
        costs.mac_pj,
        clock_ghz=MACHINE.clock_ghz,
    )


def by_levels(layer: Layer, mapping: Mapping) -> HierarchyMapping | None:
    """The mapping as `timeloop` has it; None where tiles do not divide, or PEs idle."""
    loops = nest(layer, MACHINE, mapping)
    if not (loops.divides and loops.even):
        return None
    channel = {"K": "C"} if layer.type == "DSCONV" else {}
    outer_parallel, inner_parallel = (
        channel.get(level.parallel, level.parallel) for level in (mapping.outer, mapping.inner)
    )
    pieces = {
        dim: layer.loops[dim] // (loops.outer[dim] * min(mapping.outer[dim], layer.loops[dim]))
        for dim in loops.outer
    }

    def ordered(order: Sequence[str], counts: dict[str, int]) -> tuple[tuple[str, int], ...]:
        return tuple((NAMES[dim], counts[dim]) for dim in order if counts.get(dim, 1) > 1)

    across = pieces[outer_parallel]
    inside = round(loops.pes[inner_parallel] / (across if inner_parallel == outer_parallel else 1))
    spread_inside = ordered((inner_parallel,), {inner_parallel: inside})
    return HierarchyMapping(
        (
            LevelMapping(EVERYTHING, ordered(mapping.outer.order, loops.outer)),
            LevelMapping(EVERYTHING, (), ordered((outer_parallel,), {outer_parallel: across})),
            LevelMapping((), ordered(mapping.inner.order, loops.inner), spread_inside),
            LevelMapping(EVERYTHING, ordered("KCYXRS", {**loops.tile, "R": layer.R, "S": layer.S})),
        )
    )
