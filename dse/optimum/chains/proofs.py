"""What is proven of phases: each once, and bounds for others from what relaxes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import inf

from dse.core.certificate import INFEASIBLE, Certificate
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Residence
from dse.optimum.network_time import LEAST_TIME

Prove = Callable[[AnyProblem], Certificate]


def shared_out(
    prove: Callable[[AnyProblem, float | None], Certificate], clock: Clock, layers: Iterable[Layer]
) -> Prove:
    """Proofs of layers that leave one another their parts of a clock's time; `prove` is told the seconds.

    Each layer is proven twice before any path is chosen: where nothing stays, and where all that can does.
    """
    waiting = set(layers)

    def one(problem: AnyProblem) -> Certificate:
        share = max(clock.left / (2 * len(waiting) + 1), LEAST_TIME)
        waiting.discard(problem.layer)
        return prove(problem, None if share == inf else share)

    return one


@dataclass
class Proofs:
    """Proofs under one objective, a sum such as `energy`; `every` has those under any."""

    residence: Residence
    problem: AnyProblem
    objective: str
    prove: Prove
    every: dict[str, dict[Phase, Certificate | None]] = field(default_factory=dict)

    @property
    def known(self) -> dict[Phase, Certificate | None]:
        """What is proven of each phase; None where there is no room."""
        return self.every.setdefault(self.objective, {})

    def of(self, objective: str) -> Proofs:
        """Those under another objective."""
        return replace(self, objective=objective)

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
