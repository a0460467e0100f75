"""Fronts of several objectives, and how much of the space of figures they dominate (moocore)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dse.core.objective import parse_objectives
from dse.core.problem import AnyProblem
from dse.search.record import Record
from dse.support.arrays import FloatArray, IntArray


def nondominated_rows(values: FloatArray) -> IntArray:
    """The rows of (n, objectives) that no other is better than, by the first figure; of equals the first."""
    import moocore

    if not len(values):
        return np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(moocore.is_nondominated(values))
    return rows[np.lexsort(values[rows].T[::-1])]


def entering_rows(values: FloatArray) -> IntArray:
    """The rows of (n, objectives) that no earlier one is better than or equal to: those that move a front."""
    known, rows = np.empty((0, values.shape[1])), []
    for row, value in enumerate(values):
        if not (known <= value).all(axis=1).any():
            known = np.concatenate([known[~(value <= known).all(axis=1)], value[np.newaxis]])
            rows.append(row)
    return np.array(rows, dtype=np.int64)


def front_of(problem: AnyProblem, record: Record) -> tuple[IntArray, FloatArray]:
    """The samples on the front of a record, and their figures (n, objectives)."""
    feasible, values = feasible_values(problem, record)
    rows = nondominated_rows(values)
    return feasible[rows], values[rows]


def front_entries(problem: AnyProblem, record: Record) -> list[dict[str, Any]]:
    """The front of a record as plain data: an entry a point, with the sample that found it."""
    rows, values = front_of(problem, record)
    names = [one.name for one in parse_objectives(problem.objective)]
    found = []
    for index, figures in zip(rows.tolist(), values.tolist(), strict=True):
        genes, point = record.genes(index, index + 1), record.evaluations(index, index + 1)
        found.append(
            dict(zip(names, figures, strict=True))
            | {
                "index": index,
                "cycles": int(point.cycles[0]),
                "energy_nj": float(point.energy_nj[0]),
                "l1_size": int(point.l1_size[0]),
                "l2_size": int(point.l2_size[0]),
                "genes": genes[0].tolist(),
                "mapping": problem.space.decode(genes)[0].to_dict(),
            }
        )
    return found


def feasible_values(problem: AnyProblem, record: Record) -> tuple[IntArray, FloatArray]:
    """The feasible samples of a record, and their figures (n, objectives)."""
    costs = record.evaluations()
    known = replace(costs, criteria=problem.criteria.of_points(record.genes()))
    feasible = np.flatnonzero(costs.reason == 0)
    return feasible, known.objective_values[feasible]


def dominated_volume(values: FloatArray, reference: FloatArray) -> float:
    """The volume of what some points (n, objectives) dominate up to the reference (objectives,)."""
    import moocore

    return float(moocore.hypervolume(values, ref=reference)) if len(values) else 0.0


def volumes_after(
    samples: IntArray, values: FloatArray, reference: FloatArray, after: Sequence[int]
) -> FloatArray:
    """The hypervolume that a search has found after so many samples, ascending: (len(after),).

    `values` (n, objectives) are those of `samples`, the numbers of the feasible ones, ascending.
    """
    found, known = [], np.empty((0, len(reference)))
    for begin, end in pairwise((0, *after)):
        new = values[np.searchsorted(samples, begin) : np.searchsorted(samples, end)]
        known = np.concatenate([known, new])
        known = known[nondominated_rows(known)]
        found.append(dominated_volume(known, reference))
    return np.array(found)
