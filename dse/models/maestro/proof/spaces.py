"""Boxes of spaces of other parts: PE counts are open, clusters as large as tiles fit, filters may be cut.

PEs that make up no whole cluster idle, so a machine counts by the number of its clusters: one machine stands
for all that have as many, and for all with more clusters than the outer parallel dim has indices.
Where clusters fit, the inner parallel dim is chosen at a root, and decides with the cluster size its inner
tile. MAESTRO takes a filter dim in pieces only where that is the parallel one:

* at the inner level its pieces are a cluster, and each tile of the other dims has a PE's piece fewer outputs
  than positions (`more` of a BOX);
* at the outer level, whole, it leaves one cluster at work, as one cluster does along any dim;
* at the outer level in pieces it is the inner parallel dim too, so that no more PEs work than the filter has
  rows or columns. These mappings have a floor and no boxes (`cut_floor`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dse.core.chains import find_divisors
from dse.core.objective import objective_named
from dse.domains.clustered.accelerator import MACHINE_FIGURES
from dse.domains.clustered.mapping import COLUMNS, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import cluster_sizes, parallel_choices, parallel_dims
from dse.domains.clustered.space.genes import allowed_values
from dse.domains.clustered.space.parts import FIT, LEVELS, MAPPED_DIMS, PES
from dse.models.maestro.proof.boxes import MaestroBoxes
from dse.models.maestro.proof.outer import energy_nj
from dse.models.maestro.proof.records import DIMS, C, machine_record
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from dse.support.numerics.losses import loss_value

FILTER = ("R", "S")
WORK = {"latency", "energy"}
"""Figures that depend on time and traffic alone."""


@dataclass(frozen=True)
class SpaceBoxes(MaestroBoxes):
    """The boxes of a problem in a space that `takes_parts` lets through."""

    kind: ClassVar[str] = "PE count, cluster size, parallel dims and intervals of tiles"
    begin_late: ClassVar[bool] = False

    @property
    def _pes(self) -> list[int]:
        fixed = allowed_values(self.problem.space.fixed, PES)
        return [int(count) for count in fixed or self.problem.parts.values_of(PES, self.problem.accelerator)]

    def _choices(self) -> list[tuple[int, ...]]:
        """See MaestroBoxes."""
        sizes = dict(enumerate(self.problem.space.layer.loops[dim] for dim in MAPPED_DIMS))
        outers = parallel_dims(self.problem)[0]
        found: list[tuple[int, ...]] = []
        # One cluster at work, along whichever dim.
        alone = any(dim in parallel_choices(self.problem, "outer") for dim in FILTER)
        for cluster, inner in self._clusters():
            able = [count for count in self._pes if count >= cluster]
            for outer in outers:
                # Of machines with as many clusters the first one.
                clusters = {min(count // cluster, sizes[outer] + 1): count for count in reversed(able)}
                found += [(cluster, outer, inner, each, count) for each, count in clusters.items()]
            if alone and able:
                found.append((cluster, C, inner, 1, able[0]))
        return found

    def with_all(self) -> MaestroBoxes:
        """InputError: one machine stands for all that cost the same."""
        raise InputError(
            "under cost model 'maestro' mappings near the optimum are listed in space 'default' only, not in "
            "one with open PE counts"
        )

    def _clusters(self) -> Iterator[tuple[int, int]]:
        """Cluster sizes with the inner parallel dim that they fit along, -1 where any may be."""
        problem, loops = self.problem, self.problem.space.layer.loops
        if problem.parts.cluster != FIT:
            yield from ((int(size), -1) for size in cluster_sizes(problem))
            return
        lone = False
        for number, dim in enumerate(FILTER):
            if dim in parallel_choices(problem, "inner"):
                yield from ((size, DIMS + number) for size in find_divisors(loops[dim])[int(lone) :])
                lone = True
        for inner in parallel_dims(problem)[1]:
            # A lone PE has the whole of its parallel dim; that of a filter leaves it any tiles of the others.
            sizes = find_divisors(loops[MAPPED_DIMS[inner]])[int(lone) :]
            yield from ((size, inner) for size in sizes)

    def _losses(self, rows: IntArray) -> FloatArray:
        """See MaestroBoxes."""
        return self.problem.evaluate(self._batch(rows)).loss

    def _batch(self, rows: IntArray) -> MappingBatch:
        machines = np.tile(np.array(self.problem.accelerator.machine_row, np.int64), (len(rows), 1))
        machines[:, MACHINE_FIGURES.index(PES)] = rows[:, COLUMNS]
        return MappingBatch(np.ascontiguousarray(rows[:, :COLUMNS]), machines)

    def point_of(self, design: Any) -> IntArray:
        """The gene vector of a row that was settled."""
        found: IntArray = self.problem.space.encode(self._batch(design[np.newaxis]))[0]
        return found

    def cut_floor(self) -> float:
        """What no mapping is below that cuts a filter dim at the outer level; inf where none does.

        Its PEs are no more than the dim has rows or columns. Inputs are read once at least, and so are
        weights, but for a piece of each filter.
        """
        layer, machine = self.problem.space.layer, machine_record(self.problem)[0]
        outer, inner = (set(parallel_choices(self.problem, level)) for level in LEVELS)
        windows = [layer.loops[dim] for dim in FILTER if dim in outer & inner and layer.loops[dim] > 1]
        inputs, weights = layer.C * layer.loops["Y"] * layer.loops["X"], int(self.given.layers["weights"][0])
        terms = objective_named(self.problem.objective).rows(("cycles", "energy_nj"))
        least = math.inf
        for window in windows:
            cycles = -(-layer.macs // int(window * machine.lanes))
            # With clusters that idle, MAESTRO reads the last piece in the first step only (`start_new` in
            # `spread`, of no rest). The fewest pieces are the largest.
            read = weights - weights // find_divisors(window)[1]
            energy = energy_nj.py_func(self.given.layers[0], inputs, read, 0)
            least = min(least, float(loss_value(terms, (cycles / machine.hertz, energy))))
        return least


def takes_parts(problem: Problem) -> bool:
    """Whether a problem's space of other parts has boxes: see the module."""
    parts = problem.parts
    fixed = {name for name in problem.space.fixed if name.endswith(".order") or name[-1] in FILTER}
    return (
        set(parts.figures) == {PES}
        and set(MAPPED_DIMS) <= set(parts.dims)
        and (parts.cluster == FIT or parts.dims == MAPPED_DIMS)
        and not fixed
        and not problem.limits
        and problem.tiles == "factors"
        and objective_named(problem.objective).figures.keys() <= WORK
    )
