"""What a problem's mappings cost, and which of them count: all of a Problem but words and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dse.core.cost_model import Detail, PricesNothing
from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model, cost_models
from dse.core.evaluations import Criteria, Evaluations
from dse.core.figures import BUFFERS, CostBatch
from dse.core.layer import Layer
from dse.core.limits import read_limits, words_of
from dse.core.objective import canonical_objective, objectives_under, parse_objectives
from dse.core.problem import SharedMembers
from dse.core.reasons import FIRST_RULE, Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.domains.clustered.cost_model import CostModel, PriceRows, adapted_model
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.limits import FIGURES, MM2, Use
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.space.mapping_space import SPACE, MappingSpace, SpaceField
from dse.domains.clustered.space.parts import Parts
from dse.domains.clustered.widths import as_counted, in_elements, refuse_unpriced
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError
from dse.support.validation import positive_number


@dataclass(frozen=True)
class PricedProblem(SharedMembers):
    """The fields of a Problem, what they make, and the prices of its mappings."""

    layer: Layer
    accelerator: Accelerator
    objective: str = "latency"
    cost_model: str | CostModel | Callable[..., Any] = DEFAULT_COST_MODEL
    tiles: str = "factors"
    fixed: Table[str, Any] = field(default_factory=dict, hash=False)
    space: SpaceField = SPACE
    """Given as the name of a space, a table of its parts, or Parts; it is the space that these make of the
    layer and accelerator: the mappings to choose from, as vectors of genes."""
    area_budget: float | None = None
    """In mm2: a mapping that needs PEs and buffers of more area is not feasible."""
    limits: str | Sequence[str] = ()
    """Such as `l2_use <= 0.8`, see `dse.domains.clustered.limits`: what breaks one is not feasible."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", canonical_objective(self.objective))
        object.__setattr__(self, "fixed", dict(self.fixed))
        object.__setattr__(self, "limits", words_of(read_limits(self.limits, FIGURES)))
        if isinstance(self.accelerator, Accelerator):
            object.__setattr__(self, "accelerator", self.accelerator.of_widths(self.layer.bits))
        # The space and the model are made now, so that what is wrong with them is said now.
        _ = self.space, self.model
        refuse_unpriced(self.model, self.accelerator)
        objectives_under(self.objective, self.model.name)
        if self.area_budget is not None:
            object.__setattr__(self, "area_budget", positive_number(self.area_budget, "area budget"))
            if self.model.units.get("area") not in MM2:
                raise InputError(f"cost model {self.model.name!r} does not say what its areas are in mm2")

    @property
    def parts(self) -> Parts:
        """What the space is put together from."""
        parts: Parts = self.__dict__["_parts"]
        return parts

    def make_space(self) -> MappingSpace:
        """What `space` is."""
        parts = as_counted(self.parts, self.accelerator)
        return MappingSpace(self.priced_layer, self.accelerator, self.tiles, self.fixed, parts)

    @cached_property
    def model(self) -> CostModel:
        """The cost model."""
        if not isinstance(self.cost_model, str):
            return adapted_model(self.cost_model)
        found = cost_model(self.cost_model)
        if not isinstance(found, CostModel):
            able = ", ".join(cost_models(CostModel.domain))
            raise InputError(f"cost model {found.name!r} prices no mappings of two levels; expected {able}")
        return found

    def price(self, genes: IntArray) -> Evaluations:
        """What the points in `genes`, int64 (n, genes) and inside the space, cost, and their losses."""
        return self._priced(self.space.decode(genes))

    def free(self, genes: IntArray) -> BoolArray | None:
        """Which points are refused at no cost (see `CostModel.free`); None where all are samples."""
        if not self.model.frees_misfits:
            return None
        return self.model.free(self.priced_layer, self.accelerator, self.space.decode(genes))

    def counters(self, genes: IntArray) -> list[dict[str, float]]:
        """What the cost model has counted itself of points (n, genes) that were priced: a table each.

        They are empty of others, and where genes say what the hardware is.
        """
        if self.parts.hardware:
            return [{} for _ in genes]
        return self.model.counters(self.priced_layer, self.accelerator, self.space.decode(genes))

    def refusals(self, genes: IntArray) -> list[str]:
        """Why the cost model has refused points (n, genes), in words of its own; see `counters`."""
        if self.parts.hardware or not self.model.outside:
            return [""] * len(genes)
        return self.model.refusals(self.priced_layer, self.accelerator, self.space.decode(genes))

    def evaluate(self, mappings: Mapping | MappingBatch) -> Evaluations:
        """What a mapping, or each of a batch, costs, whether or not it is in the space.

        One that brings no machine is for the accelerator, or the nearest whose figures the space has.
        Infeasible ones get a reason. `evaluate(...).to_frame()` is a table of them.
        """
        batch = MappingBatch.of([mappings]) if isinstance(mappings, Mapping) else mappings
        return (self if batch.machines is not None else self._on_nearest)._priced(batch)

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> Self:
        """The problem on the accelerator that one of its points (genes,) is for.

        It is this one unless genes say what the hardware is.
        """
        if not self.parts.hardware:
            return self
        return replace(self, accelerator=self.space.machine(np.asarray(genes, np.int64)))

    @cached_property
    def _on_nearest(self) -> Self:
        """Itself, or, where genes say the hardware, on the nearest: mappings without any are for that."""
        nearest = self.space.nearest
        return self if nearest == self.accelerator else replace(self, accelerator=nearest)

    def explain(self, mapping: Mapping) -> str:
        """Why the mapping is not feasible, with figures ("L1 needs 4096 of 512 elements"), or "feasible"."""
        batch, model = MappingBatch.of([mapping]), self.model
        costs = self.price_rows(batch.rows)
        judged = self.judged(batch, costs)
        reason = Reason(int(judged.reason[0]))
        if reason is Reason.AREA_TOO_LARGE:
            area = judged.area[0] * MM2[model.units["area"]]
            return f"the mapping needs {area:.6g} of {self.area_budget:g} mm2"
        if reason is Reason.BEYOND_LIMIT:
            return self.use.why(batch, costs)
        refused = (
            ""
            if costs.valid[0] or reason >= FIRST_RULE
            else model.refusal(self.priced_layer, self.accelerator, mapping)
        )
        return refused or self.rules.explain(batch.rows[0], costs)

    def detail(self, mapping: Mapping) -> Detail | None:
        """What the mapping's figures are made of; None if it is not valid or the model does not say."""
        return self.model.detail(self.layer, self.accelerator, mapping) if self.model.explains else None

    def _priced(self, batch: MappingBatch) -> Evaluations:
        return self.judged(batch, self.price_rows(batch.rows, batch.machines))

    def judged(self, batch: MappingBatch, costs: CostBatch) -> Evaluations:
        """The losses of a batch that costs so much, and why some of it is not feasible."""
        rows, machines = batch.rows, batch.machines
        self._refuse_unknown_energy(costs)
        if self._needs_area:
            costs = replace(costs, area=self.needed_area(batch, costs))
        losses, reasons = self.rules.judge(rows, costs, machines)
        for reason, refused in self._refused(batch, costs):
            refused &= reasons == 0
            losses[refused], reasons[refused] = np.inf, reason
        columns: list[Any] = [*costs.values(), losses, reasons, self._criteria_on(machines)]
        return Evaluations(*columns)

    def _refuse_unknown_energy(self, costs: CostBatch) -> None:
        """InputError where energies count, and what prices has said none."""
        if not self.model.outside or "energy_nj" not in self._columns:
            return
        if (costs.valid & (costs.energy_nj == 0)).any():
            raise PricesNothing(
                f"cost model {self.model.spec} says no energy_nj, of which objective {self.objective!r} is "
                "made: minimise latency, or have it say an energy"
            )

    @cached_property
    def _columns(self) -> set[str]:
        """The columns of costs that the objective is made of."""
        return {each.column for one in parse_objectives(self.objective) for each in one.figures.values()}

    def _refused(self, batch: MappingBatch, costs: CostBatch) -> Iterator[tuple[Reason, BoolArray]]:
        """What breaks the area's budget, and what the limits."""
        if self.area_budget is not None:
            yield Reason.AREA_TOO_LARGE, costs.area * MM2[self.model.units["area"]] > self.area_budget
        if self.limits:
            yield Reason.BEYOND_LIMIT, self.use.broken(batch, costs)

    @cached_property
    def _needs_area(self) -> bool:
        """Whether the area is that of the hardware that a mapping needs, and not the model's own column."""
        return self.area_budget is not None or any(one.of_need for one in parse_objectives(self.objective))

    def needed_area(self, batch: MappingBatch, costs: CostBatch) -> FloatArray:
        """The area of the hardware that each of some priced mappings needs, in the model's unit."""
        own = np.array([self.accelerator.machine_row], dtype=np.int64)
        machines = own if batch.machines is None else batch.machines
        needs = in_elements(costs, self.accelerator)
        return self.model.needed_area(self.priced_layer, machines, batch.rows, needs)

    @cached_property
    def criteria(self) -> Criteria:
        """What figures are judged by."""
        capacities = np.array(self.use.room, np.int64)
        capacities.setflags(write=False)
        own = None if self._shares_criteria else self._criteria_of
        return Criteria(self.objective, self.accelerator.hertz, capacities, own)

    @property
    def _shares_criteria(self) -> bool:
        """Whether all points have the same buffers and the same clock."""
        return not {*BUFFERS, "clock_ghz"} & self.parts.figures.keys()

    def _criteria_of(self, genes: IntArray) -> Criteria:
        return self._criteria_on(self.space.decode(genes).machines)

    def _criteria_on(self, machines: IntArray | None) -> Criteria:
        """What figures are judged by on the machines (n, figures) of n points."""
        if machines is None or self._shares_criteria:
            return self.criteria
        capacities = self.use.rooms(machines)
        clocked = "clock_ghz" in self.parts.figures
        hertz = figure_column(machines, "clock_ghz") * 1e9 if clocked else self.criteria.hertz
        return Criteria(self.objective, hertz, capacities)

    @cached_property
    def use(self) -> Use:
        """What the limits leave of the accelerator."""
        return Use(read_limits(self.limits, FIGURES), self.layer, self.accelerator)

    @cached_property
    def price_rows(self) -> PriceRows:
        """What rows of mappings cost, before they are judged."""
        return self.model.prepared(self.priced_layer, self.accelerator)

    @property
    def priced_layer(self) -> Layer:
        """The layer as the cost model takes it: lowered, unless it prices strides."""
        return self.layer if self.model.prices_strides else self.layer.lowered()

    @cached_property
    def rules(self) -> FeasibilityRules:
        """What else is not feasible, whatever the limits."""
        trusted = self.model.name * (not self.model.refuses_below_floors)
        return FeasibilityRules(self.layer, self.accelerator, self.objective, trusted)
