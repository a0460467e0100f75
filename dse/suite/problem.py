"""A problem of a suite: what its file says, and an integer function with bounds, counted by the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dse.core.certificate import OPTIMAL, Certificate, Counts, priced_point
from dse.core.domains import problem_from_definition
from dse.core.problem import AnyProblem
from dse.search.callbacks import Callback
from dse.search.run import Cell
from dse.search.session import OUTSIDE, Outside, Session
from dse.search.start import OWN, start_points
from dse.suite.keeping import Kept
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.schema import Schema

if TYPE_CHECKING:
    from dse.suite.suites import Suite


@dataclass(frozen=True)
class Entry(Schema):
    """A problem as its suite's file has it: plain data.

    `definition` and `cost_model` make the problem, `fingerprint` is of all that they mean. `status`,
    `lower_bound`, `loss` and `genes` are those of its certificate.
    `templates` are the points of known dataflows, by name, and `random` points that were drawn once.
    """

    name: str
    cost_model: str
    definition: dict[str, Any]
    fingerprint: str
    status: str
    lower_bound: float
    loss: float
    genes: list[int]
    templates: dict[str, list[int]]
    random: list[list[int]]

    @property
    def proven(self) -> bool:
        """Whether nothing is better than `loss`."""
        return self.status == OPTIMAL

    @cached_property
    def problem(self) -> AnyProblem:
        """The problem itself. InputError where this version's rules or models make it another one."""
        found = problem_from_definition(self.definition, self.cost_model, self.name.partition(" on ")[0])
        if found.fingerprint != self.fingerprint:
            raise InputError(
                f"problem {self.name!r} is another one under this version of dse and its cost models; "
                "use the version that the suite was made with"
            )
        return found

    @cached_property
    def certificate(self) -> Certificate:
        """What is proven, its best mapping priced anew. InputError if it does not cost what is said."""
        best = priced_point(self.problem, self.genes)
        if best is None or best.loss != self.loss:
            raise InputError(f"problem {self.name!r}: its best mapping does not cost what the suite says")
        return Certificate(
            self.fingerprint,
            self.status,
            self.lower_bound,
            best,
            Counts(0, 0, 0, 0, 0, 0, self.problem.space.designs),
            0.0,
            cached=True,
            tiles=str(self.definition["tiles"]),
        )


@dataclass(frozen=True)
class SuiteProblem:
    """A problem of `suite`: `problem(x)` is the loss of a point, and `ask_tell` a run of a searcher."""

    suite: Suite = field(repr=False)
    entry: Entry

    @property
    def name(self) -> str:
        """Its layer, machine and objective."""
        return self.entry.name

    @property
    def problem(self) -> AnyProblem:
        """The problem itself. InputError where this version's rules or models make it another one."""
        return self.entry.problem

    @property
    def loss(self) -> float:
        """That of the best mapping that is known, the optimum where that is proven."""
        return self.entry.loss

    @cached_property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """The least and the largest value of each gene: (genes,) each, both allowed."""
        sizes = self.problem.space.sizes
        return np.zeros_like(sizes), sizes - 1

    def describe(self) -> Mapping[str, Any]:
        """What a searcher may know: everything but what is proven."""
        genes = [
            {"name": gene.name, "kind": gene.kind, "values": gene.size} for gene in self.problem.space.genes
        ]
        return {
            "name": self.name,
            "cost_model": self.entry.cost_model,
            **self.entry.definition,
            "genes": genes,
            "templates": self.entry.templates,
        }

    def ask_tell(
        self,
        budget: int | None = None,
        *,
        searcher: str = "mine",
        version: str = "1",
        saw: str = "nothing",
        seed: int = 0,
        start: str = OWN,
        out: Path | str | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Session:
        """A run of your searcher with so many samples, by default the suite's; see Session.

        `searcher` and `version` are what its record is called, `saw` says what it had seen of the problems
        before. With `start` "templates" the first samples are the known dataflows. With `out`, a folder, the
        run is kept there as a campaign keeps its cells, and `dse suite standing` and `dse report` read it.
        `callbacks` follow it (see Callback).
        """
        points = start_points(self.problem, start)
        made = Outside(searcher, version, saw, start)
        budget = self.suite.budget if budget is None else budget
        cell = Cell(self.problem, OUTSIDE, made, seed, budget, points)
        kept = None if out is None else Kept(Path(out), self, cell)
        return Session(cell, keep=None if kept is None else kept.keep, callbacks=callbacks)

    @cached_property
    def session(self) -> Session:
        """The run that `problem(x)` is counted in, of the suite's budget."""
        return self.ask_tell(searcher="function")

    def __call__(self, point: ArrayLike) -> float:
        """The loss of one point, `inf` where it is infeasible: a sample of `session`."""
        return self.session(point)
