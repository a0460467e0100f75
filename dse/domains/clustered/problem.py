"""A problem: one layer on one accelerator, the mappings allowed, and what to minimise under which model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.core.cost_model import Detail
from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model, cost_models
from dse.core.evaluations import Criteria, Evaluations
from dse.core.figures import BUFFERS, CostBatch
from dse.core.layer import Layer
from dse.core.limits import read_limits, words_of
from dse.core.names import naming_line
from dse.core.objective import canonical_objective, objectives_under, parse_objectives
from dse.core.problem import SharedMembers
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.domains.clustered.cases import case_line
from dse.domains.clustered.cost_model import CostModel, PriceRows, adapted
from dse.domains.clustered.limits import FIGURES, MM2, Use
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.space.mapping_space import SPACE, MappingSpace, SpaceField
from dse.domains.clustered.space.parts import PES, Parts
from dse.domains.clustered.templates import TEMPLATES
from dse.domains.clustered.widths import as_counted, in_elements, refuse_unpriced
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError, shorten, unknown
from dse.support.validation import positive_number

if TYPE_CHECKING:
    from dse.core.evaluation import Evaluation, Explanation
    from dse.domains.clustered.feasibility import FeasibilityRules


@dataclass(frozen=True)
class Problem(SharedMembers):
    """A layer x an accelerator x a mapping space x an objective x a cost model.

    `space`, `tiles` and `fixed` shape the space (see MappingSpace). `cost_model` is a model in words (see
    `dse.core.cost_models.cost_model`), a function as `dse.models.outside.python` prices by,
    or a model: every row that is priced goes through that object, so a wrapper sees and counts them all.
    """

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

    templates: ClassVar[tuple[str, ...]] = tuple(TEMPLATES)
    """The known dataflows that can be fitted to it."""
    shows_detail: ClassVar[bool] = False
    """Whether what figures are made of is shown unasked."""

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
            return adapted(self.cost_model)
        found = cost_model(self.cost_model)
        if not isinstance(found, CostModel):
            able = ", ".join(cost_models(CostModel.domain))
            raise InputError(f"cost model {found.name!r} prices no mappings of two levels; expected {able}")
        return found

    def price(self, genes: IntArray) -> Evaluations:
        """What the points in `genes`, int64 (n, genes) and inside the space, cost, and their losses."""
        return self._priced(self.space.decode(genes))

    def evaluate(self, mappings: Mapping | MappingBatch) -> Evaluations:
        """What a mapping, or each of a batch, costs, whether or not it is in the space.

        One that brings no machine is for the accelerator, or the nearest whose figures the space has.
        Infeasible ones get a reason. `evaluate(...).to_frame()` is a table of them.
        """
        batch = MappingBatch.of([mappings]) if isinstance(mappings, Mapping) else mappings
        return (self if batch.machines is not None else self._on_nearest)._priced(batch)

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> Problem:
        """The problem on the accelerator that one of its points (genes,) is for.

        It is this one unless genes say what the hardware is.
        """
        if not self.parts.hardware:
            return self
        return replace(self, accelerator=self.space.machine(np.asarray(genes, np.int64)))

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The figures of the hardware that one point (genes,) says, `num_pes 64, l1_size 256`; or nothing."""
        figures = self.on_machine_of(genes).accelerator.to_dict()
        return ", ".join(f"{name} {figures[name]:,}" for name in self.parts.figures)

    @cached_property
    def _on_nearest(self) -> Problem:
        """Itself, or, where genes say the hardware, on the nearest: mappings without any are for that."""
        nearest = self.space.nearest
        return self if nearest == self.accelerator else replace(self, accelerator=nearest)

    def vectors(self, mappings: Sequence[Mapping]) -> IntArray:
        """The gene vectors of mappings: (n, genes). InputError for one that is none, or not in the space."""
        for place, mapping in enumerate(mappings):
            if not isinstance(mapping, Mapping):
                raise InputError(f"mapping {place} must be a Mapping, got {shorten(mapping)}")
        return self._on_nearest.space.encode(MappingBatch.of(mappings))

    def read_mapping(self, data: object, where: str = "mapping") -> Mapping:
        """The mapping in parsed JSON; `where` names the place in messages."""
        return Mapping.from_dict(data, where)

    def template(self, name: str) -> Mapping:
        """A known dataflow (see `dse.domains.clustered.templates`), fitted to the layer as it is priced."""
        if name not in TEMPLATES:
            raise unknown("template", name, TEMPLATES)
        return TEMPLATES[name](self.priced_layer, self.space.nearest, output_halo=self.model.output_halo)

    def explain(self, mapping: Mapping) -> str:
        """Why the mapping is not feasible, with figures ("L1 needs 4096 of 512 elements"), or "feasible"."""
        from dse.domains.clustered.evaluation import explain

        return explain(self, mapping)

    def explanation(self, mapping: Mapping | None) -> Explanation:
        """Why a mapping, or with None every mapping, is not feasible, and the smallest change that helps."""
        from dse.domains.clustered.explaining import explain_mapping, explain_space

        return explain_space(self) if mapping is None else explain_mapping(self, mapping)

    def find_mapping(self, name: str) -> Mapping:
        """The template of that name, or the mapping in a file: JSON, MAESTRO's text, Timeloop's YAML."""
        from dse.domains.clustered.formats.registry import mapping_in_file

        if name in TEMPLATES:
            return self.template(name)
        return mapping_in_file(name, self.layer, self.accelerator, self.templates)

    def export(self, kind: str, mapping: Mapping, folder: Path) -> tuple[list[Path], list[str]]:
        """Write a mapping in a format into the folder: the files, and what the format has no words for."""
        from dse.domains.clustered.formats.registry import export

        return export(kind, self.layer, self.accelerator, mapping, folder), []

    def notations(self, mapping: Mapping) -> dict[str, str]:
        """The mapping in the notations of other programs, by their names."""
        from dse.domains.clustered.formats import dataflow_text

        return {"maestro": next(iter(dataflow_text.write(self.layer, self.accelerator, mapping).values()))}

    @property
    def naming(self) -> str:
        """How mapping files, genes and --fix name the dims of a matrix product; empty of any other layer."""
        return naming_line(self.layer)

    @property
    def opened(self) -> tuple[str | None, Table[str, Sequence[float]]]:
        """The space's name, if it has one, and the figures of the accelerator that are open besides."""
        return self.parts.opened()

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        """The figures of the accelerator that are genes."""
        return tuple(name for name, _ in self.parts.hardware)

    @property
    def options(self) -> dict[str, Any]:
        """What shapes the space, as plain data: see `AnyProblem`."""
        return {
            "tiles": self.tiles,
            "fixed": dict(self.fixed),
            **({} if self.parts.name == "default" else {"parts": self.parts.to_dict()}),
            **({} if self.area_budget is None else {"area_budget": self.area_budget}),
            **({"limits": list(self.limits)} if self.limits else {}),
        }

    def nest(self, mapping: Mapping) -> str:
        """The mapping as a nest of loops (see `dse.domains.clustered.nest`)."""
        from dse.domains.clustered.nest import loop_nest

        return loop_nest(self.layer, mapping, self.accelerator, self.model)

    def needs(self, mapping: Mapping) -> str:
        """What the buffers have to hold, in words."""
        figures = self.evaluate(mapping)
        return f"L1 {figures.l1_size[0]:,} and L2 {figures.l2_size[0]:,} {self.accelerator.unit}"

    def judge(self, mapping: Mapping) -> Evaluation:
        """The mapping judged in full, by every objective (see `dse.domains.clustered.evaluation`)."""
        from dse.domains.clustered.evaluation import evaluate

        return evaluate(self, mapping)

    def case(self, mapping: Mapping) -> dict[str, Any]:
        """The mapping as a case (see `cases`) that costs the same, of the layer priced."""
        if self.model.prices_strides:
            return case_line(self.layer, mapping, self.accelerator, whole=True)
        # Where more than the PEs is open, the case says what the buffers and the clock are too.
        whole = bool(set(self.parts.figures) - {PES})
        return case_line(self.layer.lowered(), mapping, self.accelerator, whole=whole)

    def detail(self, mapping: Mapping) -> Detail | None:
        """What the mapping's figures are made of; None if it is not valid or the model does not say."""
        return self.model.detail(self.layer, self.accelerator, mapping) if self.model.explains else None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that defines the problem, as plain data. Layers count by their loops, not by their names."""
        loops = {"type": self.layer.type, **self.layer.loops}
        return {
            "layer": self.layer.to_dict() if self.model.prices_strides else loops,
            "accelerator": self.accelerator.figures,
            "space": self.space.identity,
            "objective": self.objective,
            "cost_model": self.model.identity,
            **({"area": "of what the mapping needs"} if self._needs_area else {}),
            **({} if self.area_budget is None else {"area_budget": self.area_budget}),
            **({"limits": list(self.limits)} if self.limits else {}),
        }

    def _priced(self, batch: MappingBatch) -> Evaluations:
        return self.judged(batch, self.price_rows(batch.rows, batch.machines))

    def judged(self, batch: MappingBatch, costs: CostBatch) -> Evaluations:
        """The losses of a batch that costs so much, and why some of it is not feasible."""
        rows, machines = batch.rows, batch.machines
        if self._needs_area:
            costs = replace(costs, area=self.needed_area(batch, costs))
        losses, reasons = self.rules.judge(rows, costs, machines)
        for reason, refused in self._refused(batch, costs):
            refused &= reasons == 0
            losses[refused], reasons[refused] = np.inf, reason
        columns: list[Any] = [*costs.values(), losses, reasons, self._criteria_on(machines)]
        return Evaluations(*columns)

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
        from dse.domains.clustered.feasibility import FeasibilityRules

        trusted = self.model.name * (not self.model.refuses_below_floors)
        return FeasibilityRules(self.layer, self.accelerator, self.objective, trusted)
