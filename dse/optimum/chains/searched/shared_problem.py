"""A chain as a problem in which layers may share tiles: each part is priced as the proof prices it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np

from dse.core.evaluations import Evaluations
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.core.residence import Phase, SharedTiles
from dse.optimum.chains.program import MAX_GROUP
from dse.optimum.chains.result import Schedule
from dse.optimum.chains.searched.members import Reading
from dse.optimum.chains.searched.problem import ChainProblem, ChainSettings, ChainsModel, Sums
from dse.optimum.chains.searched.shared_designs import (
    SharedChainDesign,
    SharedChainDesigns,
    read_design,
    vector_of,
)
from dse.optimum.chains.searched.shared_space import SharedChainSpace
from dse.optimum.chains.searched.shares import Choice, Plan
from dse.optimum.chains.sharing import described
from dse.optimum.chains.tilings import Move, carried
from dse.optimum.chains.whole import phase_of
from dse.support.arrays import FloatArray, IntArray

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
class SharedChainProblem(ChainProblem):
    """See ChainProblem: tensors may be handed on in shared tiles too."""

    designs: ClassVar[type[Any]] = SharedChainDesigns
    most: ClassVar[int] = MAX_GROUP

    @cached_property
    def space(self) -> Any:
        """What stays and is shared, and a mapping of each part."""
        return SharedChainSpace(self.layer, self.accelerator, self.program, self._roomy)

    @cached_property
    def model(self) -> ChainsModel:
        """The sums."""
        return ChainsModel(ChainSettings("shared"))

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
                yield PartRun(member, phase, part.count, times, tuple(carried(tiling, part)))

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
        broken = int(Reason.LEVEL_TOO_SMALL) if run.phase.taken > self.home.room else 0
        problem = self._problem(replace(run.phase, taken=0) if broken else run.phase)
        designs = self.residence.placed(problem, self._roomy(run.phase.layer).space.decode(own))
        priced = problem.evaluate(designs)
        cycles, energy = run.count * priced.cycles, run.count * priced.energy_nj
        if run.moves:
            spent, ports = self._moved(problem, run.moves)
            energy = energy + spent
            for at in np.flatnonzero(priced.reason == 0):
                waits = run.count * self._tiles.demands(problem, designs[int(at)]) + ports
                cycles[at] = max(ceil(waits.max() - 1e-9), cycles[at])
        sums.add(rows, replace(priced, cycles=cycles, energy_nj=energy), run.times, run.phase.taken, broken)

    def _moved(self, problem: AnyProblem, moves: tuple[Move, ...]) -> tuple[float, FloatArray]:
        """Energy and `demands` of what is held, as it comes or goes."""
        spent, ports = 0.0, np.zeros(1)
        for move in moves:
            energy, demands = self._tiles.moved(problem, move.tensor, move.words)
            spent, ports = spent + move.count * energy, ports + move.count * demands
        return spent, ports

    def _problem(self, phase: Phase) -> AnyProblem:
        if len(self.__dict__.setdefault("_known", {})) >= MANY:
            self.__dict__["_known"].clear()
        return super()._problem(phase)

    # Designs

    def proven(self, schedule: Schedule) -> SharedChainDesign:
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
        return SharedChainDesign(plan, self.space.shares, names, tuple(mappings))

    def vectors(self, mappings: Any) -> IntArray:
        """The gene vectors of designs."""
        return np.array([vector_of(self.space, one) for one in mappings])

    def read_mapping(self, data: object, where: str = "mapping") -> Any:
        """The design in parsed JSON."""
        return read_design(self.space, data, where)

    # Words

    def _runs(self, mapping: Any) -> list[tuple[Any, Phase, AnyProblem, Any]]:
        """Each part with the phase that it is run as, its problem, and its mapping there."""
        found = []
        for run in self.runs_of(mapping.plan):
            phase, member = run.phase, self.space.members[run.member]
            problem = self._problem(replace(phase, taken=0) if phase.taken > self.home.room else phase)
            own = self.residence.placed(problem, [mapping.mappings[run.member]])[0]
            named = replace(phase.layer, name=member.name, repeats=run.count * run.times)
            found.append((named, phase, problem, own))
        return found

    def needs(self, mapping: Any) -> str:
        """What stays, what is shared, and the most room that both take."""
        lines = [super().needs(mapping)]
        for step in mapping.plan.choices:
            group, tiling = self.space.shares.tiling(step, mapping.plan)
            lines += described(tiling, group)
        return "\n".join(lines)
