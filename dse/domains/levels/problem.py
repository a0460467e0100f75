"""A problem on a machine of any number of levels: its mappings, what is minimised, and by which model."""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dse.core.cost_model import Detail
from dse.core.cost_models import cost_model, cost_models
from dse.core.evaluation import Evaluation, Explanation
from dse.core.evaluations import Criteria, Evaluations
from dse.core.figures import CostBatch
from dse.core.hardware import FIGURE_PREFIX
from dse.core.layer import Layer
from dse.core.limits import read_limits, words_of
from dse.core.names import naming_line, refused_with
from dse.core.objective import OBJECTIVES, canonical_objective, parse_objectives
from dse.core.problem import SharedMembers
from dse.core.reasons import Reason
from dse.domains.levels.cost_model import LevelsCostModel, PriceRows
from dse.domains.levels.formats import export_levels, read_mapping_file, refuse_format
from dse.domains.levels.judging import (
    LevelsBreakdown,
    LevelsUse,
    PriceEach,
    criteria_of,
    figures_of,
    find_misfits,
    needs_of,
    refuse_objectives,
)
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import EVEN, Machine
from dse.domains.levels.mapping import HierarchyMapping, levels_of, read_mapping
from dse.domains.levels.nest import machine_case, machine_nest
from dse.domains.levels.space.batch import UNLIMITED, HierarchyBatch
from dse.domains.levels.space.chains import note_foreign_spreads
from dse.domains.levels.space.open_space import OpenSpace
from dse.domains.levels.space.opened import NOTHING, SIZE, read_opened
from dse.domains.levels.space.space import HierarchySpace
from dse.domains.levels.templates import TEMPLATES, make_template
from dse.domains.levels.uneven import straightened_nest, with_nests
from dse.domains.levels.workload import DIM_NAMES
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten

AT_ONCE = 1024
"""Points that are priced at a time: so many rows, a kilobyte each for nine levels, stay in a core's cache."""


