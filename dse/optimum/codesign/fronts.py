"""The front over machines: the chip at each point, with a network's mappings.

Of an objective and `area`: the first proof is of the least objective; each further one of the least on
machines that are smaller than the one before, until there is none. So no point is left out. Of `latency` and
`energy`: the least of energy + m * latency, for as many m as there are edges between what has been found,
until no edge has anything below it. These are the corners of the front's convex part, all of them. Of
`latency`, `energy` and `area`: these corners, then those of the machines that are smaller than the largest of
them, and so on. So under any limit of area, for any weights of latency and energy, the best is among them.
What is between the corners, `exact_front` proves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.clock import Clock
from dse.core.objective import objective_named, parse_objectives
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign import as_space, codesign, proof_seconds, refuse
from dse.optimum.codesign.exact_front import FrontBoxes
from dse.optimum.codesign.proving import make_prover
from dse.optimum.codesign.result import Codesign, described_design
from dse.optimum.codesign.workload import workload_of
from dse.support.errors import InputError

AREA, BOTH = "area", ("energy", "latency")
THREE = ("area", "energy", "latency")
SMALLER = 1 - 1e-9
"""Of an area, what the next one has to be below; and of a value, what counts as below it."""


@dataclass(frozen=True)
class MachineFront:
    """The points of a front over machines: `optimal`, `bounded` where the time ran out, or `infeasible`.

    `points` are plain data: the machine, its figures, the network's totals, a mapping for each layer.
    `convex` says that they are of the front's convex part alone. No machine and mappings are more than a
    share `epsilon` better in all than one of them.
    """

    network: str
    objectives: tuple[str, ...]
    space: HardwareSpace
    status: str
    points: tuple[dict[str, Any], ...]
    convex: bool
    epsilon: float
    proofs: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """It as plain data."""
        return {
            "objectives": list(self.objectives),
            "network": self.network,
            "cost_model": self.space.model.spec,
            "space": self.space.name,
            "machines": self.space.machines,
            "limits": dict(self.space.limits),
            "status": self.status,
            "convex": self.convex,
            "epsilon": self.epsilon,
            "points": list(self.points),
            "proofs": self.proofs,
            "seconds": self.seconds,
        }


def codesign_front(
    network: Any,
    hardware: Any,
    objectives: str = "edp, area",
    *,
    exact: bool = False,
    time_limit: float | None = None,
    workers: int = 1,
    cache: bool | str | Path = True,
    observe: Callable[[int], None] = lambda points: None,
) -> MachineFront:
    """The front over the machines of a space, for a network: the arguments are those of `codesign`.

    Of latency and energy it is the convex part; `exact`, which takes longer, has every point. `observe` is
    told how many points there are, each time that one is found.
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

    if exact and len(others) > 1:
        return _exact(network, space, names, time_limit, workers, cache, observe)
    number = 0

    def prove(objective: str, where: HardwareSpace) -> Codesign:
        nonlocal number
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - begun), 0.01)
        found: Codesign = codesign(network, where, objective, time_limit=left, workers=workers, cache=cache)
        if found.interrupted:
            raise KeyboardInterrupt
        if found.status == OPTIMAL:
            number += 1
            observe(number)
        return found

    found = {BOTH: _hull, THREE: _hulls}.get(names)
    steps = list(found(space, prove) if found else _by_area(others[0], space, prove))
    proven = [one for one in steps if one.status == OPTIMAL]
    # A front is whole when no proof ran out of time.
    status = BOUNDED if any(one.status == BOUNDED for one in steps) else OPTIMAL if proven else INFEASIBLE
    return MachineFront(
        network=steps[0].network,
        objectives=names,
        space=space,
        status=status,
        points=tuple(_undominated([one.best for one in proven if one.best], names)),
        convex=len(others) > 1,
        epsilon=0.0,
        proofs=sum(one.proofs for one in {id(one): one for one in steps}.values()),
        seconds=time.perf_counter() - begun,
    )


def _exact(
    network: Any,
    space: HardwareSpace,
    names: tuple[str, ...],
    time_limit: float | None,
    workers: int,
    cache: bool | str | Path,
    observe: Callable[[int], None],
) -> MachineFront:
    """Every point of the front of latency and energy, and of area if it is named."""
    from dse.support.compilations import tell_of_compiling

    work = workload_of(network)
    refuse(work.layers, space)
    clock = Clock(time_limit)
    with tell_of_compiling(clock.pause), make_prover(workers, cache, proof_seconds(space, clock)) as prove:
        search = FrontBoxes(
            space,
            work.layers,
            objective_named("edp"),
            prove,
            times=work.times,
            parts=work.parts,
            areas=AREA in names,
            cache=cache,
            clock=clock,
            found=observe,
        )
        search.run()
    points = [described_design(space, work.layers, one, work.parts) for one in search.archive.entries]
    status = BOUNDED if search.cut else OPTIMAL if points else INFEASIBLE
    return MachineFront(
        network=work.name,
        objectives=names,
        space=space,
        status=status,
        points=tuple(_undominated(points, names)),
        convex=False,
        epsilon=search.epsilon,
        proofs=len(search.lemmas) + search.fronts,
        seconds=clock.seconds,
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
        # At the slope between two points: what is below the edge has a lesser sum than both.
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


def _undominated(points: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """By the first figure, each point that no other is as good as in all; one of equal ones."""

    def values(point: dict[str, Any]) -> tuple[float, ...]:
        latency, energy = point["totals"]["latency"], point["totals"]["energy"]
        if names == BOTH:
            return latency, energy
        area = point["area_mm2"]
        return (area, latency, energy) if names == THREE else (area, point["value"])

    kept: list[tuple[float, ...]] = []
    for point in sorted(points, key=values):
        mine = values(point)
        if not any(all(a * SMALLER <= b for a, b in zip(one, mine, strict=True)) for one in kept):
            kept.append(mine)
            yield point
