"""A problem on a machine of any number of levels: its mappings, what is minimised, and by which model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.core.cost_model import CostModel
from dse.core.cost_models import hierarchy_model
from dse.core.evaluations import Criteria, Evaluations
from dse.core.objective import OBJECTIVES, parse_objectives
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping, read_mapping
from dse.domains.levels.space.batch import HierarchyBatch
from dse.domains.levels.space.space import HierarchySpace
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown

if TYPE_CHECKING:
    from dse.core.cost_model import LevelsDetail
    from dse.core.figures import CostBatch
    from dse.domains.clustered.evaluation import Evaluation, LevelsBreakdown

FIGURES = ("latency", "energy")
"""What there is to minimise: no model of hierarchies says anything of area or power."""

AT_ONCE = 1024
"""Points that are priced at a time: so many rows, a kilobyte each for nine levels, stay in a core's cache."""


@dataclass(frozen=True)
class MachineProblem(Problem):
    """A layer x a machine of any number of levels x its mappings x an objective x a cost model.

    All that uses problems takes it as one. `accelerator` is the machine, `tiles` are factors, and `fixed`
    holds constraints: see `dse.domains.levels.space.constraints`. Of the words that its levels need, the
    `l2_size` of what is priced is those of the outermost level with a capacity; `l1_size` is those of the
    fullest of the others, in words of the largest of them.
    """

    accelerator: Machine  # type: ignore[assignment]

    templates: ClassVar[tuple[str, ...]] = ()
    """Known dataflows are of two levels."""

    def __post_init__(self) -> None:
        if not isinstance(self.accelerator, Machine):
            raise InputError(f"cost model {self.cost_model!r} needs a machine of levels, as from a TOML file")
        if self.tiles != "factors":
            raise unknown("tiles", self.tiles, ("factors",))
        if self.parts.name != "default":
            raise InputError(f"under cost model {self.model.name!r} the machine says what the space is")
        if self.area_budget is not None:
            raise InputError(f"cost model {self.model.name!r} says nothing of area, which has a budget")
        self._refuse_objectives()
        super().__post_init__()

    def _refuse_objectives(self) -> None:
        for one in parse_objectives(self.objective):
            lacking = [figure for figure in one.exponents if figure not in FIGURES]
            if lacking:
                raise InputError(
                    f"objective {one.name!r} has no figures under cost model {self.model.name!r}, which says "
                    f"nothing of {lacking[0]}; expected {' or '.join(FIGURES)}, or a "
                    "product of their powers such as 'edp'"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return MachineProblem, tuple(getattr(self, item.name) for item in fields(self))

    if TYPE_CHECKING:
        space: HierarchySpace = ...  # type: ignore[assignment]

    def make_space(self) -> HierarchySpace:  # type: ignore[override]
        """What `space` is: the mappings to choose from, as vectors of genes."""
        return HierarchySpace(self.layer, self.accelerator, self.fixed)

    @cached_property
    def model(self) -> CostModel:
        """The cost model."""
        given = self.cost_model
        return given if isinstance(given, CostModel) else hierarchy_model(str(given))

    def price(self, genes: IntArray) -> Evaluations:
        """What the points in `genes`, int64 (n, genes) and inside the space, cost, and their losses."""
        if len(genes) <= AT_ONCE:
            return self.price_rows(self.space.decode(genes).rows)
        first, *others = (self.price(genes[at : at + AT_ONCE]) for at in range(0, len(genes), AT_ONCE))
        return first.joined(*others)

    def evaluate(self, mappings: HierarchyMapping | HierarchyBatch) -> Evaluations:  # type: ignore[override]
        """What a mapping, or each of a batch, costs, whether or not it is in the space."""
        if isinstance(mappings, HierarchyMapping):
            return self.price_rows(self.space.layout.encode([mappings]))
        return self.price_rows(mappings.rows)

    def explain(self, mapping: HierarchyMapping) -> str:  # type: ignore[override]
        """Why the mapping is not feasible, with figures, or "feasible"."""
        rows = self.space.layout.encode([mapping])
        reason = Reason(int(self.price_rows(rows).reason[0]))
        words, wide = (figures[0].tolist() for figures in self.space.measure(rows))
        levels = self.accelerator.levels
        for place, level in enumerate(levels):
            least = int(self.space.least_spread[place])
            if reason is Reason.LEVEL_TOO_SMALL and words[place] > (level.capacity or words[place]):
                return f"{level.name} needs {words[place]} of {level.capacity} words"
            if reason is Reason.TOO_WIDE and wide[place] > level.fan_out:
                return f"{level.name} spreads over {wide[place]} of {level.fan_out} instances"
            if reason is Reason.TOO_NARROW and wide[place] < least:
                return f"{level.name} spreads over {wide[place]} instances; {least} are asked for"
        return reason.text

    def batch(self, mapping: HierarchyMapping) -> HierarchyBatch:  # type: ignore[override]
        """The mapping as a batch of one."""
        layout = self.space.layout
        return HierarchyBatch(layout.encode([mapping]), layout, self.accelerator)

    def judge(self, mapping: HierarchyMapping) -> Evaluation:  # type: ignore[override]
        """The mapping judged by every objective; its figures are those of a case, by level with them."""
        from dse.domains.clustered.evaluation import Evaluation

        priced = self.evaluate(mapping)
        feasible = bool(priced.reason[0] == 0)
        named = {name: column.tolist()[0] for name, column in priced.figures().items()}
        hertz, own = self.accelerator.hertz, parse_objectives(self.objective)
        ours = [one for one in OBJECTIVES.values() if one.adds_up]
        losses = {one.name: float(one.value(priced, hertz)[0]) if feasible else None for one in (*ours, *own)}
        line = json.dumps(self.case(mapping))
        (found,) = self.model.price_lines([("mapping", line)], detail=True)
        whole = {**named, **found, "status": "ok" if feasible else "invalid"}
        reason, detail = None if feasible else self.explain(mapping), self.detail(mapping)
        breakdown = self._breakdown(detail, found["utilization"]) if detail else None
        return Evaluation(whole, feasible, reason, losses, breakdown, detail)

    def _breakdown(self, detail: LevelsDetail, utilisation: float) -> LevelsBreakdown:
        from dse.domains.clustered.evaluation import LevelsBreakdown, buffer_use

        capacities = {level.name: level.capacity for level in self.accelerator.levels}
        return LevelsBreakdown(
            levels={
                name: buffer_use(sum(tiles.values()), capacity)
                for name, tiles in detail.buffers.items()
                if (capacity := capacities[name]) is not None
            },
            ideal_cycles=-(-self.layer.macs // self.accelerator.macs),
            utilisation=utilisation,
            bound=detail.bound,
        )

    def case(self, mapping: HierarchyMapping) -> dict[str, Any]:  # type: ignore[override]
        """The mapping as a case that costs the same: layer, hardware and mapping."""
        from dse.domains.levels.cases import machine_case

        return machine_case(self.space.workload, self.accelerator, mapping)

    def vectors(self, mappings: Sequence[HierarchyMapping]) -> IntArray:  # type: ignore[override]
        """The gene vectors of mappings: (n, genes). InputError for one that is none, or not in the space."""
        for place, mapping in enumerate(mappings):
            if not isinstance(mapping, HierarchyMapping):
                raise InputError(f"mapping {place} must be a HierarchyMapping, got {shorten(mapping)}")
        return self.space.encode(list(mappings))

    def read_mapping(self, data: object, where: str = "mapping") -> HierarchyMapping:  # type: ignore[override]
        """The mapping in parsed JSON; `where` names the place in messages."""
        layout = self.space.layout
        data = data["levels"] if isinstance(data, dict) and "levels" in data else data
        return read_mapping(data, layout.dims, layout.tensors, where)

    def template(self, name: str) -> Any:
        """InputError: there are none."""
        raise InputError(f"template {name!r} is of two levels; cost model {self.model.name!r} has none")

    def nest(self, mapping: HierarchyMapping) -> str:  # type: ignore[override]
        """The mapping as a nest of loops."""
        from dse.domains.levels.nest import machine_nest

        return machine_nest(self.layer, self.space.workload, self.accelerator, mapping)

    def needs(self, mapping: HierarchyMapping) -> str:  # type: ignore[override]
        """The words that the levels have to hold, of those that there are, in words."""
        words, _ = self.space.measure(self.space.layout.encode([mapping]))
        held = [
            f"{level.name} {count:,}"
            for level, count in zip(self.accelerator.levels, words[0].tolist(), strict=True)
            if level.capacity is not None and count
        ]
        return f"{', '.join(held)} words" if held else "no limited level in use"

    def detail(self, mapping: HierarchyMapping) -> LevelsDetail | None:  # type: ignore[override]
        """What the mapping's figures are made of, level by level; None if it has no price."""
        return self.model.machine_detail(self.layer, self.accelerator, mapping)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that defines the problem, as plain data."""
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.to_dict(),
            "space": self.space.identity,
            "objective": self.objective,
            "cost_model": self.model_spec,
        }

    @cached_property
    def criteria(self) -> Criteria:
        """What figures are judged by: see the class for what its capacities are."""
        capacities = np.array([words for words in self._capacities if words is not None], np.int64)
        capacities.setflags(write=False)
        return Criteria(self.objective, self.accelerator.hertz, capacities)

    @cached_property
    def _limited(self) -> IntArray:
        """The levels with a capacity, the outermost first."""
        levels = enumerate(self.accelerator.levels)
        return np.array([place for place, level in levels if level.capacity is not None], dtype=np.int64)

    @cached_property
    def _limits(self) -> IntArray:
        """The capacities of the limited levels."""
        return np.array([self.accelerator.levels[place].capacity for place in self._limited], dtype=np.int64)

    @cached_property
    def _capacities(self) -> tuple[int | None, int | None]:
        sizes = self._limits.tolist()
        if len(sizes) < 2:
            return (sizes[0] if sizes else None), None
        return max(sizes[1:]), sizes[0]

    @cached_property
    def _price_machine(self) -> Any:
        # What does not fit is priced all the same: a search learns from it.
        return self.model.prepared_machine(self.layer, self.accelerator.unlimited)

    def price_rows(self, rows: RowArray) -> Evaluations:
        """What rows (n, columns) of the space's layout cost, and their losses."""
        costs: CostBatch = self._price_machine(rows)
        words, wide = self.space.measure(rows)
        reasons = costs.reason.copy()
        held = words.T[self._limited].T
        overfull = (held > self._limits).any(axis=1)
        narrow = (wide < self.space.least_spread).any(axis=1)
        reasons[(reasons == 0) & overfull] = Reason.LEVEL_TOO_SMALL
        reasons[(reasons == 0) & narrow] = Reason.TOO_NARROW
        losses = self._losses(costs)
        inner, outer = self._needs(held)
        return Evaluations(
            cycles=costs.cycles,
            energy_nj=costs.energy_nj,
            power=costs.power,
            area=costs.area,
            l1_size=np.where(costs.valid, inner, 0),
            l2_size=np.where(costs.valid, outer, 0),
            macs=costs.macs,
            loss=np.where(reasons == 0, losses, np.inf),
            reason=reasons,
            criteria=self.criteria,
        )

    def _losses(self, costs: CostBatch) -> Any:
        """The values of the objective; NaN of several, which have no loss."""
        first, *others = parse_objectives(self.objective)
        return np.nan if others else first.value(costs, self.accelerator.hertz)

    def _needs(self, held: IntArray) -> tuple[IntArray, IntArray]:
        """`l1_size` and `l2_size` of the words (n, limited levels) that those levels hold."""
        nothing = np.zeros(len(held), dtype=np.int64)
        if len(self._limited) < 2:
            return (held[:, 0] if len(self._limited) else nothing), nothing
        largest, words, capacities = self._capacities[0] or 1, held[:, 1:], np.maximum(self._limits[1:], 1)
        # In floats: words times a capacity may be more than 64 bits. Exact where it is near the limit.
        scaled = np.ceil(words.astype(np.float64) * largest / capacities)
        exact = np.where(words <= capacities, np.minimum(scaled, largest), scaled)
        return exact.max(axis=1).astype(np.int64), held[:, 0]