@dataclass(frozen=True)
class MachineProblem(SharedMembers):
    """A layer x a machine of any number of levels x its mappings x an objective x a cost model.

    `accelerator` is the machine, `tiles` are "factors" or "any", `fixed` has constraints: see
    `space/constraints.py`. Of the words that its levels need, the `l2_size` of what is priced is those of the
    outermost level with a capacity; `l1_size` is those of the fullest other, in words of the largest of them.
    """

    layer: Layer
    accelerator: Machine
    objective: str = "latency"
    cost_model: str | LevelsCostModel = "timeloop"
    tiles: str = "factors"
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    parts: Any = NOTHING
    """The figures of the machine that are genes: given as `read_opened` reads them, kept as Opened."""
    area_budget: float | None = None
    limits: str | Sequence[str] = ()
    """Texts such as `Buffer_use <= 0.5`, see `dse.domains.levels.judging`: what else is not feasible."""

    templates: ClassVar[tuple[str, ...]] = TEMPLATES
    shows_detail: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.accelerator, Machine):
            raise InputError(f"cost model {self.cost_model!r} needs a machine of levels, as from a TOML file")
        fixed = dict(self.fixed)
        nests = fixed.pop("nests", None)
        machine = self.accelerator if nests is None else with_nests(self.accelerator, nests)
        object.__setattr__(self, "accelerator", machine.of_widths(self.layer.bits))
        object.__setattr__(self, "parts", read_opened(self.parts).of_machine(self.accelerator))
        if self.area_budget is not None:
            raise InputError(f"cost model {self.model.name!r} says nothing of area, which has a budget")
        object.__setattr__(self, "objective", canonical_objective(self.objective))
        refuse_objectives(self.objective, self.model.name)
        object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "limits", words_of(self.use.limits))
        with refused_with(self.naming if fixed else ""):
            _ = self.space, self.model  # Made now, so that what is wrong with them is said now.
        note_foreign_spreads(machine, self.space.workload)

    @cached_property
    def use(self) -> LevelsUse:
        """What the limits leave of the machine."""
        return LevelsUse(read_limits(self.limits, figures_of(self.accelerator)), self.accelerator)

    @cached_property
    def space(self) -> HierarchySpace:
        """The mappings to choose from, as vectors of genes, with figures of the machine that are open."""
        if self.parts.choices:
            space: Any = OpenSpace(self.layer, self.accelerator, self.fixed, self.parts, self.tiles)
            return space
        return HierarchySpace(self.layer, self.accelerator, self.fixed, self.tiles)

    @cached_property
    def model(self) -> LevelsCostModel:
        found = cost_model(self.cost_model) if isinstance(self.cost_model, str) else self.cost_model
        if not isinstance(found, LevelsCostModel):
            able = ", ".join(cost_models(LevelsCostModel.domain))
            raise InputError(f"cost model {found.name!r} prices no machines of levels; expected {able}")
        return found

    @property
    def opened(self) -> tuple[str, Mapping[str, Sequence[float]]]:
        """There is one space, and the figures of the machine that are open besides."""
        return "default", self.parts.figures

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        return tuple(self.parts.figures)

    @property
    def options(self) -> dict[str, Any]:
        parts = {"parts": self.parts.to_dict()} if self.parts.choices else {}
        limits = {"limits": list(self.limits)} if self.limits else {}
        return {"tiles": self.tiles, "fixed": self.space.identity["fixed"], **parts, **limits}

    @property
    def naming(self) -> str:
        return naming_line(self.layer, DIM_NAMES)

    def price(self, genes: IntArray) -> Evaluations:
        if len(genes) <= AT_ONCE:
            batch = self.space.decode(genes)
            return self.price_rows(batch.rows, batch.choices)
        first, *others = (self.price(genes[at : at + AT_ONCE]) for at in range(0, len(genes), AT_ONCE))
        return first.joined(*others)

    def evaluate(self, mappings: HierarchyMapping | HierarchyBatch) -> Evaluations:
        if isinstance(mappings, HierarchyMapping):
            return self.price_rows(self.rows_of([mappings]))
        return self.price_rows(mappings.rows, mappings.choices)

    def rows_of(self, mappings: Sequence[HierarchyMapping]) -> RowArray:
        """Mappings as rows that can be priced, with lengths where one has tiles that need not divide."""
        layout, sizes = self.space.layout, tuple(self.space.workload.sizes.values())
        ragged = any(mapping.is_ragged for mapping in mappings)
        return (replace(layout, sizes=sizes) if ragged else layout).encode(mappings)

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> MachineProblem:
        if not self.parts.choices:
            return self
        space: Any = self.space
        choices = space.decode(np.asarray(genes, np.int64)[np.newaxis]).choices
        return replace(self, accelerator=space.machine_of(choices[0]))

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The figures that one point (genes,) says: `levels.Buffer.size 64`; or nothing."""
        named = self.space.decode(np.asarray(genes, np.int64)[np.newaxis]).named()
        return ", ".join(f"{name} {named[FIGURE_PREFIX + name][0]:,}" for name in self.parts.figures)

    def explain(self, mapping: HierarchyMapping) -> str:
        rows = self.rows_of([mapping])
        reason = Reason(int(self.price_rows(rows).reason[0]))
        words, wide = (figures[0].tolist() for figures in self.space.measure(rows))
        unit = self.accelerator.unit
        if reason is Reason.BEYOND_LIMIT:
            return self.use.why(words, wide)
        for place, level in enumerate(self.accelerator.levels):
            least = int(self.space.least_spread[place])
            if reason is Reason.LEVEL_TOO_SMALL and words[place] > (level.room or words[place]):
                return f"{level.name} needs {words[place]} of {level.room} {unit}"
            if reason is Reason.TOO_WIDE and wide[place] > level.fan_out:
                return f"{level.name} spreads over {wide[place]} of {level.fan_out} instances"
            if reason is Reason.TOO_NARROW and wide[place] < least:
                return f"{level.name} spreads over {wide[place]} instances; {least} are asked for"
        return reason.text

    def judge(self, mapping: HierarchyMapping) -> Evaluation:
        """Its figures are those of a case, by level too."""
        priced, machine = self.evaluate(mapping), self.accelerator
        feasible = bool(priced.reason[0] == 0)
        named = {name: column.tolist()[0] for name, column in priced.figures().items()}
        ours = [one for one in OBJECTIVES.values() if one.adds_up]
        losses = {
            one.name: float(one.value(priced, machine.hertz)[0]) if feasible else None
            for one in (*ours, *parse_objectives(self.objective))
        }
        line = json.dumps(self.case(mapping))
        (found,) = self.model.price_lines([("mapping", line)], detail=True)
        whole = {**named, **found, "status": "ok" if feasible else "invalid"}
        reason, detail = None if feasible else self.explain(mapping), self.detail(mapping)
        breakdown = None
        if detail:
            _, wide = self.space.measure(self.rows_of([mapping]))
            macs, used = self.layer.macs, int(wide[0].prod())
            breakdown = LevelsBreakdown.of(machine, macs, detail, found["utilization"], used)
        return Evaluation(whole, feasible, reason, losses, breakdown, detail)

    def case(self, mapping: HierarchyMapping) -> dict[str, Any]:
        return machine_case(self.space.workload, self.accelerator, mapping)

    def vectors(self, mappings: Sequence[HierarchyMapping]) -> IntArray:
        for place, mapping in enumerate(mappings):
            if not isinstance(mapping, HierarchyMapping):
                raise InputError(f"mapping {place} must be a HierarchyMapping, got {shorten(mapping)}")
        return self.space.encode(list(mappings))

    def read_mapping(self, data: object, where: str = "mapping") -> HierarchyMapping:
        layout = self.space.layout
        return read_mapping(levels_of(data, where), layout.dims, layout.tensors, where)

    def template(self, name: str) -> HierarchyMapping:
        if self.accelerator.even:
            even = self.with_changes(fixed={**self.fixed, "nests": EVEN}).template(name)
            return straightened_nest(self.accelerator, even)
        orders = [level.orders for level in self.space.levels]
        return make_template(name, self.space.workload, self.accelerator, self.use.rooms, orders)

    def nest(self, mapping: HierarchyMapping) -> str:
        return machine_nest(self.layer, self.space.workload, self.accelerator, mapping)

    def explanation(self, mapping: HierarchyMapping | None) -> Explanation:
        raise InputError(
            f"dse explain is of two levels, cost model {self.model.name!r} of any number: dse evaluate "
            "--mapping says what does not fit, dse certify whether anything does, --what-if what limits it"
        )

    def find_mapping(self, name: str) -> HierarchyMapping:
        """The mapping in a file: JSON, Timeloop's or ZigZag's YAML, or its text, `L1[WIO] K4 - ...`."""
        if not (Path(name).suffix or os.path.exists(name)):
            return self.template(name)
        return read_mapping_file(name, self)

    def export(self, kind: str, mapping: HierarchyMapping, folder: Path) -> tuple[list[Path], list[str]]:
        return export_levels(kind, self, mapping, folder)

    def refuse_format(self, kind: str) -> None:
        refuse_format(kind, self)

    def notations(self, mapping: HierarchyMapping) -> dict[str, str]:
        return {}

    def needs(self, mapping: HierarchyMapping) -> str:
        """The words that the levels have to hold, of those that there are, in words."""
        words, _ = self.space.measure(self.rows_of([mapping]))
        held = [
            f"{level.name} {count:,}"
            for level, count in zip(self.accelerator.levels, words[0].tolist(), strict=True)
            if level.capacity is not None and count
        ]
        return f"{', '.join(held)} {self.accelerator.unit}" if held else "no level of limited size in use"

    def detail(self, mapping: HierarchyMapping) -> Detail | None:
        """What the mapping's figures are made of, level by level; None if it has no price."""
        return self.model.detail(self.layer, self.accelerator, mapping)

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.to_dict(),
            "space": self.space.identity,
            "objective": self.objective,
            "cost_model": self.model_spec,
            **({"limits": list(self.limits)} if self.limits else {}),
        }

    @cached_property
    def criteria(self) -> Criteria:
        """What figures are judged by: see the class for what its capacities are."""
        shared = criteria_of(self.objective, self.accelerator.hertz, self._capacities(None))
        return shared if self._shares_criteria else replace(shared, own=self._criteria_of)

    @property
    def _shares_criteria(self) -> bool:
        """Whether all points have levels of the same sizes."""
        return all(figure != SIZE for _, figure, _ in self.parts.choices)

    def _criteria_of(self, genes: IntArray) -> Criteria:
        return self._criteria_on(self.space.decode(genes).choices)

    def _criteria_on(self, choices: IntArray | None) -> Criteria:
        """What figures are judged by on the hardware of some choices (n, figures)."""
        if choices is None or self._shares_criteria:
            return self.criteria
        return criteria_of(self.objective, self.accelerator.hertz, self._capacities(choices), each=True)

    @cached_property
    def _limited(self) -> IntArray:
        """The levels with a capacity, the outermost first."""
        return np.flatnonzero(self.space.limits().words[0] != UNLIMITED)

    def _capacities(self, choices: IntArray | None) -> IntArray:
        """The capacities of the limited levels on the hardware of each of the choices, or on all."""
        capacities: IntArray = self.space.limits(choices).words[:, self._limited]
        return capacities

    @cached_property
    def _price_machine(self) -> PriceRows:
        # What does not fit is priced all the same: a search learns from it.
        return self.model.prepared(self.layer, self.accelerator.unlimited)

    @cached_property
    def _price_open(self) -> PriceEach:
        space: Any = self.space
        return PriceEach(self.model, self.layer, space)

    def price_rows(self, rows: RowArray, choices: IntArray | None = None) -> Evaluations:
        """What rows (n, columns) of the space's layout cost, and their losses.

        Where figures of the machine are open, `choices` (n, figures) say the hardware of each; without them
        it is the nearest to the accelerator.
        """
        costs = self._price_open(rows, choices) if self.parts.choices else self._price_machine(rows)
        words, wide = self.space.measure(rows)
        reasons = find_misfits(costs.reason, words, wide, self.space.limits(choices), self.use)
        held, capacities = words.T[self._limited].T, self._capacities(choices)
        losses = self._losses(costs)
        reasons[(reasons == 0) & np.isinf(losses)] = Reason.OVER_CAP
        inner, outer = needs_of(held, capacities)
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
            criteria=self._criteria_on(choices),
        )

    def _losses(self, costs: CostBatch) -> Any:
        """The values of the objective; NaN of several, which have no loss."""
        first, *others = parse_objectives(self.objective)
        return np.nan if others else first.value(costs, self.accelerator.hertz)
