"""The front over machines: the chip at each point, with a network's mappings, each point by a proof.

Of an objective and `area`: the first proof is of the least objective; each further one of the least on
machines that are smaller than the one before, until there is none. So no point is left out. Of `latency` and
`energy`: the least of energy + m * latency, for as many m as there are edges between what has been found,
until no edge has anything below it. These are the corners of the front's convex part, all of them. Of
`latency`, `energy` and `area`: these corners, then those of the machines that are smaller than the largest of
them, and so on. So under any limit of area, for any weights of latency and energy, the best is among them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.objective import parse_objectives
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign import as_space, codesign
from dse.optimum.codesign.result import Codesign
from dse.support.errors import InputError

AREA, BOTH = "area", ("energy", "latency")
THREE = ("area", "energy", "latency")
SMALLER = 1 - 1e-9
"""Of an area, what the next one has to be below; and of a value, what counts as below it."""


@dataclass(frozen=True)
class MachineFront:
    """The points of a front, each a proof: `optimal`, `bounded` where the time ran out, or `infeasible`.

    `convex` says that they are of its convex part alone.
    """

    objectives: tuple[str, ...]
    space: HardwareSpace
    status: str
    points: tuple[Codesign, ...]
    convex: bool
    proofs: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """It as plain data: of each point the machine and the mappings."""
        return {
            "objectives": list(self.objectives),
            "network": self.points[0].network if self.points else None,
            "cost_model": self.space.model.spec,
            "space": self.space.name,
            "machines": self.space.machines,
            "status": self.status,
            "convex": self.convex,
            "points": [point.best for point in self.points],
            "proofs": self.proofs,
            "seconds": self.seconds,
        }


def codesign_front(
    network: Any,
    hardware: Any,
    objectives: str = "edp, area",
    *,
    time_limit: float | None = None,
    workers: int = 1,
    cache: bool | str | Path = True,
    observe: Callable[[Codesign], None] = lambda point: None,
) -> MachineFront:
    """The front over the machines of a space, for a network: the arguments are those of `codesign`.

    `observe` is told each point when it is proven.
    """
    names = tuple(one.name for one in parse_objectives(objectives))
    space, begun = as_space(hardware), time.perf_counter()
    others = [name for name in names if name != AREA]
    if names not in (BOTH, THREE) and (len(names) != 2 or len(others) != 1):
        raise InputError(
            "a front over machines is of 'latency, energy', of these and 'area', or of one objective and "
            f"'area', got {objectives!r}"
        )
    if AREA in names and "area_mm2" not in space.measures:
        raise InputError(f"nothing says what area is in hardware space {space.name!r}: give area_mm2")

    def prove(objective: str, where: HardwareSpace) -> Codesign:
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - begun), 0.01)
        found: Codesign = codesign(network, where, objective, time_limit=left, workers=workers, cache=cache)
        if found.interrupted:
            raise KeyboardInterrupt
        if found.status == OPTIMAL:
            observe(found)
        return found

    found = {BOTH: _hull, THREE: _hulls}.get(names)
    steps = list(found(space, prove) if found else _by_area(others[0], space, prove))
    proven = [one for one in steps if one.status == OPTIMAL]
    # A front is whole when no proof ran out of time.
    status = BOUNDED if any(one.status == BOUNDED for one in steps) else OPTIMAL if proven else INFEASIBLE
    return MachineFront(
        objectives=names,
        space=space,
        status=status,
        points=tuple(_undominated(proven, names)),
        convex=len(others) > 1,
        proofs=sum(one.proofs for one in {id(one): one for one in steps}.values()),
        seconds=time.perf_counter() - begun,
    )


Prove = Callable[[str, HardwareSpace], Codesign]


def _by_area(objective: str, space: HardwareSpace, prove: Prove) -> Iterator[Codesign]:
    """From the best machine on to ever smaller ones."""
    while True:
        found = prove(objective, space)
        yield found
        if found.status != OPTIMAL or found.best is None:
            return
        limits = {**space.limits, "area_mm2": found.best["area_mm2"] * SMALLER}
        space = replace(space, limits=limits)


def _hull(space: HardwareSpace, prove: Prove) -> Iterator[Codesign]:
    """From both ends inwards."""
    ends = [prove(objective, space) for objective in BOTH]
    yield from ends
    if any(one.status != OPTIMAL for one in ends):
        return
    edges = [(ends[0], ends[1])]
    while edges:
        slow, fast = edges.pop()
        (energy, latency), (more, less) = figures(slow), figures(fast)
        if latency <= less or more <= energy:
            continue
        weight = (more - energy) / (latency - less)
        found = prove(f"energy + {weight!r} * latency", space)
        yield found
        if found.status != OPTIMAL or found.best is None:
            return
        if found.best["value"] < (energy + weight * latency) * SMALLER:
            edges += [(slow, found), (found, fast)]


def _hulls(space: HardwareSpace, prove: Prove) -> Iterator[Codesign]:
    """The hull of all machines, then that of those smaller than its largest, until there is none."""
    known: dict[str, Codesign] = {}

    def again(objective: str, where: HardwareSpace) -> Codesign:
        # The best of all machines is the best of fewer, as long as it is one of them.
        before, limit = known.get(objective), where.limits.get("area_mm2", math.inf)
        if before is None or before.status != OPTIMAL or _area(before) > limit:
            known[objective] = before = prove(objective, where)
        return before

    while True:
        steps = list(_hull(space, again))
        yield from steps
        if any(one.status != OPTIMAL for one in steps):
            return
        limit = max(map(_area, steps)) * SMALLER
        space = replace(space, limits={**space.limits, "area_mm2": limit})


def _area(point: Codesign) -> float:
    assert point.best is not None
    area: float = point.best["area_mm2"]
    return area


def figures(point: Codesign) -> tuple[float, float]:
    """The joules and the seconds of a point."""
    assert point.best is not None
    return point.best["totals"]["energy"], point.best["totals"]["latency"]


def _undominated(points: list[Codesign], names: tuple[str, ...]) -> Iterator[Codesign]:
    """By the first figure, each point that no other is as good as in all; one of equal ones."""

    def values(point: Codesign) -> tuple[float, ...]:
        energy, latency = figures(point)
        if names == BOTH:
            return latency, energy
        assert point.best is not None
        return (_area(point), latency, energy) if names == THREE else (_area(point), point.best["value"])

    kept: list[tuple[float, ...]] = []
    for point in sorted(points, key=values):
        mine = values(point)
        if not any(all(a * SMALLER <= b for a, b in zip(one, mine, strict=True)) for one in kept):
            kept.append(mine)
            yield point
