"""Cases under `loopnest`: rows that each bring a layer and a machine of their own, priced as written.

A padding is a padding, a stride a stride. Buffers of any size hold any mapping; their sizes count for area
and leakage alone. Where a case does not give them, the machine has the buffers that the mapping needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dse.core.figures import CostBatch
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cases import layer_of, machine_of
from dse.domains.clustered.cost_model import CaseExtras
from dse.domains.clustered.widths import in_elements
from dse.support.arrays import IntArray
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest


def cost_cases(
    model: LoopNest, layers: IntArray, hardware: IntArray, rows: IntArray, extras: CaseExtras | None
) -> CostBatch:
    """See `LoopNest.price_cases`; one row of `layers` or `hardware` serves all mappings."""
    layers, hardware = (np.broadcast_to(part, (len(rows), part.shape[1])) for part in (layers, hardware))
    extras = extras or CaseExtras.none(len(rows))
    costs = CostBatch.zeros(len(rows))
    for places in _alike(layers, hardware, extras):
        first = int(places[0])
        reason = Reason.BAD_LAYER
        try:
            layer = layer_of(layers[first], extras, first)
            reason = Reason.BAD_HARDWARE
            machine = machine_of(hardware[first], extras, first)
        except InputError:
            costs.reason[places] = reason
            continue
        found = model.prepared(layer, machine)(rows[places])
        for name, column in costs.columns().items():
            column[places] = getattr(found, name)
        if not extras.capacities[first].all():
            wide = machine.of_widths(layer.bits)
            _fit_buffers(model, wide, extras.capacities[first], costs, places[found.valid])
    return costs


def _fit_buffers(
    model: LoopNest, machine: Accelerator, capacities: IntArray, costs: CostBatch, places: IntArray
) -> None:
    """Area and power of a machine whose unknown buffers are as large as each mapping needs."""
    needs = in_elements(costs, machine)
    l1, l2 = (
        capacity or need[places]
        for capacity, need in zip(capacities.tolist(), (needs.l1_size, needs.l2_size), strict=True)
    )
    area = model.constants.area_of(machine.num_pes, machine.simd_lanes, l1, l2)
    dynamic = costs.energy_nj[places] * 1e3 * machine.clock_ghz / costs.cycles[places]
    costs.area[places] = area
    costs.power[places] = dynamic + area * model.constants.leakage_mw_per_mm2


def _alike(layers: IntArray, hardware: IntArray, extras: CaseExtras) -> Iterator[IntArray]:
    """The places of the cases that share a layer and a machine, group by group."""
    if not len(layers):
        return
    clocks = extras.clocks[:, np.newaxis].view(np.int64)
    others = (extras.paddings, extras.dilations, extras.capacities, extras.bits)
    columns = np.hstack([layers, hardware, *others, clocks])
    _, group, sizes = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    yield from np.split(order, np.cumsum(sizes)[:-1])
