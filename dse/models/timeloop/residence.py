"""Tensors that stay in a level of a machine: the layer's problem where that level holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.core.residence import Home, Phase, Rates
from dse.domains.levels.machine import RETURNED, TENSORS, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.nest import latency_words
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.batch import HierarchyBatch
from dse.models.timeloop import reference
from dse.support.arrays import FloatArray

OUTPUT = "O"


class LevelsResidence:
    """See Residence. The home is the outermost level on the chip that is there once and may keep I and O."""

    @property
    def tiles(self) -> LevelsTiles:
        return LevelsTiles()

    def home(self, problem: Any) -> Home | None:
        machine: Machine = problem.accelerator
        place = _home(machine)
        if place is None:
            return None
        level = machine.levels[place]
        may, must = machine.may_keep(place, TENSORS), machine.must_keep(place, TENSORS)
        waits = ", ".join(latency_words(machine))
        return Home(level.name, level.capacity or 0, machine.unit, may, must, waits)

    def sizes(self, problem: Any) -> Mapping[str, int]:
        workload = problem.space.workload
        return {tensor.name: tensor.room(workload.sizes) for tensor in workload.tensors}

    def problem(self, problem: Any, phase: Phase) -> MachineProblem | None:
        changed: MachineProblem = replace(problem, layer=phase.layer)
        if not (phase.held or phase.taken or phase.returned):
            return changed
        machine: Machine = changed.accelerator
        # A machine in bits is made of one in words, which is what is changed.
        said = machine.stated or machine
        place = _home(said)
        if place is None or said.levels[place].capacity is None:
            return None
        level = said.levels[place]
        words = level.word_bits if machine.stated else 1
        left = (int(level.capacity or 0) * words - phase.taken) // words
        if left < 0:
            return None
        levels = list(said.levels)
        levels[place] = replace(level, capacity=left, holds=tuple(sorted(phase.held)))
        first_fill = RETURNED if phase.returned else said.first_fill
        machine = replace(said, levels=tuple(levels), first_fill=first_fill)
        return changed.with_changes(accelerator=machine)

    def roomy(self, problem: Any) -> MachineProblem:
        machine: Machine = problem.accelerator
        said = machine.stated or machine
        levels, place = list(said.levels), _home(said)
        assert place is not None
        levels[place] = replace(levels[place], capacity=None)
        found: MachineProblem = problem.with_changes(accelerator=replace(said, levels=tuple(levels)))
        return found

    def placed(self, problem: Any, designs: Sequence[HierarchyMapping] | HierarchyBatch) -> HierarchyBatch:
        layout, machine = problem.space.layout, problem.accelerator
        rows = designs.rows.copy() if isinstance(designs, HierarchyBatch) else layout.encode(designs)
        for place in range(len(machine.levels)):
            must, may = (
                np.isin(layout.tensors, names(place, layout.tensors))
                for names in (machine.must_keep, machine.may_keep)
            )
            keep = layout.keep(place)
            rows[:, keep] = rows[:, keep].astype(bool) & may | must
        return HierarchyBatch(rows, layout, machine)


class LevelsTiles:
    """See SharedTiles."""

    def demands(self, problem: Any, mapping: Any) -> FloatArray:
        """See SharedTiles: computing, then of each level its reads, its writes, and both."""
        costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mapping)
        assert isinstance(costs, reference.Costs)
        found = [float(costs.steps)]
        for level in problem.accelerator.levels:
            kept = costs.counts.get(level.name, {}).values()
            read = sum(one.reads * one.bits for one in kept)
            written = sum((one.fills + one.updates) * one.bits for one in kept)
            found += _cycles(level, read, written)
        return np.array(found)

    def rates(self, problem: Any) -> tuple[Rates, tuple[Rates, ...]]:
        """See SharedTiles. A drain costs the outer level's write, and nothing here."""
        machine: Machine = problem.accelerator
        place = _home(machine) or 0
        outer, home = machine.levels[0], machine.levels[place]
        tensors = {tensor.name: tensor for tensor in problem.space.workload.tensors}
        wide = tuple(tensors[name].bits for name in ("I", "W", "O"))
        kept = frozenset(machine.must_keep(place, TENSORS))
        pj = outer.energy.read_pj / _wide(outer) + home.energy.write_pj / _wide(home)
        joules = _rates([pj * 1e-12] * 3, outer.energy.update_pj / _wide(outer) * 1e-12, wide, kept)
        rates = outer.bandwidth
        ports = ((rates.read, 1, 0), (rates.write, 0, 1), (rates.shared, 1, 1))
        second = machine.cycle_seconds
        seconds = tuple(
            _rates([comes * second / rate] * 3, goes * second / rate, wide, kept)
            for rate, comes, goes in ports
            if rate is not None
        )
        return joules, seconds

    def first_visits(self, problem: Any) -> float:
        """See SharedTiles: a read at the home, a read and a fill at every instance of a level inside."""
        machine: Machine = problem.accelerator
        place, bits = _home(machine) or 0, machine.bits
        pj = machine.levels[place].energy.read_pj / _wide(machine.levels[place])
        for inner in range(place + 1, len(machine.levels)):
            level = machine.levels[inner]
            if OUTPUT in machine.may_keep(inner, TENSORS):
                each = (level.energy.read_pj + level.energy.write_pj) / _wide(level)
                pj += each * machine.instances[inner]
        return pj * 1e-12 * (bits[OUTPUT] if bits else 1)

    def moved(self, problem: Any, tensor: str, words: int) -> tuple[float, FloatArray]:
        """See SharedTiles. Inputs are read outside and written here; outputs the other way round, for which
        nothing is read here: as everywhere under these rules, a drain is a write of the outer level.
        """
        machine: Machine = problem.accelerator
        words *= next(one.bits for one in problem.space.workload.tensors if one.name == tensor)
        home = machine.levels[_home(machine) or 0]
        outer = machine.levels[0]
        drained = tensor == OUTPUT
        pj = -(-words // outer.block) * (outer.energy.update_pj if drained else outer.energy.read_pj)
        pj /= outer.cluster
        if not drained:
            pj += -(-words // home.block) * home.energy.write_pj / home.cluster
        found = [0.0]
        for level in machine.levels:
            read = words if level is outer and not drained else 0
            written = words if (level is outer) == drained and level in (outer, home) else 0
            found += _cycles(level, read, written)
        return pj * 1e-3, np.array(found)


def _home(machine: Machine) -> int | None:
    """The outermost level on the chip that is there once and may keep inputs and outputs."""
    for place, level in enumerate(machine.levels):
        if not place or machine.instances[place] > 1 or level.capacity is None:
            continue
        may = {*machine.may_keep(place, TENSORS)}
        if {"I", "O"} <= may:
            return place
    return None


def _wide(level: Level) -> int:
    """What a row of a level moves in one access: an instance that is alone has a share of it (rule 6)."""
    return level.block * level.cluster


def _rates(comes: list[float], goes: float, wide: tuple[int, ...], kept: frozenset[str]) -> Rates:
    """Rates a word of each tensor; those that the home need not keep cost nothing here."""
    names = ("I", "W", "O")
    each = [rate * bits if name in kept else 0.0 for name, rate, bits in zip(names, comes, wide, strict=True)]
    of_output = goes * wide[2] if OUTPUT in kept else 0.0
    return Rates((each[0], each[1], each[2]), of_output, (wide[0], wide[1], wide[2]), kept)


def _cycles(level: Level, read: float, written: float) -> list[float]:
    rates = (level.bandwidth.read, level.bandwidth.write, level.bandwidth.shared)
    words = (read, written, read + written)
    return [0.0 if rate is None else count / rate for rate, count in zip(rates, words, strict=True)]


RESIDENCE = LevelsResidence()
