"""What is proven of phases: each once, and bounds for others from what relaxes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf, prod

from dse.core.certificate import INFEASIBLE, OPTIMAL, Certificate, priced_mapping
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Residence
from dse.optimum.chains.tilings import Size
from dse.optimum.network_options import LEAST_TIME

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


def share_of(one: Phase, other: Phase) -> float:
    """The share of what a phase costs at least that another cannot be below; 0 where nothing is known.

    Equal parts of a matrix product that are run one after another are a mapping of the whole one, with loops
    outside. Parts of its sums are so too where all of them go on with what comes.
    """
    if one.relaxes(other):
        return 1.0
    more_room = set(one.held) >= set(other.held) and one.taken <= other.taken
    if not more_room or one.returned > other.returned:
        return 0.0
    size, part = product_size(one.layer), product_size(other.layer)
    if size is None or part is None or any(whole % own for whole, own in zip(size, part, strict=True)):
        return 0.0
    if size[2] != part[2] and not other.returned:
        return 0.0
    return prod(part) / prod(size)


@lru_cache(maxsize=50_000)
def product_size(layer: Layer) -> Size | None:
    """Rows, columns and sums of a layer that is a matrix product; None of another."""
    size = (layer.Y, layer.K, layer.C)
    return size if layer == Layer.gemm(*size) else None


@dataclass
class Proofs:
    """Proofs under one objective, a sum such as `energy`; `siblings` are those under all, by its text."""

    residence: Residence
    problem: AnyProblem
    objective: str
    prove: Prove
    siblings: dict[str, Proofs] = field(default_factory=dict, repr=False)
    known: dict[Phase, Certificate | None] = field(default_factory=dict)
    """What is proven of each phase; None where there is no room."""
    _problems: dict[Phase, AnyProblem | None] = field(default_factory=dict)
    _alike: dict[Phase, list[Phase]] = field(default_factory=dict)
    """The phases in `known`, by what they are but for the room that is taken."""

    def __post_init__(self) -> None:
        self.siblings.setdefault(self.objective, self)

    def of(self, objective: str) -> Proofs:
        """Those under another objective."""
        if objective not in self.siblings:
            Proofs(self.residence, self.problem, objective, self.prove, self.siblings)
        return self.siblings[objective]

    @cached_property
    def _under_objective(self) -> AnyProblem:
        return self.problem.with_changes(objective=self.objective)

    def problem_of(self, phase: Phase) -> AnyProblem | None:
        """The phase's problem; None where there is no room."""
        if phase not in self._problems:
            self._problems[phase] = self.residence.problem(self._under_objective, phase)
        return self._problems[phase]

    def settle(self, phase: Phase) -> None:
        """Prove the phase, if that has not been done.

        An optimum of a phase that has more room, and is the same otherwise, is this one's where it fits. So
        of phases that differ in room only the roomiest is proven, and others where its optimum does not fit.
        Of the first one met it is proven too, where the whole layer fits into what room is left.
        """
        if phase in self.known:
            return
        problem, roomiest = self.problem_of(phase), replace(phase, taken=0)
        alike = self._alike.get(roomiest, [])
        if problem is not None and phase != roomiest and (alike or self._fits_whole(phase)):
            self.settle(roomiest)
        found = None if problem is None else self._inherited(problem, phase) or self.prove(problem)
        self.known[phase] = found
        self._alike.setdefault(roomiest, []).append(phase)

    def _fits_whole(self, phase: Phase) -> bool:
        """Whether there is room for all of a layer's tensors beside what stays: no tiles of it need more."""
        problem = self.problem_of(replace(phase, taken=0))
        if problem is None or self._room is None:
            return False
        return phase.taken + sum(self.residence.sizes(problem).values()) <= self._room

    @cached_property
    def _room(self) -> int | None:
        home = self.residence.home(self.problem)
        return None if home is None else home.room

    def _inherited(self, problem: AnyProblem, phase: Phase) -> Certificate | None:
        """The optimum of a phase with more room, if it fits here; None if none does."""
        for one in self._alike.get(replace(phase, taken=0), []):
            known = self.known[one]
            if known is None or known.best is None or known.status != OPTIMAL or one.taken > phase.taken:
                continue
            best = priced_mapping(problem, known.best.mapping)
            if best is not None and best.loss == known.lower_bound:
                return replace(known, fingerprint=problem.fingerprint, best=best, seconds=0.0)
        return None

    def bound(self, phase: Phase) -> float:
        """What the phase cannot cost less than, of all that is proven."""
        if phase in self.known:
            return self._least(phase)
        shares = ((one, share_of(one, phase)) for one in self.known)
        return max((share * self._least(one) for one, share in shares if share), default=0.0)

    def best(self, phase: Phase) -> float:
        """What a mapping that is known costs; inf if there is none."""
        found = self.known.get(phase)
        return inf if found is None or found.best is None else found.best.loss

    def _least(self, phase: Phase) -> float:
        found = self.known[phase]
        return inf if found is None or found.status == INFEASIBLE else found.lower_bound
