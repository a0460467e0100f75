"""A chain as a problem like others: for a layer it has one run of a chain of a network's.

So searches, campaigns and reports take it: tensors stay whole or not at all, and each layer has a mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from dse.core.cost_model import AnyCostModel
from dse.core.cost_models import cost_model
from dse.core.domains import make_problem
from dse.core.edges import Chain, WholeNetwork
from dse.core.evaluations import Criteria, Evaluations
from dse.core.model_settings import ModelSettings
from dse.core.network_problem import NetworkProblem
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.core.residence import Home, Phase, Residence, residence_of
from dse.optimum.chains.program import Program
from dse.optimum.chains.result import Schedule
from dse.optimum.chains.searched.designs import ChainDesign, ChainDesigns, read_design, vector_of
from dse.optimum.chains.searched.space import ChainSpace
from dse.optimum.chains.solve import refuse_objective
from dse.optimum.chains.whole import phase_of
from dse.support.arrays import IntArray
from dse.support.errors import InputError

INNER = "timeloop"
"""The cost model that prices each layer."""


@dataclass(frozen=True)
class ChainSettings(ModelSettings):
    """Whether `intermediates` stay on chip `whole`, or may be handed on in `shared` tiles too."""

    label: ClassVar[str] = "settings of cost model 'chains'"
    main: ClassVar[str] = "intermediates"

    intermediates: Literal["whole", "shared"] = "whole"


class ChainsModel(AnyCostModel):
    """Sums over a chain's layers, each priced by INNER beside what stays on chip while it is run."""

    name = "chains"
    domain = "chains"
    version = "1"
    prices_networks = True
    settings_type = ChainSettings
    settings: ChainSettings

    def __init__(self, settings: ChainSettings | None = None) -> None:
        self.settings = settings or ChainSettings()
        # In shared tiles, what a group reads and what it makes have their room at once since version 2.
        own = "1" if self.settings.intermediates == "whole" else "2"
        self.version = f"{own}, {INNER} {cost_model(INNER).version}"


class Sums:
    """What `count` points cost, added up layer by layer."""

    def __init__(self, count: int, criteria: Criteria) -> None:
        self._criteria = criteria
        self._columns = {name: np.zeros(count, np.int64) for name in ("cycles", "l1_size", "l2_size")}
        self._energy, self._reasons = np.zeros(count), np.zeros(count, np.uint8)

    def add(self, rows: IntArray, priced: Evaluations, runs: int, taken: int, broken: int) -> None:
        """Add so many runs of a layer to those rows, beside what takes room; `broken` says why it cannot."""
        columns, reasons = self._columns, self._reasons
        columns["cycles"][rows] += runs * priced.cycles
        self._energy[rows] += runs * priced.energy_nj
        room = "l2_size" if len(self._criteria.capacities) > 1 else "l1_size"
        for name in ("l1_size", "l2_size"):
            need = getattr(priced, name) + (taken if name == room else 0)
            columns[name][rows] = np.maximum(columns[name][rows], need)
        found = np.where(priced.reason == 0, broken, priced.reason)
        reasons[rows] = np.where(reasons[rows] == 0, found, reasons[rows])

    def priced(self, macs: int) -> Evaluations:
        """All of it."""
        count = len(self._energy)
        nothing = np.zeros(count)
        found = Evaluations(
            **self._columns,
            energy_nj=self._energy,
            power=nothing,
            area=nothing.copy(),
            macs=np.full(count, macs, np.int64),
            loss=nothing.copy(),
            reason=self._reasons,
            criteria=self._criteria,
        )
        return replace(found, loss=np.where(self._reasons == 0, found.objective_value, np.inf))


