"""A chain as a problem like others: for a layer it has one run of a chain of a network's.

So searches, campaigns and reports take it: tensors stay whole or not at all, or layers may share tiles too,
and each part that is run has a mapping. A part is priced as the proof prices it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np

from dse.core.cost_models import cost_model
from dse.core.domains import make_problem
from dse.core.edges import Chain, WholeNetwork
from dse.core.evaluations import Criteria, Evaluations
from dse.core.layer import Layer
from dse.core.network_problem import NetworkProblem
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.core.residence import Home, Phase, Residence, SharedTiles, residence_of
from dse.optimum.chains.program import MAX_GROUP, Program
from dse.optimum.chains.result import Schedule
from dse.optimum.chains.searched.designs import ChainDesign, ChainDesigns, read_design, vector_of
from dse.optimum.chains.searched.members import Reading
from dse.optimum.chains.searched.model import INNER, ChainSettings, ChainsModel, Sums
from dse.optimum.chains.searched.shares import Choice, Plan
from dse.optimum.chains.searched.space import ChainSpace
from dse.optimum.chains.sharing import described_loops
from dse.optimum.chains.solve import refuse_objective
from dse.optimum.chains.tilings import Move, carried_moves
from dse.optimum.chains.whole import phase_of
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError

MANY = 4096
"""Problems of parts that are kept ready."""


@dataclass(frozen=True)
class PartRun:
    """A layer or its part that is run `count` times in one run of its group, which is run `times` in all; the
    moves are of one run of the group.
    """

    member: int
    phase: Phase
    count: int
    times: int
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class ChainProblem(NetworkProblem):
    """A chain x a machine x an objective: members are as in `dse.core.problem.AnyProblem`."""

    designs: ClassVar[type[Any]] = ChainDesigns
    hardware_genes: ClassVar[tuple[str, ...]] = ()
    intermediates: ClassVar[str] = "whole"

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

    @property
    def most(self) -> int:
        """Layers that may share tiles."""
        return MAX_GROUP if self.intermediates == "shared" else 1

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
        if self.most > 1:
            home.refuse_sharing("shared tiles")
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
        """What stays and is shared, and a mapping of each part."""
        return ChainSpace(self.layer, self.accelerator, self.program, self._roomy)

    @cached_property
    def model(self) -> ChainsModel:
        return ChainsModel(ChainSettings(self.intermediates))  # type: ignore[arg-type]

    @property
    def criteria(self) -> Criteria:
        return self.first.criteria

    def _roomy(self, layer: Layer) -> AnyProblem:
        known: dict[Layer, AnyProblem] = self.__dict__.setdefault("_without_limit", {})
        if layer not in known:
            known[layer] = self.residence.roomy(self.problem_of(layer))
        return known[layer]

    @property
    def _tiles(self) -> SharedTiles:
        assert self.residence.tiles is not None
        return self.residence.tiles

    def runs_of(self, plan: Plan) -> Iterator[PartRun]:
        """What is run: layers by themselves, and the parts of groups."""
        for step in plan.steps:
            start, end = step
            times = self.program.runs[start]
            if start == end:
                phase = phase_of(self.program, start, plan.staying)
                yield PartRun(self._member(start, again=False, shared=False), phase, 1, times, ())
                continue
            group, tiling = self.space.shares.tiling(step, plan)
            for part in tiling.parts:
                place = start + part.place
                phase = replace(part.phase, taken=part.phase.taken + group.taken)
                member = self._member(place, again=phase.returned, shared=True)
                yield PartRun(member, phase, part.count, times, tuple(carried_moves(tiling, part)))

    def _member(self, place: int, *, again: bool, shared: bool) -> int:
        return next(
            at
            for at, one in enumerate(self.space.members)
            if one.place == place and one.again == again and (again or (one.shared if shared else one.alone))
        )

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        """What the points cost: sums over layers and parts; what needs most room of any is what is needed."""
        sums = Sums(len(genes), self.criteria)
        alike: dict[PartRun, list[IntArray]] = {}
        readings: dict[PartRun, Reading] = {}
        for plan, rows in self.space.alike(genes):
            read = self.space.readings(plan)
            for run in self.runs_of(plan):
                alike.setdefault(run, []).append(rows)
                readings[run] = read[run.member]
        for run, found in alike.items():
            rows = np.concatenate(found)
            self._add(sums, run, rows, readings[run].own(genes[rows, self.space.members[run.member].slice]))
        return sums.priced(self.layer.macs)

    def _add(self, sums: Sums, run: PartRun, rows: IntArray, own: IntArray) -> None:
        """Add what a part's runs cost to those rows."""
        problem, fits = self._problem(run.phase)
        designs = self.residence.placed(problem, self._roomy(run.phase.layer).space.decode(own))
        priced = problem.evaluate(designs)
        cycles, energy = run.count * priced.cycles, run.count * priced.energy_nj
        if run.moves:
            spent, ports = self._moved(problem, run.moves)
            energy = energy + spent
            for at in np.flatnonzero(priced.reason == 0):
                waits = run.count * self._tiles.demands(problem, designs[int(at)]) + ports
                cycles[at] = max(ceil(waits.max() - 1e-9), cycles[at])
        broken = 0 if fits else int(Reason.LEVEL_TOO_SMALL)
        sums.add(rows, replace(priced, cycles=cycles, energy_nj=energy), run.times, run.phase.taken, broken)

    def _moved(self, problem: AnyProblem, moves: tuple[Move, ...]) -> tuple[float, FloatArray]:
        """Energy and `demands` of what is held, as it comes or goes."""
        spent, ports = 0.0, np.zeros(1)
        for move in moves:
            energy, demands = self._tiles.moved(problem, move.tensor, move.words)
            spent, ports = spent + move.count * energy, ports + move.count * demands
        return spent, ports

    def _problem(self, phase: Phase) -> tuple[AnyProblem, bool]:
        """The problem of a part, and whether what stays has its room; if not, it is as if nothing took any.

        What has no room is priced all the same: a search learns from it.
        """
        fits = phase.taken <= self.home.room
        phase = phase if fits else replace(phase, taken=0)
        known: dict[Phase, Any] = self.__dict__.setdefault("_known", {})
        if phase not in known:
            if len(known) >= MANY:
                known.clear()
            known[phase] = self.residence.problem(self.first, phase)
        return known[phase], fits

    # Designs

    def proven(self, schedule: Schedule) -> ChainDesign:
        """The design of a proof's best schedule."""
        steps, choices, own = list[tuple[int, int]](), {}, {}
        for run in schedule.runs:
            place = self.chain.place(run.name)
            steps.append((place, place))
            own[self._member(place, again=False, shared=False)] = run
        for one in schedule.shared:
            places = [self.chain.place(layer.name) for layer in one.group.layers]
            step = places[0], places[-1]
            steps.append(step)
            choices[step] = Choice.of(one.tiling)
            for run in one.runs:
                place = self.chain.place(run.name)
                own[self._member(place, again=run.phase.returned, shared=True)] = run
        staying = frozenset(self.chain.place(name) for name in schedule.staying)
        plan = Plan(staying, tuple(sorted(steps)), choices)
        mappings = (
            self.residence.placed(self._roomy(own[at].phase.layer), [own[at].best.mapping])[0]
            if at in own
            else None
            for at in range(len(self.space.members))
        )
        names = tuple(member.name for member in self.space.members)
        return ChainDesign(plan, self.space.shares, names, tuple(mappings))

    def vectors(self, mappings: Sequence[Any]) -> IntArray:
        return np.array([vector_of(self.space, one) for one in mappings])

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        return ""

    def read_mapping(self, data: object, where: str = "mapping") -> Any:
        return read_design(self.space, data, where)

    # Words

    def _runs(self, mapping: Any) -> Iterator[tuple[Layer, Phase, AnyProblem, Any]]:
        """Each part with the phase that it is run as, its problem, and its mapping there."""
        for run in self.runs_of(mapping.plan):
            name = self.space.members[run.member].name
            problem, _ = self._problem(run.phase)
            own = self.residence.placed(problem, [mapping.mappings[run.member]])[0]
            yield replace(run.phase.layer, name=name, repeats=run.count * run.times), run.phase, problem, own

    def explain(self, mapping: Any) -> str:
        """Why the design is not feasible: the first part that does not fit beside what stays."""
        for layer, phase, problem, own in self._runs(mapping):
            if phase.taken > self.home.room:
                return f"{layer.name}: what stays takes {phase.taken} of {self.home.room} {self.home.unit}"
            words = problem.explain(own)
            if words != "feasible":
                return f"{layer.name}: {words}"
        return "feasible"

    def nest(self, mapping: Any) -> str:
        lines = [self.needs(mapping)]
        for layer, _, problem, own in self._runs(mapping):
            lines += [f"{layer.name} x {layer.repeats}", problem.nest(own).rstrip("\n")]
        return "\n".join(lines) + "\n"

    def needs(self, mapping: Any) -> str:
        """What stays, what is shared, and the most room that both take."""
        most = max(phase.taken for _, phase, _, _ in self._runs(mapping))
        names = ", ".join(mapping.stays) or "nothing"
        lines = [f"stays in {self.home.level}: {names}, at most {most:,} {self.home.unit}"]
        for step in mapping.plan.choices:
            group, tiling = self.space.shares.tiling(step, mapping.plan)
            lines += described_loops(tiling, group)
        return "\n".join(lines)

    def case(self, mapping: Any) -> dict[str, Any]:
        return {"mapping": mapping.to_dict(), "hardware": self.accelerator.to_dict()}


class SharedChainProblem(ChainProblem):
    """See ChainProblem: tensors may be handed on in shared tiles too."""

    intermediates: ClassVar[str] = "shared"
