"""Accelerators with clusters as a domain: how its problems are made of what a user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dse.core.cost_model import Timed
from dse.core.cost_models import cost_model, models_with
from dse.core.layer import Layer
from dse.core.proofs import others_of
from dse.domains.clustered.accelerator import PRESETS, Accelerator, load_accelerator
from dse.domains.clustered.cases import price_cases, read_cases
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.figures import ClusteredFigures
from dse.domains.clustered.formats import FORMATS
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.prover import ClusteredProver
from dse.domains.clustered.space.genes import parse_fixed
from dse.domains.clustered.space.parts import Parts, read_parts, with_hardware
from dse.support.arrays import IntArray
from dse.support.errors import InputError


class Clustered:
    """The Domain of mappings of two levels of a layer onto an accelerator whose PEs form clusters."""

    name = "clustered"
    hardware_kind = "accelerators"
    formats: ClassVar[Mapping[str, str]] = {name: kind.meaning for name, kind in FORMATS.items()}
    case_figures: ClassVar[Mapping[str, str]] = {
        "cycles": "cycles",
        "macs": "MACs",
        "energy_nj": "energy",
        "l1_size": "L1",
        "l2_size": "L2",
    }
    hardware_figures = ClusteredFigures()
    proof_seconds = None
    proves_any_tiles = True
    calibration_module = "dse.domains.clustered.calibration"
    bench_hardware = ("edge",)

    def make_problem(
        self,
        layer: Layer,
        hardware: Any,
        objective: str,
        cost_model: Any,
        tiles: str,
        fixed: Mapping[str, Any],
        space: Any,
        area_budget: float | None,
    ) -> Problem:
        return Problem(layer, hardware, objective, cost_model, tiles, fixed, space, area_budget)

    def load_hardware(self, name: str, cost_model: Any) -> Accelerator:
        return load_accelerator(name)

    def hardware_from_dict(self, data: Any) -> Accelerator:
        return Accelerator.from_dict(data)

    def hardware(self) -> list[dict[str, Any]]:
        return [{"name": name, **one.to_dict(), "sentence": one.summary} for name, one in PRESETS.items()]

    def read_space(self, given: Any, hardware: Mapping[str, Any], where: str) -> Parts:
        return with_hardware(read_parts(given, where), hardware)

    def parse_fixed(self, texts: Iterable[str], space: Any) -> dict[str, Any]:
        """See Domain; a gene's value reads `outer.parallel=K`."""
        return dict(parse_fixed(texts, read_parts(space)))

    def price_cases(self, model: str, path: str, *, detail: bool) -> list[dict[str, Any]]:
        made = cost_model(model)
        if detail:
            raise InputError(f"--detail is of cases on machines of levels, not of cost model {model!r}")
        if not (made.prices_cases and isinstance(made, CostModel)):
            able = models_with("prices_cases")
            raise InputError(f"cost model {model!r} prices no cases; expected {' or '.join(able)}")
        return list(price_cases(made, read_cases(path)))

    def timed(self, problem: Problem, genes: IntArray) -> Timed:
        """See Domain; where each row has a machine of its own, there is one thread."""
        batch, model = problem.space.decode(genes), problem.model
        price = model.prepared(problem.priced_layer, problem.accelerator)
        rows, machines = batch.rows, batch.machines

        def single(place: int) -> object:
            alone = slice(place, place + 1)
            return price(rows[alone]) if machines is None else price(rows[alone], machines[alone])

        if machines is not None:
            return Timed(lambda threads: price(rows, machines), single, (1,))
        layer, accelerator = problem.priced_layer, problem.accelerator
        return Timed(
            lambda threads: model.evaluate(layer, accelerator, batch, threads=threads),
            single,
            others=others_of(model, problem, batch),
        )

    def prover(self, problem: Problem) -> ClusteredProver:
        return ClusteredProver(problem)
