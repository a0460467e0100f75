"""A problem: one layer on one accelerator, the mappings allowed, and what to minimise under which model."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from dse.core.evaluation import Evaluation, Explanation
from dse.core.names import naming_line
from dse.domains.clustered import formats
from dse.domains.clustered.cases import case_line
from dse.domains.clustered.evaluation import evaluate_mapping
from dse.domains.clustered.explaining import explain_mapping, explain_space
from dse.domains.clustered.formats import dataflow_text
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.nest import loop_nest
from dse.domains.clustered.pricing import PricedProblem
from dse.domains.clustered.space.parts import PES
from dse.domains.clustered.templates import TEMPLATES
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name


class Problem(PricedProblem):
    """A layer x an accelerator x a mapping space x an objective x a cost model.

    `space`, `tiles` and `fixed` shape the space (see MappingSpace). `cost_model` is a model in words (see
    `dse.core.cost_models.cost_model`), a function as `dse.models.outside.python` prices by,
    or a model: every row that is priced goes through that object, so a wrapper sees and counts them all.
    """

    templates: ClassVar[tuple[str, ...]] = tuple(TEMPLATES)
    """The known dataflows that can be fitted to it."""
    shows_detail: ClassVar[bool] = False
    """Whether what figures are made of is shown unasked."""

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The figures of the hardware that one point (genes,) says, `num_pes 64, l1_size 256`; or nothing."""
        figures = self.on_machine_of(genes).accelerator.to_dict()
        return ", ".join(f"{name} {figures[name]:,}" for name in self.parts.figures)

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
            raise unknown_name("template", name, TEMPLATES)
        return TEMPLATES[name](self.priced_layer, self.space.nearest, output_halo=self.model.output_halo)

    def explanation(self, mapping: Mapping | None) -> Explanation:
        """Why a mapping, or with None every mapping, is not feasible, and the smallest change that helps."""
        return explain_space(self) if mapping is None else explain_mapping(self, mapping)

    def find_mapping(self, name: str) -> Mapping:
        """The template of that name, or the mapping in a file: JSON, MAESTRO's text, Timeloop's YAML."""
        if name in TEMPLATES:
            return self.template(name)
        return formats.mapping_in_file(name, self.layer, self.accelerator, self.templates)

    def export(self, kind: str, mapping: Mapping, folder: Path) -> tuple[list[Path], list[str]]:
        """Write a mapping in a format into the folder: the files, and what the format has no words for."""
        return formats.export_mapping(kind, self.layer, self.accelerator, mapping, folder), []

    def refuse_format(self, kind: str) -> None:
        """InputError for what the format can say of no mapping, whatever genes say of the hardware."""
        if "simd_lanes" not in self.hardware_genes:
            formats.refuse_format(kind, self.accelerator)

    def notations(self, mapping: Mapping) -> dict[str, str]:
        """The mapping in the notations of other programs, by their names."""
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
        return loop_nest(self.layer, mapping, self.accelerator, self.model)

    def needs(self, mapping: Mapping) -> str:
        """What the buffers have to hold, in words."""
        figures = self.evaluate(mapping)
        return f"L1 {figures.l1_size[0]:,} and L2 {figures.l2_size[0]:,} {self.accelerator.unit}"

    def judge(self, mapping: Mapping) -> Evaluation:
        """The mapping judged in full, by every objective (see `dse.domains.clustered.evaluation`)."""
        return evaluate_mapping(self, mapping)

    def case(self, mapping: Mapping) -> dict[str, Any]:
        """The mapping as a case (see `cases`) that costs the same, of the layer priced."""
        if self.model.prices_strides:
            return case_line(self.layer, mapping, self.accelerator, whole=True)
        # Where more than the PEs is open, the case says what the buffers and the clock are too.
        whole = bool(set(self.parts.figures) - {PES})
        return case_line(self.layer.lowered(), mapping, self.accelerator, whole=whole)

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
