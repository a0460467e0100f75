"""Machines of levels as a domain: how its problems are made of what a user names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

from dse.core.certificate import Certificate, Incumbent
from dse.core.clock import Clock
from dse.core.cost_model import AnyCostModel, Timed
from dse.core.cost_models import cost_model, cost_model_class, cost_models
from dse.core.evaluations import Evaluations
from dse.core.hardware_figures import CAPACITY, ENERGY, HALF, RATE, STRUCTURE, TWICE, HardwareFigure
from dse.core.layer import Layer
from dse.core.listed import Listed, Wanted
from dse.core.objective import refuse_several
from dse.core.proofs import others_of, proof_module
from dse.domains.levels.architecture import machine_as_written
from dse.domains.levels.checks import MAX_PJ
from dse.domains.levels.cost_model import LevelsCostModel
from dse.domains.levels.machine import MAX_INSTANCES, MAX_WORDS, UNEVEN, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.nests import nest_of
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.constraints import ALL, INNERMOST, ORDERS, UNDOMINATED
from dse.domains.levels.space.opened import (
    ACCESS,
    BANDWIDTHS,
    ENERGIES,
    LEAK,
    machine_with,
    read_opened,
    with_levels,
)
from dse.support.arrays import IntArray
from dse.support.case_lines import case_lines
from dse.support.errors import InputError, shorten

MOST_STACKS = 300
"""In which orders all levels may store tensors: of more, as where four levels on a chip keep all, proofs over
uneven nests take minutes to begin and gigabytes.
"""
WORD_BITS = 8


class LevelsFigures:
    """HardwareFigures: `levels.NAME.size` and the like, as in a machine's file.

    There are `fan_out`, `block`, `cluster`, bandwidths and energies. `access_pj` is the energy of an access
    of any kind, and `word_bits` is for `"by size"` alone.
    """

    def figures(self, hardware: Machine, model: AnyCostModel) -> Mapping[str, HardwareFigure]:
        found = {
            "mac_pj": HardwareFigure(ENERGY, hardware.mac_pj, 0, MAX_PJ, step=HALF),
            "clock_ghz": HardwareFigure(STRUCTURE, hardware.clock_ghz, 1e-6, 1e6),
        }
        for level in (hardware.even or hardware).levels:
            for name, figure in _of_level(level).items():
                found[f"levels.{level.name}.{name}"] = figure
        return found

    def formulas(self, model: AnyCostModel, word_bits: int) -> Mapping[str, Mapping[str, str]]:
        """None: nothing is published of levels in general."""
        return {"area_mm2": {}, "leakage_mw": {}}

    def with_figures(
        self, hardware: Machine, model: AnyCostModel, values: Mapping[str, float], name: str
    ) -> tuple[Machine, AnyCostModel]:
        return machine_with(hardware, values, name), model

    def price(self, problem: Any, mappings: Sequence[Any]) -> Evaluations:
        found: Evaluations = problem.price_rows(problem.rows_of(list(mappings)))
        return found

    def needs(self, problem: Any, mapping: Any) -> Mapping[str, int]:
        words, _ = problem.space.measure(problem.rows_of([mapping]))
        bits = problem.accelerator.stated is not None
        return {
            f"levels.{level.name}.size": level.halves * (-(-count // level.word_bits) if bits else count)
            for level, count in zip(problem.accelerator.levels, words[0].tolist(), strict=True)
            if level.capacity is not None
        }


def _of_level(level: Level) -> dict[str, HardwareFigure]:
    rates = {
        key: HardwareFigure(
            RATE,
            getattr(level.bandwidth, name),
            1e-9,
            1e15,
            step=TWICE,
            group=f"levels.{level.name} bandwidths",
        )
        for key, name in BANDWIDTHS.items()
    }
    energies = {
        key: HardwareFigure(
            ENERGY, getattr(level.energy, key), 0, MAX_PJ, step=HALF, group=f"levels.{level.name} energies"
        )
        for key in ENERGIES
    }
    front = f"levels.{level.name}."
    by_size = f"sram_pj({front}size / {front}block, {front}block * {front}word_bits)"
    return {
        "size": HardwareFigure(CAPACITY, level.capacity, 1, MAX_WORDS, whole=True, step=TWICE),
        # A single one below is no array that could be larger.
        "fan_out": HardwareFigure(
            STRUCTURE, level.fan_out, 1, MAX_INSTANCES, whole=True, step=TWICE if level.fan_out > 1 else None
        ),
        "block": HardwareFigure(STRUCTURE, level.block, 1, MAX_WORDS, whole=True),
        "cluster": HardwareFigure(STRUCTURE, level.cluster, 1, MAX_WORDS, whole=True),
        "word_bits": HardwareFigure(STRUCTURE, WORD_BITS, 1, 2**16, whole=True),
        **rates,
        **energies,
        ACCESS: HardwareFigure(ENERGY, None, 0, MAX_PJ, by_size=by_size),
        LEAK: replace(energies["read_pj"], own=level.leak_pj),
    }


class Levels:
    """The Domain of mappings of a layer onto a machine of any number of levels."""

    name = "levels"
    hardware_kind = "machines"
    formats: ClassVar[Mapping[str, str]] = {
        "json": "this framework's own",
        "nest": "the loops, to be read",
        "timeloop": "Timeloop v4: architecture, problem, mapping",
        "zigzag": "ZigZag: accelerator, workload, mapping",
    }
    case_figures: ClassVar[Mapping[str, str]] = {
        "cycles": "cycles",
        "energy_uj": "energy",
        "edp": "EDP J cycles",
        "utilization": "utilisation",
    }
    hardware_figures = LevelsFigures()
    proof_seconds = 60.0
    proves_any_tiles = False
    bench_hardware = ("gemmini", "eyeriss_like", "simba_like")

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
    ) -> MachineProblem:
        return MachineProblem(layer, hardware, objective, cost_model, tiles, fixed, space, area_budget)

    def load_hardware(self, name: str, cost_model: Any) -> Machine:
        return _model(cost_model).load_machine(name)

    def hardware_from_dict(self, data: Any) -> Machine:
        if not (isinstance(data, dict) and "levels" in data):
            raise InputError("accelerator: it has no levels, and the cost model is of machines that have")
        return machine_as_written(data, "machine")

    def hardware(self) -> list[dict[str, Any]]:
        """See Domain: the machines that come with the cost models."""
        return [
            {"name": name, "cost_model": model, "sentence": sentence}
            for model in cost_models(self.name)
            for name, sentence in _machines(model).items()
        ]

    def read_space(self, given: Any, hardware: Mapping[str, Any], where: str) -> Any:
        """See Domain: the machine says what the space is, but for figures of its levels that are open."""
        return with_levels(read_opened(given, where), hardware)

    def parse_fixed(self, texts: Iterable[str], space: Any) -> dict[str, Any]:
        """See Domain; a constraint reads `Buffer.keep=W`."""
        fixed: dict[str, Any] = {}
        for text in texts:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not (name and equals):
                raise InputError(
                    f"a constraint must read NAME=VALUE, like DRAM.temporal.K=4, got {shorten(text)}"
                )
            if name in fixed:
                raise InputError(f"{name} is fixed twice, at {shorten(fixed[name])} and at {shorten(value)}")
            fixed[name] = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else value
        return fixed

    def fixed_as_written(self, fixed: Mapping[str, Any]) -> dict[str, Any]:
        """See Domain: where no orders are named there was one for each innermost loop."""
        return {ORDERS: INNERMOST, **fixed}

    def price_cases(self, model: str, path: str, *, detail: bool) -> list[dict[str, Any]]:
        return _model(model).price_lines(case_lines(path), detail=detail)

    def timed(self, problem: MachineProblem, genes: IntArray) -> Timed:
        """See Domain; where each row has a machine of its own, there is one thread."""
        batch, model = problem.space.decode(genes), problem.model
        rows, choices = batch.rows, batch.choices
        if choices is not None:

            def priced(part: slice) -> object:
                return problem.price_rows(rows[part], choices[part])

            return Timed(lambda threads: priced(slice(None)), lambda at: priced(slice(at, at + 1)), (1,))
        price = model.prepared(problem.layer, problem.accelerator)
        return Timed(
            lambda threads: price(rows, threads),
            lambda at: price(rows[at : at + 1]),
            others=others_of(model, problem, batch),
        )

    def prover(self, problem: MachineProblem) -> MachineProver:
        return MachineProver(problem)

    def widened(self, problem: MachineProblem) -> MachineProblem:
        """See `dse.optimum.beside`: over uneven nests, if nobody says which and optima of them are proven."""
        return _over_uneven(problem)[0]


def _over_uneven(problem: MachineProblem) -> tuple[MachineProblem, str]:
    """The problem over uneven nests; itself where somebody says which, or there are none, or no proofs.

    Then what an optimum of the given problem alone is over, in words: empty where that is all nests.
    """
    machine, alone = problem.accelerator, "over even nests alone"
    if machine.even:
        return problem, "over uneven nests, and even ones with them"
    if machine.asked_nests:
        return problem, f"{alone}, as asked"
    not_tried = f"{alone}: uneven nests were not tried"
    try:
        found = problem.with_changes(fixed={**problem.fixed, "nests": UNEVEN})
        if len(found.accelerator.levels) == len(machine.levels):
            return problem, ""
        MachineProver(found).refuse()
    except InputError as error:
        return problem, f"{not_tried}, as {error}"
    stacks = prod(max(1, len(level.stacks)) for level in found.space.levels)
    if stacks > MOST_STACKS:
        return problem, f"{not_tried}, as {stacks:,} orders of storages are many; --nests uneven tries them"
    return found, f"{not_tried}; --nests uneven tries them"


AMONG = {
    ALL: "",
    UNDOMINATED: ", without loop orders that cannot be better than another",
    INNERMOST: ", one order for each innermost loop",
}
"""Which orders of loops lists are over."""


class MachineProver:
    """A Warmer: of a proof module with `GROUP`, `refuse(problem)` and `solve(problem, clock, known)`.

    A module with kernels has `warm_early()` besides; one that lists mappings near the optimum, a Lister, has
    `refuse_list(problem)` and `list_best(problem, best, wanted, clock)`.
    """

    floor_only = False
    line = (
        "levels from the outermost in, each with the tensors that it keeps and its loops; "
        "K16: 16 trips over K, K16X: on 16 instances at once"
    )

    def __init__(self, problem: MachineProblem) -> None:
        self._problem, self._module = problem, proof_module(problem.model)

    @property
    def groups(self) -> str:
        return str(self._module.GROUP)

    @property
    def reach(self) -> str:
        """See Lister."""
        return _over_uneven(self._problem)[1]

    def refuse(self) -> None:
        refuse_several(self._problem.objective)
        self._module.refuse(self._problem)

    def warm(self) -> None:
        getattr(self._module, "warm_early", lambda: None)()

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        found: Certificate = self._module.solve(self._problem, clock, known)
        return found

    @property
    def among(self) -> str:
        """See Lister."""
        nests = self._problem.accelerator.nests
        return f"; {nests} nests{AMONG[self._problem.space.constraints.orders]}"

    def refuse_list(self) -> None:
        """See Lister."""
        if not hasattr(self._module, "refuse_list"):
            raise InputError(
                f"under cost model {self._problem.model.name!r} proofs list no mappings near the optimum"
            )
        self._module.refuse_list(self._problem)

    def list_best(self, best: Incumbent, wanted: Wanted, clock: Clock) -> Listed:
        """See Lister."""
        found: Listed = self._module.list_best(self._problem, best, wanted, clock)
        return found

    def nest_of(self, mapping: HierarchyMapping) -> Hashable:
        """See Lister."""
        return nest_of(self._problem.accelerator, mapping)

    def in_a_line(self, mapping: HierarchyMapping) -> str:
        """See Lister."""
        return mapping.text()


def _machines(model: str) -> Mapping[str, str]:
    kind = cost_model_class(model)
    return kind.machines() if issubclass(kind, LevelsCostModel) else {}


def _model(given: Any) -> LevelsCostModel:
    made = cost_model(given) if isinstance(given, str) else given
    if not isinstance(made, LevelsCostModel):
        able = ", ".join(cost_models(LevelsCostModel.domain))
        raise InputError(f"{shorten(given)} is no cost model of machines of levels; expected {able}")
    return made
