"""A network on machines of a space as a problem that any searcher can have: its figures are the network's.

`JointNetwork` has a vector for a machine and all mappings; `TwoLevels` one for a machine, whose mappings are
searched, layer by layer, or proven, when it is priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dse.core.cost_model import AnyCostModel
from dse.core.evaluations import Criteria, Evaluations
from dse.core.objective import Objective, objective_named
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.domains.codesign.joint import Joint, Ready
from dse.optimum import certify
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.arrays import IntArray
from dse.support.errors import InputError


def network_objective(text: str) -> Objective:
    """An objective that a network has; InputError for another."""
    wanted = objective_named(text)
    if not wanted.adds_up or wanted.caps:
        raise InputError(
            f"objective {wanted.name!r} is no product of powers, and no sum, of latency and energy, which a "
            "network has"
        )
    return wanted


CERTIFY = "certify"
"""The inner searcher that is none: every layer's optimum is proven."""


@dataclass(frozen=True)
class Priced:
    """A network on a machine: of each layer cycles, nanojoules and the mapping, or the reason why not."""

    reason: Reason
    cycles: tuple[int, ...] = ()
    energies: tuple[float, ...] = ()
    mappings: tuple[Any, ...] = ()


@dataclass(frozen=True)
class JointNetwork:
    """A vector for a machine and a mapping of each layer: what it costs is the sums over the layers."""

    space: Joint

    @property
    def way(self) -> dict[str, Any]:
        """How mappings are found, as plain data."""
        return {}

    @property
    def objective(self) -> str:
        """What is minimised, of the network."""
        return self.space.objective

    @property
    def model(self) -> AnyCostModel:
        """The cost model of the space's base."""
        return self.space.hardware.model

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the problem, as plain data, where cells look for it."""
        found = self.space.identity
        return {
            "layer": found["layer"]["layers"],
            "accelerator": found["accelerator"],
            "space": {"codesign": True} | self.way,
            "objective": self.objective,
            "cost_model": self.model.spec,
        }

    @cached_property
    def criteria(self) -> Criteria:
        """The network's objective; every machine has a clock of its own."""
        return Criteria(self.objective, 1.0, np.empty(0, np.int64), self._criteria)

    def _criteria(self, genes: IntArray) -> Criteria:
        machines = [self.space.at(row).priced for row in genes]
        seconds = [1.0 if one is None else one.hardware.cycle_seconds for one in machines]
        return Criteria(self.objective, 1.0 / np.array(seconds), np.empty((len(genes), 0), np.int64))

    def price(self, genes: IntArray) -> Evaluations:
        """What the vectors cost."""
        return self._evaluations(genes, [self.network_at(row) for row in genes])

    def network_at(self, genes: IntArray) -> Priced:
        """The network as one vector has it."""
        at = self.space.at(genes)
        if not at.problems:
            return Priced(at.reason)
        found = [
            problem.price(self.space.local(at, place, genes[np.newaxis]))
            for place, problem in enumerate(at.problems)
        ]
        reasons = [int(one.reason[0]) for one in found]
        return Priced(
            Reason(next((reason for reason in reasons if reason), 0)),
            tuple(int(one.cycles[0]) for one in found),
            tuple(float(one.energy_nj[0]) for one in found),
        )

    def _evaluations(self, genes: IntArray, found: Sequence[Priced]) -> Evaluations:
        repeats = [layer.repeats for layer in self.space.layers]
        cycles = np.array([_total(one.cycles, repeats) for one in found]).astype(np.int64)
        energy = np.array([_total(one.energies, repeats) for one in found], np.float64)
        reason = np.array([one.reason for one in found], np.uint8)
        criteria = self._criteria(genes)
        zeros = np.zeros(len(genes))
        costs = Evaluations(
            cycles=cycles,
            energy_nj=energy,
            power=zeros,
            area=zeros.copy(),
            l1_size=np.zeros(len(genes), np.int64),
            l2_size=np.zeros(len(genes), np.int64),
            macs=np.zeros(len(genes), np.int64),
            loss=zeros,
            reason=reason,
            criteria=criteria,
        )
        return replace(costs, loss=np.where(reason == 0, costs.objective_value, np.inf))


@dataclass(frozen=True)
class TwoLevels(JointNetwork):
    """A vector for a machine: `inner`, from `seed`, has so many `samples` for each layer's mapping.

    Each layer's objective is that of the network, for itself. The same machine is priced the same again.
    """

    layers_space: Joint = field(kw_only=True)
    """The same machines with the layers."""
    inner: str = field(kw_only=True)
    samples: int = field(kw_only=True)
    seed: int = field(kw_only=True)
    known: dict[Any, Any] = field(kw_only=True, default_factory=dict, compare=False, repr=False)
    """What inner searches have come to, which is the same again: it saves time, and is charged anew."""

    @property
    def way(self) -> dict[str, Any]:
        """The inner searcher, as plain data."""
        return {"inner": self.inner, "samples": self.samples, "inner_seed": self.seed}

    @property
    def identity(self) -> dict[str, Any]:
        """With the layers, which the space of machines has not."""
        return super().identity | {"layer": self.layers_space.identity["layer"]["layers"]}

    def network_at(self, genes: IntArray) -> Priced:
        """The network with the mappings that the inner searches find, or that are proven."""
        key = (*genes.tolist(), self.inner, self.samples, self.seed)
        if key not in self.known:
            self.known[key] = self._network_at(genes)
        found: Priced = self.known[key]
        return found

    def _network_at(self, genes: IntArray) -> Priced:
        at: Ready = self.layers_space.at(genes)
        cycles, energies, mappings = [], [], []
        for problem in at.problems:
            found = self._proven(problem) if self.inner == CERTIFY else self._searched(problem)
            if found is None:
                return Priced(Reason.LEVEL_TOO_SMALL)
            cycles.append(found[0])
            energies.append(found[1])
            mappings.append(found[2])
        return Priced(at.reason, tuple(cycles), tuple(energies), tuple(mappings))

    def _evaluations(self, genes: IntArray, found: Sequence[Priced]) -> Evaluations:
        whole = JointNetwork(self.layers_space)
        return JointNetwork._evaluations(whole, genes, found)

    def _searched(self, problem: AnyProblem) -> tuple[int, float, Any] | None:
        cell = Cell(problem, self.inner, make_searcher(self.inner), self.seed, self.samples)
        record = run_cell(cell)
        if record.best is None:
            return None
        point = record.evaluations(record.best, record.best + 1)
        mapping = problem.space.decode(record.genes(record.best, record.best + 1))[0]
        return int(point.cycles[0]), float(point.energy_nj[0]), mapping

    def _proven(self, problem: AnyProblem) -> tuple[int, float, Any] | None:
        best = certify(problem).best
        return None if best is None else (best.cycles, best.energy_nj, best.mapping)


def _total(values: Sequence[float], repeats: Sequence[int]) -> float:
    return sum(value * count for value, count in zip(values, repeats, strict=False))
