"""What a suite's file says of a problem: what defines it, what is proven, where searches may begin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.core.certificate import OPTIMAL, Certificate, Counts, priced_point
from dse.core.domains import problem_from_definition
from dse.core.problem import AnyProblem
from dse.support.errors import InputError
from dse.support.schema import Schema


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
