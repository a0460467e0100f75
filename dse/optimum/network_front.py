"""A network's front of total latency and energy, from the exact fronts of its layers.

Every layer has one mapping, as everywhere here, however often it repeats. The totals of all choices are added
up layer by layer, and what is beaten in both is left out as soon as it is: no point of the front is lost by
that. Where there are too many, of points whose latencies are within a factor the one of least energy stands
for all; `epsilon` says by how much, as a share, a point of the exact front may be faster than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.problem import AnyProblem
from dse.optimum.front import Front, as_dict, certify_front
from dse.optimum.network_options import DEFAULTS, NetworkOptions, NetworkTime
from dse.search.network import layer_file
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.files import make_folder, write_json

MAX_POINTS, MAX_PARTIAL = 1000, 50_000
"""Of a network's front, and of one that is added up so far."""
FRONT, FRONTS = "front.json", "fronts"


@dataclass(frozen=True)
class Sums:
    """Points of a front (n,), the fastest first: cycles, energy, and each layer's point (n, layers).

    A point of the exact front is at most a share `epsilon` better in either than one of these.
    """

    cycles: FloatArray
    energy: FloatArray
    choices: IntArray
    epsilon: float = 0.0

    def __len__(self) -> int:
        return len(self.cycles)

    def at(self, places: IntArray | BoolArray) -> Sums:
        """Some of them."""
        return replace(
            self, cycles=self.cycles[places], energy=self.energy[places], choices=self.choices[places]
        )

    def with_layer(self, cycles: FloatArray, energy: FloatArray) -> Sums:
        """The front of these sums with a point of one more layer."""
        steps, spent = (self.cycles[:, np.newaxis] + cycles).ravel(), self.energy[:, np.newaxis] + energy
        kept = undominated_points(steps, spent.ravel())
        before, after = kept // len(cycles), kept % len(cycles)
        choices = np.concatenate([self.choices[before], after[:, np.newaxis]], axis=1)
        return Sums(steps[kept], spent.ravel()[kept], choices, self.epsilon)


NO_LAYERS = Sums(np.zeros(1), np.zeros(1), np.zeros((1, 0), np.int64))


def summed_fronts(fronts: Sequence[tuple[FloatArray, FloatArray]], most: int = MAX_POINTS) -> Sums:
    """The front of sums of a point of each of some fronts, each given by its cycles and energy."""
    found = NO_LAYERS
    for cycles, energy in fronts:
        found = thinned_points(found.with_layer(cycles, energy), MAX_PARTIAL)
    return thinned_points(found, most)


def undominated_points(cycles: FloatArray, joules: FloatArray) -> IntArray:
    """The places of the points (n,) that none is better than or equal to, the fastest first."""
    order = np.lexsort((joules, cycles))
    cheap = joules[order]
    best = np.minimum.accumulate(cheap)
    first = np.ones(len(order), dtype=bool)
    first[1:] = cheap[1:] < best[:-1]
    return order[first]


def thinned_points(points: Sums, most: int) -> Sums:
    """At most so many of the points, of which each is near one, with the `epsilon` that this costs."""
    if len(points) <= most:
        return points
    heights = np.log(points.cycles / points.cycles[0])
    few, many = heights[-1] / len(points) / 16, heights[-1]
    for _ in range(60):
        middle = math.sqrt(few * many)
        few, many = (few, middle) if len(_last_of(heights, middle)) <= most else (middle, many)
    kept = _last_of(heights, many)
    epsilon = (1.0 + points.epsilon) * math.exp(many) * (1.0 + 1e-12) - 1.0
    return replace(points.at(kept), epsilon=epsilon)


def _last_of(heights: FloatArray, width: float) -> IntArray:
    """The places of the last point in each interval of the width, and of the first point."""
    intervals = np.floor(heights / width).astype(np.int64)
    last: IntArray = np.flatnonzero(np.append(intervals[1:] != intervals[:-1], True))
    return last if last[0] == 0 else np.append(0, last)


def certify_layer_front(
    spec: str,
    accelerator: str,
    problem: AnyProblem,
    *,
    time_limit: float | None = None,
    cache: bool | str | Path = True,
    check: bool = False,
    out: Path | None = None,
) -> dict[str, Any]:
    """Prove the front of one layer, as plain data, its repeats left out; with `out`, it is written."""
    if out is not None:
        make_folder(out)
    entry = as_dict(certify_front(problem, time_limit, cache=cache), spec, accelerator, check=check)
    if out is not None:
        write_json(out / FRONT, entry)
    return entry


def certify_network_front(
    network: str,
    accelerator: str,
    problems: Mapping[str, AnyProblem],
    options: NetworkOptions = DEFAULTS,
    *,
    out: Path | None = None,
    observe: Callable[[str], None] = lambda layer: None,
) -> dict[str, Any]:
    """Prove the front of each of a network's layers, given by their full names, and add up the network's.

    Plain data: `layers` with the front of each, and `points` with total `latency` (s) and `energy` (J), and
    by layer which of its points, counted from 0. With a layer whose front is not whole, `status` is
    `bounded`, and `points` are of what is proven. With `out`, a folder, they are written.
    """
    if out is not None:
        make_folder(out, FRONTS)
    fronts: list[Front] = []
    layers = []
    time = NetworkTime(options.time_limit, options.in_all, len(problems))
    for place, (spec, problem) in enumerate(problems.items()):
        fronts.append(certify_front(problem, time.of_next(spec), cache=options.cache))
        time.note(spec, fronts[-1])
        time.parts -= 1
        entry = as_dict(fronts[-1], spec, accelerator, check=options.check)
        entry["repeats"] = problem.layer.repeats
        layers.append(entry)
        if out is not None:
            write_json(out / FRONTS / layer_file(place, spec), entry)
        observe(spec)
    statuses = {front.status for front in fronts}
    status = next((one for one in (INFEASIBLE, BOUNDED) if one in statuses), OPTIMAL)
    sums = None if any(not front.points for front in fronts) else summed_fronts(list(map(_pairs, fronts)))
    problem = next(iter(problems.values()))
    data = {
        "network": network,
        "accelerator": accelerator,
        "objective": problem.objective,
        "cost_model": problem.model_spec,
        "status": status,
        "epsilon": sums.epsilon if sums else None,
        "points": _points(sums, float(problem.criteria.hertz)) if sums else [],
        "layers": layers,
    }
    if out is not None:
        write_json(out / FRONT, data)
    return data


def _pairs(front: Front) -> tuple[FloatArray, FloatArray]:
    """A layer's cycles and joules, by point, times its repeats."""
    figures = np.array([(point.cycles, point.energy_nj * 1e-9) for point in front.points])
    cycles, joules = (figures * front.problem.layer.repeats).T
    return cycles, joules


def _points(sums: Sums, hertz: float) -> list[dict[str, Any]]:
    rows = zip((sums.cycles / hertz).tolist(), sums.energy.tolist(), sums.choices.tolist(), strict=True)
    return [{"latency": seconds, "energy": joules, "layers": choice} for seconds, joules, choice in rows]
