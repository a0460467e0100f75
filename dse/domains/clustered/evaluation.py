"""One mapping judged in full: its costs, whether it is feasible, every objective, and where the cycles go."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dse.core.cost_model import Detail
from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model
from dse.core.layer import Layer
from dse.core.objective import objectives_of, objectives_under
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cases import results
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Mapping, MappingBatch

COMPUTE, DATA = "compute", "data movement"


@dataclass(frozen=True)
class BufferUse:
    """Elements that a mapping needs of a buffer, of those that there are; `use` is the share."""

    needed: int
    capacity: int
    use: float


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


@dataclass(frozen=True)
class LevelsBreakdown:
    """The same of a mapping onto a machine of levels: the words that its levels with a capacity hold.

    `ideal_cycles` are the layer's MACs on all MACs of the machine, `bound` is compute or a level's name.
    """

    levels: dict[str, BufferUse]
    ideal_cycles: int
    utilisation: float
    bound: str

    @property
    def held(self) -> dict[str, BufferUse]:
        """The levels by name."""
        return self.levels


@dataclass(frozen=True)
class Evaluation:
    """What a mapping costs (`figures`, as a case's result), and what that is worth.

    `loss` is by objective, in its unit, and None where the mapping is not `feasible`; `reason` says why it
    is not. Without costs there is no `breakdown`, and a `detail` from models that have one only.
    """

    figures: dict[str, Any]
    feasible: bool
    reason: str | None
    loss: dict[str, float | None]
    breakdown: Breakdown | LevelsBreakdown | None
    detail: Detail | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: the figures, `feasible`, `reason`, `loss` and `breakdown`.

        The breakdown holds the detail's parts, where there is one: `cycles`, `energy_nj`, `words`, `buffers`,
        and of a machine of levels `tensors` and `leakage_nj`.
        """
        detail = asdict(self.detail) if self.detail else {}
        parts = {**asdict(self.breakdown), **detail} if self.breakdown else None
        return {
            **self.figures,
            "reason": self.reason,
            "feasible": self.feasible,
            "loss": self.loss,
            "breakdown": parts,
        }


def evaluate(
    layer: Layer,
    accelerator: Accelerator,
    mapping: Mapping,
    model: str = DEFAULT_COST_MODEL,
    objective: str = "latency",
) -> Evaluation:
    """Price `mapping` of `layer` under the cost model `model`; no mapping raises.

    There is a loss by each objective that has a name, and by `objective`, which may be a product or several.
    """
    batch, priced_by = MappingBatch.of([mapping]), cost_model(model)
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
        detail = priced_by.detail(layer, accelerator, mapping)
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
        l1=buffer_use(figures["l1_size"], accelerator.l1_size),
        l2=buffer_use(figures["l2_size"], accelerator.l2_size),
        ideal_cycles=ideal,
        busiest_pe_cycles=busiest,
        utilisation=ideal / cycles,
        busy_pes=ideal / busiest,
        busy_time=busiest / cycles,
        bound=bound or (COMPUTE if 2 * busiest >= cycles else DATA),
    )


def buffer_use(needed: int, capacity: int) -> BufferUse:
    """So many elements of those that there are."""
    return BufferUse(needed, capacity, needed / capacity)
