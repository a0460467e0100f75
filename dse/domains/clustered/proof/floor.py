"""What is certain where the solvers do not reach: a bound of all mappings, and a good mapping above it.

The solvers go through the mappings of the default space on one machine, and where a cost model `takes_space`,
of others. Of a space that it does not (more dims are cut, figures of the hardware are open), and of the area
that a mapping needs, certain is the *floor*:

* latency, energy: what the model's proofs start from (`Bounds.floor`), on the best of each figure of the
  hardware that is open: the most PEs, the widest links. No feasible mapping takes fewer cycles than the
  layer's MACs on all lanes; under `maestro` the energy counts each element of the inputs and weights once
  besides what is moved, under `loopnest` every word is moved once. A filter in pieces changes none of that.
* area: the fewest PEs (`maestro`, whose area counts all there are) or one (`loopnest`, which counts those at
  work) with buffers for tiles of one output.
* a product of their powers: the product of these.

Of a few machines, by other figures than the PEs, the solver proves the optimum (`machines`). Elsewhere the
mapping is the best that a few descents find. Where it meets the floor it is proven to be optimal.
"""

from __future__ import annotations

from dse.core.certificate import BOUNDED, OPTIMAL, Certificate, Counts, priced_point
from dse.core.clock import Clock
from dse.core.objective import objective_named
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of, floor_of
from dse.domains.clustered.proof.descent import best_descent
from dse.domains.clustered.proof.machines import each_machine, solve_each
from dse.support.errors import InputError

FIGURES = ("latency", "energy", "area")


def refuse_floor(problem: Problem) -> None:
    """InputError for an objective that has no floor, or for tiles of any size."""
    if problem.tiles != "factors":
        raise InputError(
            "of tiles 'any' the area that a mapping needs, and other spaces, cannot be certified; choose "
            "tiles 'factors'"
        )
    if not objective_named(problem.objective).figures.keys() <= set(FIGURES):
        raise InputError(
            f"in the space {problem.parts.name or 'of these parts'!r} {', '.join(FIGURES)} and "
            f"products of their powers such as 'edp' have a bound, got {problem.objective!r}"
        )


def solve_problem(
    problem: Problem, clock: Clock | None = None, known: Certificate | None = None
) -> Certificate:
    """The floor of a problem that has no more, and a good mapping above it: within seconds.

    They are found so soon that what is `known` of them need not be kept, nor used.
    """
    clock = clock or Clock()
    if machines := each_machine(problem):
        return solve_each(problem, machines, clock)
    objective = objective_named(problem.objective)
    # No mapping is below the product of what its figures are not below.
    floor = objective.total({figure: _least(problem, figure) for figure in objective.figures})
    point = best_descent(problem, floor, clock)
    best = None if point is None else priced_point(problem, point)
    return Certificate(
        fingerprint=problem.fingerprint,
        status=OPTIMAL if best is not None and best.loss <= floor else BOUNDED,
        lower_bound=floor,
        best=best,
        counts=Counts(0, 0, 0, 0, 0, 0, problem.space.mappings),
        seconds=clock.seconds,
    )


def _least(problem: Problem, figure: str) -> float:
    """The floor of one of FIGURES."""
    if figure == "area":
        return certifier_of(problem).least_area(problem)
    machine = problem.space.parts.most_capable(problem.accelerator)
    known = Problem(problem.layer, machine, figure, problem.model)
    certifier_of(known).refuse(known)
    return floor_of(known)
