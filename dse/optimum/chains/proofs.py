"""What is proven of phases: each once, and bounds for others from what relaxes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from dse.core.certificate import INFEASIBLE, Certificate
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Residence

Prove = Callable[[AnyProblem], Certificate]


@dataclass
class Proofs:
    """Proofs under one objective, a sum such as `energy`; `make` gives a layer's problem."""

    residence: Residence
    problem: AnyProblem
    objective: str
    prove: Prove
    known: dict[Phase, Certificate | None] = field(default_factory=dict)

    def problem_of(self, phase: Phase) -> AnyProblem | None:
        """The phase's problem; None where there is no room."""
        return self.residence.problem(self.problem.with_changes(objective=self.objective), phase)

    def settle(self, phase: Phase) -> None:
        """Prove the phase, if that has not been done."""
        if phase not in self.known:
            problem = self.problem_of(phase)
            self.known[phase] = None if problem is None else self.prove(problem)

    def bound(self, phase: Phase) -> float:
        """What the phase cannot cost less than, of all that is proven."""
        if phase in self.known:
            return self._least(phase)
        return max((self._least(one) for one in self.known if one.relaxes(phase)), default=0.0)

    def best(self, phase: Phase) -> float:
        """What a mapping that is known costs; inf if there is none."""
        found = self.known.get(phase)
        return inf if found is None or found.best is None else found.best.loss

    def _least(self, phase: Phase) -> float:
        found = self.known[phase]
        return inf if found is None or found.status == INFEASIBLE else found.lower_bound