@dataclass(frozen=True)
class ChainProblem(NetworkProblem):
    """A chain x a machine x an objective: members are as in `dse.core.problem.AnyProblem`."""

    designs: ClassVar[type[Any]] = ChainDesigns
    hardware_genes: ClassVar[tuple[str, ...]] = ()
    most: ClassVar[int] = 1
    """Layers that may share tiles."""

    def __post_init__(self) -> None:
        if not isinstance(self.layer, WholeNetwork) or not self.layer.edges:
            name = getattr(self.layer, "name", "a layer")
            raise InputError(
                f"{name} is no chain: cost model 'chains' needs one by its name, such as mlp:chain (dse list "
                "layers shows a network's)"
            )
        object.__setattr__(self, "objective", refuse_objective(self.objective).name)
        _ = self.space

    # What it is made of

    @cached_property
    def residence(self) -> Residence:
        """What tensors that stay mean to each layer's problem."""
        found = residence_of(cost_model(INNER))
        assert found is not None
        return found

    @cached_property
    def chain(self) -> Chain:
        """One run of it."""
        return Chain(self.layer.layers, self.layer.edges, also_read=self.layer.also_read)

    def problem_of(self, layer: Any) -> AnyProblem:
        """The problem of a layer by itself."""
        return make_problem(layer, self.accelerator, self.objective, INNER)

    @cached_property
    def first(self) -> AnyProblem:
        """That of the first layer."""
        return self.problem_of(self.layer.layers[0])

    @cached_property
    def home(self) -> Home:
        """Where tensors stay; InputError where there is no such level, or where it may pass some by."""
        home = self.residence.home(self.first)
        if home is None:
            raise InputError("no level of the hardware keeps inputs and outputs: nothing can stay on chip")
        lacking = set("WIO") - {*home.keeps}
        if lacking:
            raise InputError(
                f"{home.level} need not keep {', '.join(sorted(lacking))}: a search of chains is on machines "
                "whose level for what stays keeps all tensors"
            )
        return home

    @cached_property
    def program(self) -> Program:
        """What can stay, and when it takes room."""
        problems = {layer: self.problem_of(layer) for layer in self.layer.layers}
        _ = self.home
        return Program(
            self.chain, {layer: self.residence.sizes(one) for layer, one in problems.items()}, self.most
        )

    @cached_property
    def space(self) -> Any:
        """What stays, and a mapping of each layer."""
        problems = [self.residence.roomy(self.problem_of(layer)) for layer in self.layer.layers]
        return ChainSpace(self.layer, self.accelerator, self.program, tuple(problems))

    @cached_property
    def model(self) -> ChainsModel:
        """The sums."""
        return ChainsModel()

    @property
    def criteria(self) -> Criteria:
        """Those of a layer, for all of it."""
        return self.first.criteria

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        """What the points cost: sums over layers; what needs most room of any is what is needed."""
        sums = Sums(len(genes), self.criteria)
        for place, runs in enumerate(self.program.runs):
            for staying, rows in self._alike(place, genes):
                priced, taken, broken = self._phase(place, staying, genes[rows])
                sums.add(rows, priced, runs, taken, broken)
        return sums.priced(self.layer.macs)

    def _alike(self, place: int, genes: IntArray) -> list[tuple[frozenset[int], IntArray]]:
        """The rows of which the same tensors take room while a layer is run, by what those are."""
        alive = self.program.alive(place)
        columns = [self.space.tensors.index(one) for one in alive]
        kinds, which = np.unique(genes[:, columns], axis=0, return_inverse=True)
        return [
            (
                frozenset(one for one, stays in zip(alive, kind, strict=True) if stays),
                np.flatnonzero(which.ravel() == number),
            )
            for number, kind in enumerate(kinds.tolist())
        ]

    def _phase(self, place: int, staying: frozenset[int], genes: IntArray) -> tuple[Evaluations, int, int]:
        """What points cost of one layer beside what stays; the room that this takes; and why it cannot."""
        phase = phase_of(self.program, place, staying)
        designs = self.space.problems[place].space.decode(genes[:, self.space.parts[place]])
        broken = int(Reason.LEVEL_TOO_SMALL) if phase.taken > self.home.room else 0
        # What has no room is priced all the same: a search learns from it.
        found = self._problem(replace(phase, taken=0) if broken else phase)
        return found.evaluate(self.residence.placed(found, designs)), phase.taken, broken

    def _problem(self, phase: Phase) -> AnyProblem:
        known = self.__dict__.setdefault("_known", {})
        if phase not in known:
            known[phase] = self.residence.problem(self.first, phase)
        found: AnyProblem = known[phase]
        return found

    # Designs

    def proven(self, schedule: Schedule) -> Any:
        """The design of a proof's best schedule."""
        mappings = {run.name: run.best.mapping for run in schedule.runs}
        own = zip(self.layer.layers, self.space.problems, strict=True)
        found = (self.residence.placed(problem, [mappings[layer.name]])[0] for layer, problem in own)
        return ChainDesign(tuple(name for name in self.space.names if name in schedule.staying), tuple(found))

    def vectors(self, mappings: Sequence[Any]) -> IntArray:
        """The gene vectors of designs."""
        return np.array([vector_of(self.space, one) for one in mappings])

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """Nothing."""
        return ""

    def read_mapping(self, data: object, where: str = "mapping") -> Any:
        """The design in parsed JSON."""
        return read_design(self.space, data, where)

    # Words

    def _runs(self, mapping: Any) -> list[tuple[Any, Phase, AnyProblem, Any]]:
        """Each layer with the phase that it is run as, its problem, and its mapping there."""
        staying = frozenset(self.chain.place(name) for name in mapping.stays)
        found = []
        for place, (layer, own) in enumerate(zip(self.layer.layers, mapping.mappings, strict=True)):
            phase = phase_of(self.program, place, staying)
            problem = self._problem(replace(phase, taken=0) if phase.taken > self.home.room else phase)
            found.append((layer, phase, problem, self.residence.placed(problem, [own])[0]))
        return found

    def explain(self, mapping: Any) -> str:
        """Why the design is not feasible: the first layer that does not fit beside what stays."""
        for layer, phase, problem, own in self._runs(mapping):
            if phase.taken > self.home.room:
                return f"{layer.name}: what stays takes {phase.taken} of {self.home.room} {self.home.unit}"
            words = problem.explain(own)
            if words != "feasible":
                return f"{layer.name}: {words}"
        return "feasible"

    def nest(self, mapping: Any) -> str:
        """What stays, and the loops of each layer."""
        lines = [self.needs(mapping)]
        for layer, _, problem, own in self._runs(mapping):
            lines += [f"{layer.name} x {layer.repeats}", problem.nest(own).rstrip("\n")]
        return "\n".join(lines) + "\n"

    def needs(self, mapping: Any) -> str:
        """What stays, and the most room that it takes."""
        most = max(phase.taken for _, phase, _, _ in self._runs(mapping))
        names = ", ".join(mapping.stays) or "nothing"
        return f"stays in {self.home.level}: {names}, at most {most:,} {self.home.unit}"

    def case(self, mapping: Any) -> dict[str, Any]:
        """The design, with the machine."""
        return {"mapping": mapping.to_dict(), "hardware": self.accelerator.to_dict()}
