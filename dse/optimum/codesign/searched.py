"""Co-design by a searcher, without a proof: the best machine and mappings that a budget finds.

A network evaluation is a machine with a mapping of each layer, priced: as many layers' pricings as there are
layers. With joint genes each sample is one. With two levels, a machine has `inner_budget` pricings of each
layer, which are as many network evaluations, and the outer searcher has the budget's share of machines. Where
each layer's optimum is proven instead, a machine is one network evaluation, and proofs are declared apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.codesign.joint import Joint
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.branch import Incumbent
from dse.optimum.codesign.machine import Chosen
from dse.optimum.codesign.networks import CERTIFY, JointNetwork, TwoLevels
from dse.optimum.codesign.result import described_design
from dse.search.evaluator import Observer
from dse.search.record import Record, write_parquet
from dse.search.run import Cell, open_journal, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.support.files import make_folder
from dse.support.validation import whole_number

RECORD, JOURNAL = "record.parquet", "record.journal"
INNER_BUDGET = 50


@dataclass(frozen=True)
class SearchedCodesign:
    """What a searcher has found: the best machine with the network's mappings, and what it was charged.

    `best` is as that of a `Codesign`, with `evaluation`, the network evaluations until it was found; None
    where nothing feasible was found. `pricings` are those of layers, `proofs` those of inner optima.
    """

    network: str
    objective: str
    space: HardwareSpace
    searcher: str
    inner: str | None
    inner_budget: int
    seed: int
    budget: int
    evaluations: int
    pricings: int
    proofs: int
    best: dict[str, Any] | None
    record: Record

    def after(self, evaluations: int) -> float:
        """The lowest value after so many network evaluations; inf before the first feasible one."""
        losses = self.record.evaluations(0, evaluations // self.inner_budget).loss
        return float(losses.min(initial=float("inf")))

    def to_dict(self) -> dict[str, Any]:
        """It as plain data, without the record."""
        names = ("network", "objective", "searcher", "inner", "seed", "budget", "evaluations")
        return {name: getattr(self, name) for name in names} | {
            "cost_model": self.space.model.spec,
            "space": self.space.name,
            "machines": self.space.machines,
            "limits": dict(self.space.limits),
            "pricings": self.pricings,
            "proofs": self.proofs,
            "best": self.best,
        }


@dataclass(frozen=True)
class Search:
    """Which searcher looks for the machine, by a budget of network evaluations; which for its mappings."""

    searcher: str
    budget: int
    seed: int = 0
    settings: Mapping[str, Any] | None = None
    inner: str | None = None
    inner_budget: int | None = None

    @property
    def charged(self) -> int:
        """The network evaluations that a sample of the outer search is. InputError for what no search is."""
        whole_number(self.budget, "budget")
        whole_number(self.seed, "seed", least=0)
        if self.inner is None or self.inner == CERTIFY:
            if self.inner_budget is not None:
                raise InputError("an inner budget is of an inner searcher: name one, and not 'certify'")
            return 1
        each = whole_number(INNER_BUDGET if self.inner_budget is None else self.inner_budget, "inner budget")
        if each > self.budget:
            raise InputError(f"the inner budget must be at most the budget of {self.budget:,}, got {each:,}")
        return each


def search_codesign(
    network: str,
    layers: tuple[Layer, ...],
    space: HardwareSpace,
    objective: str,
    search: Search,
    *,
    observers: Iterable[Observer] = (),
    out: Path | None = None,
) -> SearchedCodesign:
    """Search a space of machines with a network's mappings: see the top of this module.

    With `out`, a folder, samples are journalled, and a search that was interrupted goes on.
    """
    each, inner = search.charged, search.inner
    name = objective_named(objective).name
    joint = Joint(space, layers, name)
    problem = JointNetwork(joint)
    if inner is not None:
        machines = Joint(space, (), name)
        problem = TwoLevels(machines, layers_space=joint, inner=inner, samples=each, seed=search.seed)
        if inner != CERTIFY:
            make_searcher(inner)
    # A cell asks a problem for what JointNetwork has of one, and no more.
    searcher = make_searcher(search.searcher, search.settings)
    cell = Cell(problem, search.searcher, searcher, search.seed, search.budget // each)  # type: ignore[arg-type]
    record = _run(cell, observers, out)
    return SearchedCodesign(
        network=network,
        objective=name,
        space=space,
        searcher=search.searcher,
        inner=inner,
        inner_budget=each,
        seed=search.seed,
        budget=search.budget,
        evaluations=len(record) * each,
        pricings=0 if inner == CERTIFY else len(record) * each * len(layers),
        proofs=len(record) * len(layers) if inner == CERTIFY else 0,
        best=_best(problem, joint, record, each),
        record=record,
    )


def _run(cell: Cell, observers: Iterable[Observer], out: Path | None) -> Record:
    if out is None:
        return run_cell(cell, observers=observers)
    make_folder(out)
    with open_journal(cell, out / JOURNAL) as journal:
        record = run_cell(cell, journal, observers)
        if len(record) == cell.budget:
            write_parquet(record, out / RECORD, {"identity": cell.identity})
    return record


def _best(problem: JointNetwork, joint: Joint, record: Record, each: int) -> dict[str, Any] | None:
    if record.best is None:
        return None
    genes = record.genes(record.best, record.best + 1)[0]
    costs = record.evaluations(record.best, record.best + 1)
    mappings = problem.network_at(genes).mappings or problem.space.mappings_at(genes)
    chosen = Chosen(float(costs.loss[0]), float(costs.energy_nj[0]), int(costs.cycles[0]), tuple(mappings))
    found = Incumbent(tuple(genes[joint.parts[0]].tolist()), chosen)
    return described_design(joint.hardware, joint.layers, found) | {"evaluation": (record.best + 1) * each}
