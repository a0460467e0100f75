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

Of a few machines, by other figures than the PEs, the solver proves the optimum: one proof for each that may
be best. With more of a capacity or a rate no mapping costs more (see `dse.core.hardware_figures`), so that
only the most of these is tried; one whose floor is above the best of the others needs no proof. Elsewhere the
mapping is the best that a few descents find. Where it meets the floor it is proven to be optimal.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, Counts, priced_point
from dse.core.clock import Clock
from dse.core.hardware_figures import CAPACITY, RATE
from dse.core.objective import objective_named
from dse.domains.clustered.figures import ClusteredFigures
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of, floor_of, refuse
from dse.domains.clustered.proof.descent import best_descent
from dse.domains.clustered.space.parts import PES, SPACES, allowed_values, figure_gene
from dse.support.arrays import IntArray
from dse.support.errors import InputError

FIGURES = ("latency", "energy", "area")
MAX_MACHINES = 32
"""Of more machines there is a floor alone: co-design is made for them."""
SUMMED = ("groups", "too_large", "bounded", "solved", "open", "inner_levels")


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


def each_machine(problem: Problem) -> list[Problem]:
    """The problem on each machine that may be best; none where the solver cannot go through them.

    With the number of PEs open, clusters may leave PEs idle: no machine's own space has these.
    """
    parts = problem.parts
    if replace(parts, hardware=()) != SPACES["default"] or not parts.hardware or PES in parts.figures:
        return []
    if objective_named(problem.objective).of_need:
        return []
    kinds = ClusteredFigures().figures(problem.accelerator, problem.model)
    fixed = problem.space.fixed
    left = {name: allowed_values(fixed, figure_gene(name)) or values for name, values in parts.hardware}
    choices = {
        name: (max(values),) if kinds[name].kind in (CAPACITY, RATE) else values
        for name, values in left.items()
    }
    if np.prod([len(values) for values in choices.values()]) > MAX_MACHINES:
        return []
    of_mappings = {gene: value for gene, value in fixed.items() if gene in SPACES["default"].gene_names}
    found = []
    for values in product(*choices.values()):
        machine = replace(problem.accelerator, **dict(zip(choices, values, strict=True)))
        one = replace(problem, accelerator=machine, space="default", fixed=of_mappings)
        try:
            refuse(one)
        except InputError:
            return []
        found.append(one)
    return found


def solve_each(problem: Problem, machines: list[Problem], clock: Clock) -> Certificate:
    """The optimum over all machines, or what the time of `clock` is enough for."""
    from dse.domains.clustered.proof import solver

    floors = [floor_of(one) for one in machines]
    best, bound, parts = None, inf, []
    for place in np.argsort(floors, kind="stable").tolist():
        # Floors rise from here on.
        if best is not None and floors[place] >= best.loss:
            break
        found = solver.solve_problem(machines[place], clock)
        parts.append(found.counts)
        bound = min(bound, found.lower_bound)
        if found.best is not None and (best is None or found.best.loss < best.loss):
            best = priced_point(problem, _point(problem, machines[place], found.best.mapping))
    status = INFEASIBLE if bound == inf else BOUNDED
    if best is not None and bound >= best.loss:
        status, bound = OPTIMAL, best.loss
    sums = {name: sum(getattr(one, name) for one in parts) for name in SUMMED}
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=bound,
        best=best,
        counts=Counts(**sums, mappings=problem.space.mappings),
        seconds=clock.seconds,
    )


def _point(problem: Problem, on: Problem, mapping: Mapping) -> IntArray:
    """The gene vector of a mapping on one of the machines."""
    batch = replace(MappingBatch.of([mapping]), machines=np.array([on.accelerator.machine_row], np.int64))
    return np.asarray(problem.space.encode(batch)[0], np.int64)
