"""Several objectives in a study: what a run's front lacks of the exact one stands for its loss.

The loss of a run after so many samples is 1 plus the share of the exact front's hypervolume that is missing
(`dse.optimum.front` says of what): 1 has the whole front, 2 has nothing that counts. Where no front is
proven, that of all that the campaign has found takes its place, and 1 is the best known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.analysis.reduction import NamedTriple, problem_of
from dse.campaign.summary import STEPS, Summary
from dse.core.objective import names_several
from dse.optimum.front import BEYOND
from dse.search.fronts import dominated_volume, nondominated_rows, volumes_after
from dse.support.arrays import FloatArray

MISSING = "1 + missing hypervolume"
"""The name of that loss."""
ROUNDING = 1e-12
"""Sums of volumes may be rounded otherwise: within this, a run has the whole front."""


def judged_by_hypervolume(summaries: Sequence[Summary], about: Mapping[str, Any]) -> list[Summary]:
    """The same with losses, where there are several objectives."""
    fronts: dict[NamedTriple, list[Summary]] = defaultdict(list)
    for cell in summaries:
        if names_several(cell.objective):
            fronts[problem_of(cell)].append(cell)
    found: dict[str, Summary] = {}
    for (layer, accelerator, objective), cells in fronts.items():
        optimum = about.get("optima", {}).get(f"{layer} on {accelerator}, {objective}", {})
        exact = _reference(optimum, cells)
        found |= {cell.key: _judged(cell, exact) for cell in cells}
    return [found.get(cell.key, cell) for cell in summaries]


def _reference(optimum: Mapping[str, Any], cells: Iterable[Summary]) -> FloatArray:
    """Logarithms of the cycles and the energy (points, 2) of what is exact, or best known."""
    points = np.array(optimum.get("front", [])).reshape(-1, 2)
    if optimum.get("status") != "optimal":
        points = np.concatenate([points, *map(_points, cells)])
    points = points[nondominated_rows(points)]
    logarithms: FloatArray = np.log(points)
    return logarithms


def _points(cell: Summary) -> FloatArray:
    """The cycles and the energy of the samples that moved a run's front: (n, 2)."""
    return np.column_stack([np.asarray(cell.steps[name], np.float64) for name in ("cycles", "energy_nj")])


def _judged(cell: Summary, exact: FloatArray) -> Summary:
    index = np.asarray(cell.steps["index"], np.int64)
    if not len(index):
        return cell
    corner = exact.max(axis=0) + np.log(BEYOND)
    found = volumes_after(index, np.log(_points(cell)), corner, (index + 1).tolist())
    missing = 1.0 - found / dominated_volume(exact, corner)
    missing[abs(missing) < ROUNDING] = 0.0
    before = np.minimum.accumulate(np.concatenate([[np.inf], missing[:-1]]))
    kept = np.flatnonzero(missing < before)
    steps = {name: np.asarray(cell.steps[name])[kept].tolist() for name in STEPS}
    return replace(cell, steps=steps | {"loss": (1.0 + missing[kept]).tolist()})
