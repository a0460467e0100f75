"""One mapping onto a machine of levels judged in full: its figures, every objective, where the cycles go."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.core.cost_model import Detail
from dse.core.evaluation import BufferUse, Evaluation, Line, buffer_line
from dse.core.objective import OBJECTIVES, parse_objectives
from dse.core.reasons import Reason
from dse.domains.levels.mapping import HierarchyMapping

if TYPE_CHECKING:
    from dse.domains.levels.problem import MachineProblem


@dataclass(frozen=True)
class LevelsBreakdown:
    """What the levels with a capacity hold, in words or bits, and where the cycles go.

    `ideal_cycles` are the layer's MACs on all MACs of the machine, `busy_pes` the share of these that works,
    `bound` is compute or a level's name.
    """

    levels: dict[str, BufferUse]
    ideal_cycles: int
    utilisation: float
    busy_pes: float
    bound: str
    unit: str = "words"

    @property
    def held(self) -> dict[str, BufferUse]:
        """The levels by name."""
        return self.levels

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of it, as a table shows it."""
        ideal = f"{self.ideal_cycles:,} cycles on all MACs at once"
        return (
            *(buffer_line(name, use, self.unit) for name, use in self.levels.items()),
            Line("utilisation", f"{self.utilisation:.1%}", ideal),
            Line("busy PEs", f"{self.busy_pes:.1%}", "of the MACs, in every step"),
        )


def evaluate(problem: MachineProblem, mapping: HierarchyMapping) -> Evaluation:
    """Price a mapping and judge it by every objective; its figures are those of a case, by level too."""
    priced = problem.evaluate(mapping)
    feasible = bool(priced.reason[0] == 0)
    named = {name: column.tolist()[0] for name, column in priced.figures().items()}
    hertz, own = problem.accelerator.hertz, parse_objectives(problem.objective)
    ours = [one for one in OBJECTIVES.values() if one.adds_up]
    losses = {one.name: float(one.value(priced, hertz)[0]) if feasible else None for one in (*ours, *own)}
    line = json.dumps(problem.case(mapping))
    (found,) = problem.model.price_lines([("mapping", line)], detail=True)
    whole = {**named, **found, "status": "ok" if feasible else "invalid"}
    reason, detail = None if feasible else problem.explain(mapping), problem.detail(mapping)
    _, wide = problem.space.measure(problem.space.layout.encode([mapping]))
    busy = int(wide[0].prod()) / problem.accelerator.macs
    breakdown = _breakdown(problem, detail, found["utilization"], busy) if detail else None
    return Evaluation(whole, feasible, reason, losses, breakdown, detail)


def explain(problem: MachineProblem, mapping: HierarchyMapping) -> str:
    """Why the mapping is not feasible, with figures, or "feasible"."""
    rows = problem.space.layout.encode([mapping])
    reason = Reason(int(problem.price_rows(rows).reason[0]))
    words, wide = (figures[0].tolist() for figures in problem.space.measure(rows))
    levels, unit = problem.accelerator.levels, problem.accelerator.unit
    if reason is Reason.BEYOND_LIMIT:
        return problem.use.why(words, wide)
    for place, level in enumerate(levels):
        least = int(problem.space.least_spread[place])
        if reason is Reason.LEVEL_TOO_SMALL and words[place] > (level.capacity or words[place]):
            return f"{level.name} needs {words[place]} of {level.capacity} {unit}"
        if reason is Reason.TOO_WIDE and wide[place] > level.fan_out:
            return f"{level.name} spreads over {wide[place]} of {level.fan_out} instances"
        if reason is Reason.TOO_NARROW and wide[place] < least:
            return f"{level.name} spreads over {wide[place]} instances; {least} are asked for"
    return reason.text


def _breakdown(
    problem: MachineProblem, detail: Detail, utilisation: float, busy_pes: float
) -> LevelsBreakdown:
    capacities = {level.name: level.capacity for level in problem.accelerator.levels}
    return LevelsBreakdown(
        levels={
            name: BufferUse.of(sum(tiles.values()), capacity)
            for name, tiles in detail.buffers.items()
            if (capacity := capacities[name]) is not None
        },
        ideal_cycles=-(-problem.layer.macs // problem.accelerator.macs),
        utilisation=utilisation,
        busy_pes=busy_pes,
        bound=detail.bound,
        unit=problem.accelerator.unit,
    )
