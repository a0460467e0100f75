"""Open figures of the hardware that the solver can go through: one proof for each machine that may be best.

With more of a capacity or a rate no mapping costs more (see `dse.core.hardware_figures`), so that only the
most of these is tried. A machine whose floor is above the best of the others needs no proof.
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
from dse.domains.clustered.proof.certifiers import floor_of, refuse
from dse.domains.clustered.space.parts import PES, SPACES, allowed_values, figure_gene
from dse.support.arrays import IntArray
from dse.support.errors import InputError

MAX_MACHINES = 32
"""Of more machines there is a floor alone: co-design is made for them."""
SUMMED = ("groups", "too_large", "bounded", "solved", "open", "inner_levels")


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
    from dse.domains.clustered.proof.solver import solve_problem

    floors = [floor_of(one) for one in machines]
    best, bound, parts = None, inf, []
    for place in np.argsort(floors, kind="stable").tolist():
        # Floors rise from here on.
        if best is not None and floors[place] >= best.loss:
            break
        found = solve_problem(machines[place], clock)
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
