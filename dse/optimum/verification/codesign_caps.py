"""Checking co-design under caps: what caps add to the lines of a box, and sums of fronts, in other code.

Below, `rate` is what a cap on mean power leaves of energy, in nJ a cycle, and `most` the cycles that a cap on
latency leaves; both are inf without. Nothing here imports the solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.domains import make_problem
from dse.core.objective import Objective, objective_named
from dse.core.proofs import Check

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

ROUNDED = 1e-9
SLACK = 1e-12
DRAWN_BOXES, DRAWN_MAPPINGS = 4, 2_000


def keeps_caps(found: Codesign, joules: float, seconds: float) -> bool:
    """Whether a run keeps the caps, but for rounding."""
    longest, power = found.caps.get("max_latency", math.inf), found.caps.get("max_power", math.inf)
    return seconds <= longest * (1 + SLACK) and joules <= power * seconds * (1 + SLACK)


def caps_room(found: Codesign, cycle_seconds: float) -> tuple[float, float]:
    """The `rate` and the `most` of the caps."""
    rate = found.caps.get("max_power", math.inf) * cycle_seconds * 1e9 * (1 + SLACK)
    return rate, found.caps.get("max_latency", math.inf) / cycle_seconds * (1 + SLACK)


def energy_border(lines: Sequence[Any], rate: float, most: float) -> tuple[list[Any], float] | None:
    """What bounds cycles from below as energy grows, and the least energy; None where nothing is left."""
    sloped = [line for line in lines if line["cycles"]]
    if rate < math.inf:
        sloped = [*sloped, {"energy": -1 / rate, "cycles": 1.0, "least": 0.0}]
    first = max([line["least"] / line["energy"] for line in lines if not line["cycles"]], default=0.0)
    for line in sloped:
        left = line["least"] - line["cycles"] * most if most < math.inf else 0.0
        if line["energy"] > 0:
            first = max(first, left / line["energy"])
        elif line["energy"] == 0 and left > 0:
            return None
    return None if first / rate > most else (sloped, first)


def least_of_fronts(found: Codesign, box: Any, cycle_seconds: float) -> float:
    """The least value of sums of the fronts of a box within the caps, or its bound where that is lower."""
    objective = objective_named(found.objective)
    rate, most = caps_room(found, cycle_seconds)
    bound = math.inf if box["bound"] is None else box["bound"]
    if any(not front for front in box["fronts"]):
        return math.inf
    fronts = [times * np.array(front, float) for times, front in zip(found.times, box["fronts"], strict=True)]
    weights = sorted(line["cycles"] / line["energy"] for line in box["lines"] if line["energy"])
    sums = np.zeros((1, 2))
    for place, front in enumerate(fronts):
        sums = _front((sums[:, np.newaxis] + front).reshape(-1, 2))
        rest = fronts[place + 1 :]
        least = sums + np.sum([one.min(axis=0) for one in rest], axis=0) if rest else sums
        hopeful = _values(objective, _waiting(least, rate, most), cycle_seconds) < bound * (1 - ROUNDED)
        for weight in weights:
            more = sum(float((one[:, 1] + weight * one[:, 0]).min()) for one in rest)
            line = sums[:, 1] + weight * sums[:, 0] + more
            values = _along(objective, least, line, weight, (rate, most), cycle_seconds)
            hopeful &= values < bound * (1 - ROUNDED)
        sums = sums[hopeful]
    values = _values(objective, _waiting(sums, rate, most), cycle_seconds)
    return float(min(values.min(initial=math.inf), bound))


def _front(points: Any) -> Any:
    """Of points (n, 2), those that no other is as good as in both."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    before = np.minimum.accumulate(np.append(np.inf, points[:-1, 1]))
    return points[points[:, 1] < before]


def _waiting(points: Any, rate: float, most: float) -> Any:
    """Cycles and energies where a run that takes too much energy waits; inf for what takes too long then."""
    cycles = np.maximum(points[:, 0], points[:, 1] / rate)
    return np.stack([np.where(cycles > most, np.inf, cycles), points[:, 1]], axis=1)


def _along(
    objective: Objective, least: Any, line: Any, weight: float, caps: tuple[float, float], seconds: float
) -> Any:
    """The least value where energy + weight * cycles is on a line, and neither is below its least."""
    rate, most = caps
    begin = np.maximum.reduce([least[:, 0], least[:, 1] / rate, line / (rate + weight)])
    end = np.full_like(begin, most)
    if weight > 0:
        end = np.minimum(end, np.maximum(begin, (line - least[:, 1]) / weight))
    found = np.full_like(begin, np.inf)
    for cycles in (begin, np.where(np.isinf(end), begin, end)):
        energy = np.maximum(least[:, 1], line - weight * cycles)
        points = np.stack([cycles, energy], axis=1)
        found = np.minimum(found, _values(objective, points, seconds))
    return np.where(begin > most, np.inf, found)


def _values(objective: Objective, points: Any, cycle_seconds: float) -> Any:
    """The objective of cycles and energies (n, 2)."""
    figures = {"energy": points[:, 1] * 1e-9, "latency": points[:, 0] * cycle_seconds}
    if objective.weights:
        return sum(weight * figures[figure.name] for figure, weight in objective.weights)
    return math.prod(figures[figure.name] ** power for figure, power in objective.terms)


def fronts_hold(found: Codesign, rng: np.random.Generator) -> Check:
    """Whether no mapping drawn at random is beyond the fronts that boxes were settled by."""
    boxes = [box for box in found.certificate["boxes"] if box.get("fronts")]
    beyond = drawn = 0
    for at in rng.permutation(len(boxes))[:DRAWN_BOXES].tolist():
        machine = found.space.machine(tuple(int(last) for _, last in boxes[at]["box"]))
        for layer, front in zip(found.layers, boxes[at]["fronts"], strict=True):
            problem = make_problem(layer, machine.hardware, "edp", machine.model)
            priced = problem.price(problem.space.sample(rng, DRAWN_MAPPINGS))
            points = np.array(sorted(front), float).reshape(-1, 2)
            cheap = np.append(np.inf, np.minimum.accumulate(points[:, 1]))
            fits = priced.reason == 0
            place = np.searchsorted(points[:, 0], priced.cycles[fits], side="right")
            beyond += int((priced.energy_nj[fits] < cheap[place] * (1 - ROUNDED)).sum())
            drawn += int(fits.sum())
    seen = f"{len(boxes):,} machines settled by fronts, {drawn:,} mappings drawn"
    return Check("random mappings are not beyond the fronts", not beyond, seen)
