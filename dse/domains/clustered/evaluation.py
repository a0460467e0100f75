"""One mapping judged in full: its costs, whether it is feasible, every objective, and where the cycles go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dse.core.evaluation import BufferUse, Evaluation, Line, buffer_line
from dse.core.layer import Layer
from dse.core.objective import objectives_of, objectives_under
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cases import case_results
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.pricing import PricedProblem

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
    unit: str = "elements"

    @property
    def held(self) -> dict[str, BufferUse]:
        """The buffers by name."""
        return {"L1 per PE": self.l1, "L2": self.l2}

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of it, as a table shows it."""
        ideal = f"{self.ideal_cycles:,} cycles on all PEs at once"
        return (
            buffer_line("L1", self.l1, f"{self.unit} per PE"),
            buffer_line("L2", self.l2, self.unit),
            Line("utilisation", f"{self.utilisation:.1%}", ideal),
            Line("busy PEs", f"{self.busy_pes:.1%}", f"{self.busiest_pe_cycles:,} cycles on the busiest PE"),
            Line("busy time", f"{self.busy_time:.1%}", f"the rest waits for data; bound by {self.bound}"),
        )


def evaluate_mapping(problem: PricedProblem, mapping: Mapping) -> Evaluation:
    """Price `mapping` under the problem's cost model and judge it by its rules; no mapping raises.

    There is a loss by each objective with a name, and by the problem's, which may be a product or several.
    """
    layer, accelerator, model = problem.layer, problem.accelerator, problem.model
    batch = MappingBatch.of([mapping])
    costs = model.evaluate(problem.priced_layer, accelerator, batch)
    feasible = bool(problem.judged(batch, costs).reason[0] == 0)
    needed = replace(costs, area=problem.needed_area(batch, costs))
    # Who measures time alone says no energy: it is 0 then.
    said = bool(costs.energy_nj[0] > 0)
    named, own = objectives_of(model.name), objectives_under(problem.objective, model.name)
    losses = {
        one.name: float(one.value(needed if one.of_need else costs, accelerator.hertz)[0])
        if feasible and (said or "energy" not in one.figures)
        else None
        for one in (*named.values(), *own)
    }
    figures = next(case_results(costs))
    breakdown = detail = None
    if figures["status"] == "ok":
        busiest = int(FeasibilityRules(layer, accelerator, "latency").serial_floors(batch.rows)[0])
        detail = problem.detail(mapping)
        breakdown = _breakdown(layer, accelerator, figures, busiest, detail.bound if detail else None)
    reason = None if feasible else problem.explain(mapping)
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
        unit=accelerator.unit,
    )
