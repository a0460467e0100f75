"""One mapping judged in full: its costs, whether it is feasible, every objective, and where the cycles go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.core.evaluation import BufferUse, Evaluation, Line, buffer_line
from dse.core.layer import Layer
from dse.core.objective import objectives_of, objectives_under
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cases import results
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Mapping, MappingBatch

COMPUTE, DATA = "compute", "data movement"


@dataclass(frozen=True)
class Breakdown:
    """Where the buffers and the cycles of a mapping go.

    `ideal_cycles` are the layer's MACs on all PEs and lanes, `busiest_pe_cycles` the steps of the mapping's
    busiest PE, and the cycles beyond are spent waiting for data. `utilisation` is ideal over actual cycles,
    and the product of `busy_pes` (ideal over busiest) and `busy_time` (busiest over actual). `bound` says
    on what most cycles go: compute or data movement, which a model that tells them apart calls NoC or DRAM.
    """

    l1: BufferUse
    l2: BufferUse
    ideal_cycles: int
    busiest_pe_cycles: int
    utilisation: float
    busy_pes: float
    busy_time: float
    bound: str

    @property
    def held(self) -> dict[str, BufferUse]:
        """The buffers by name."""
        return {"L1 per PE": self.l1, "L2": self.l2}

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of it, as a table shows it."""
        ideal = f"{self.ideal_cycles:,} cycles on all PEs at once"
        return (
            buffer_line("L1", self.l1, "elements per PE"),
            buffer_line("L2", self.l2, "elements"),
            Line("utilisation", f"{self.utilisation:.1%}", ideal),
            Line("busy PEs", f"{self.busy_pes:.1%}", f"{self.busiest_pe_cycles:,} cycles on the busiest PE"),
            Line("busy time", f"{self.busy_time:.1%}", f"the rest waits for data; bound by {self.bound}"),
        )


def evaluate(
    layer: Layer, accelerator: Accelerator, mapping: Mapping, priced_by: CostModel, objective: str = "latency"
) -> Evaluation:
    """Price `mapping` of `layer` under a cost model; no mapping raises.

    There is a loss by each objective that has a name, and by `objective`, which may be a product or several.
    """
    batch = MappingBatch.of([mapping])
    priced = layer if priced_by.prices_strides else layer.lowered()
    costs = priced_by.evaluate(priced, accelerator, batch)
    rules = FeasibilityRules(layer, accelerator, "latency")
    _, reasons = rules.judge(batch.rows, costs)
    feasible = bool(reasons[0] == 0)
    machines = np.array([accelerator.machine_row], dtype=np.int64)
    needed = replace(costs, area=priced_by.needed_area(priced, machines, batch.rows, costs))
    named, own = objectives_of(priced_by.name), objectives_under(objective, priced_by.name)
    losses = {
        one.name: float(one.value(needed if one.of_need else costs, accelerator.hertz)[0])
        if feasible
        else None
        for one in (*named.values(), *own)
    }
    figures = next(results(costs))
    breakdown = detail = None
    if figures["status"] == "ok":
        busiest = int(rules.serial_floors(batch.rows)[0])
        detail = priced_by.detail(layer, accelerator, mapping) if priced_by.explains else None
        breakdown = _breakdown(layer, accelerator, figures, busiest, detail.bound if detail else None)
    refused = "" if costs.valid[0] else priced_by.refusal(priced, accelerator, mapping)
    reason = None if feasible else refused or rules.explain(batch.rows[0], costs)
    return Evaluation(figures, feasible, reason, losses, breakdown, detail)


def _breakdown(
    layer: Layer, accelerator: Accelerator, figures: dict[str, Any], busiest: int, bound: str | None
) -> Breakdown:
    cycles = figures["cycles"]
    ideal = -(-layer.macs // (accelerator.num_pes * accelerator.simd_lanes))
    return Breakdown(
        l1=BufferUse.of(figures["l1_size"], accelerator.l1_size),
        l2=BufferUse.of(figures["l2_size"], accelerator.l2_size),
        ideal_cycles=ideal,
        busiest_pe_cycles=busiest,
        utilisation=ideal / cycles,
        busy_pes=ideal / busiest,
        busy_time=busiest / cycles,
        bound=bound or (COMPUTE if 2 * busiest >= cycles else DATA),
    )
