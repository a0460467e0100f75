"""Where the cycles, the energy and the words of one mapping go, level by level."""

from __future__ import annotations

import math

from dse.core.cost_model import Detail
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Workload
from dse.models.timeloop import reference
from dse.models.timeloop.latency import ACCESSES, Counts, kept_together, latency_of, level_cycles

COMPUTE, MACS = "compute", "MACs"


def break_down(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> Detail | None:
    """The breakdown; None where the mapping has no price."""
    costs = reference.evaluate_mapping(workload, machine, mapping)
    if isinstance(costs, reference.NotPriced):
        return None
    steps = costs.steps
    tensors, leakage = {}, {}
    buffers: dict[str, dict[str, int]] = {}
    cycles, latency = {COMPUTE: steps}, latency_of(workload, machine, costs.counts, steps)
    for place, (level, instances) in enumerate(zip(machine.levels, machine.instances, strict=True)):
        kept = costs.counts.get(level.name, {})
        stored = kept_together(machine, costs.counts, place)
        if stored:
            buffers[level.name] = {name: counts.tile * counts.bits for name, counts in stored.items()}
        took = level_cycles(level, stored, steps, hidden=True)
        if machine.waits:
            took = math.ceil(latency.least[level.name])
        if took:
            cycles[level.name] = int(took)
        tensors[level.name] = {
            name: _tensor(level, counts, min(counts.instances, instances / level.cluster))
            for name, counts in kept.items()
        }
        if level.leak_pj:
            used = next((counts.instances for counts in stored.values()), 1)
            leakage[level.name] = level.leak_pj * costs.cycles * used * 1e-3
    return Detail(
        cycles=cycles,
        energy_nj={name: pj * 1e-3 for name, pj in costs.level_pj.items() if tensors[name] or pj}
        | {MACS: costs.mac_pj * 1e-3},
        words={
            level: {kind: sum(one.words(kind) * one.bits for one in kept.values()) for kind in ACCESSES}
            for level, kept in costs.counts.items()
            if kept
        },
        buffers=buffers,
        bound=max(cycles, key=lambda name: max(cycles[name], latency.waits.get(name, 0.0))),
        tensors={level: kept for level, kept in tensors.items() if kept},
        leakage_nj=leakage,
        overlapping=True,
        unit=machine.unit,
        waits={
            level.name: math.ceil(latency.waits[level.name])
            for level in machine.levels
            if latency.waits.get(level.name)
        },
    )


def _tensor(level: Level, counts: Counts, rows: float) -> dict[str, float]:
    """What one tensor does at a level, in all instances at work."""
    return {
        "instances": counts.instances,
        "tile": counts.tile,
        **{kind: counts.words(kind) for kind in ACCESSES},
        "energy_nj": sum(reference.accesses_pj(level, counts, rows)) * 1e-3,
    }
