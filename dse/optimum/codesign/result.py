"""What co-design comes to: a machine, the network's mappings onto it, and what is proven of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.layer import Layer
from dse.domains.codesign.space import HardwareSpace, Priced
from dse.optimum.codesign.branch import Closed, Incumbent, MachineBoxes
from dse.optimum.codesign.capped import CappedBoxes
from dse.optimum.codesign.lemmas import int_if_whole
from dse.optimum.codesign.machine import EQUAL, Chosen
from dse.optimum.codesign.workload import Part
from dse.optimum.front import Front


@dataclass(frozen=True)
class Codesign:
    """The best machine of a space for a network, with its mappings, and a bound below which there is none.

    `status` is `optimal` (no machine and mappings are better, but for rounding: by less than 1e-10 of the
    value), `bounded` (the time ran out; none are below `lower_bound`) or `infeasible` (no machine keeps the
    limits and runs every layer; `best` is None and `lower_bound` inf). Values are in the objective's unit.
    """

    network: str
    objective: str
    space: HardwareSpace
    layers: tuple[Layer, ...]
    times: tuple[float, ...]
    """How often each layer counts."""
    status: str
    lower_bound: float
    best: dict[str, Any] | None
    caps: dict[str, float]
    """The most seconds and watts of a run, `max_latency` and `max_power`, of those that are capped."""
    boxes: int
    machines_excluded: int
    proofs: int
    proofs_kept: int
    cpu_seconds: float
    seconds: float
    interrupted: bool
    certificate: dict[str, Any]
    """What `verify_codesign` checks: the boxes of machines, the bound of each, and the lemmas behind it."""

    @property
    def ended(self) -> bool:
        """Whether no box is open below the best: what is between then, no more time would settle."""
        best = math.inf if self.best is None else self.best["value"] * (1 - EQUAL)
        boxes = self.certificate["boxes"]
        return all("lines" in box or "limit" in box or box["bound"] >= best for box in boxes)

    @property
    def gap(self) -> float:
        """By how much of its own value the best may be above the optimum; inf where there is no best."""
        if self.best is None:
            return math.inf
        value: float = self.best["value"]
        gap = 1 - self.lower_bound / value if value else 0.0
        return gap if gap > EQUAL else 0.0

    @property
    def least_latency(self) -> float:
        """The seconds that every run takes at least, on any machine within the limits; inf without one."""
        boxes = [box for box in self.certificate["boxes"] if "limit" not in box]
        return min(map(self._least_latency, boxes), default=math.inf)

    def _least_latency(self, box: dict[str, Any]) -> float:
        lines = [line for line in box.get("lines", ()) if not line["energy"]]
        each = [math.inf if line["least"] is None else line["least"] / line["cycles"] for line in lines]
        seconds: float = self.space.relaxed(box["box"]).hardware.cycle_seconds
        return max(each, default=0.0) * seconds

    @property
    def least_power(self) -> float:
        """The least mean power, in W, of the runs that fronts were gone through for; inf without one."""
        fronts = [box for box in self.certificate["boxes"] if box.get("fronts")]
        return min(map(self._least_power, fronts), default=math.inf)

    def _least_power(self, box: dict[str, Any]) -> float:
        rate, below = math.inf, 1e300
        while below < rate:  # Dinkelbach's method: of each layer what is least at the best ratio so far.
            rate = below
            least = [min(front, key=lambda one: one[1] - rate * one[0]) for front in box["fronts"]]
            cycles, energy = np.array(self.times) @ np.array(least, float)
            below = float(energy / cycles)
        seconds: float = self.space.relaxed(box["box"]).hardware.cycle_seconds
        return rate * 1e-9 / seconds

    def to_dict(self) -> dict[str, Any]:
        """It as plain data, without the certificate."""
        names = ("status", "lower_bound", "gap", "best", "boxes", "machines_excluded", "proofs")
        return {
            "network": self.network,
            "objective": self.objective,
            **self.caps,
            "cost_model": self.space.model.spec,
            "space": self.space.name,
            "machines": self.space.machines,
            "limits": dict(self.space.limits),
            **{name: getattr(self, name) for name in (*names, "proofs_kept", "cpu_seconds", "seconds")},
        }


def result_of(search: MachineBoxes, network: str) -> Codesign:
    """What a search has come to."""
    space, left = search.space, search.left()
    bounds = [one.bound.corner.value for one in search.closed if one.bound is not None]
    bound = min([search.value, *bounds, *(one.bound for one in left)])
    if search.best is None:
        status = BOUNDED if bound < math.inf else INFEASIBLE
    else:
        status = OPTIMAL if bound >= search.target else BOUNDED
        bound = search.value if status == OPTIMAL else bound
    return Codesign(
        network=network,
        objective=search.objective.name,
        space=space,
        layers=tuple(search.layers),
        times=tuple(search.times or (layer.repeats for layer in search.layers)),
        status=status,
        lower_bound=bound,
        best=None
        if search.best is None
        else described_design(space, search.layers, search.best, search.parts),
        caps=search.caps.to_dict() if isinstance(search, CappedBoxes) else {},
        boxes=search.boxes,
        machines_excluded=sum(space.count(one.box) for one in search.closed if one.bound is None),
        proofs=len(search.lemmas) + search.more_proofs,
        proofs_kept=len(search.lemmas) + search.more_proofs - search.fresh,
        cpu_seconds=search.cpu_seconds,
        seconds=search.clock.seconds,
        interrupted=search.interrupted,
        certificate=_certificate(search, network, bound),
    )


def described_design(
    space: HardwareSpace, layers: Sequence[Layer], found: Incumbent, parts: Sequence[Part] = ()
) -> dict[str, Any]:
    """A machine with the network's mappings, and what they cost, as plain data; of several, each's own."""
    point, chosen = found
    priced = space.machine(point)
    seconds = chosen.cycles * priced.hardware.cycle_seconds
    joules = chosen.energy * 1e-9
    each = _layers(space, layers, priced, chosen)
    networks = _networks(parts, each, priced.hardware.cycle_seconds)
    return {
        "value": chosen.value,
        **space.described(point),
        "hardware": priced.hardware.to_dict(),
        "cost_model": priced.model.spec,
        "totals": totals(seconds, joules),
        "cycles": chosen.cycles,
        **({"networks": networks} if networks else {}),
        "layers": each,
    }


def _networks(
    parts: Sequence[Part], layers: Sequence[dict[str, Any]], cycle_seconds: float
) -> list[dict[str, Any]]:
    """Of several networks, what a run of each costs."""
    found, first = [], 0
    for part in parts:
        own, first = layers[first : first + part.layers], first + part.layers
        runs = 1 if part.is_share else part.counts
        cycles = sum(one["repeats"] * one["cycles"] for one in own) / runs
        energy = sum(one["repeats"] * one["energy_nj"] for one in own) / runs
        found.append(
            {
                "network": part.name,
                "share" if part.is_share else "runs": part.counts,
                "cycles": int_if_whole(cycles),
                **totals(cycles * cycle_seconds, energy * 1e-9),
            }
        )
    return found


def totals(seconds: float, joules: float) -> dict[str, float]:
    """What a network costs: mean power is its energy over its latency."""
    return {
        "latency": seconds,
        "energy": joules,
        "edp": seconds * joules,
        "mean_power_mw": mean_power_mw(joules, seconds),
    }


def mean_power_mw(joules: float, seconds: float) -> float:
    """The energy of mappings over their latency."""
    return joules / seconds * 1e3


def _layers(
    space: HardwareSpace, layers: Sequence[Layer], priced: Priced, chosen: Chosen
) -> list[dict[str, Any]]:
    from dse.core.domains import make_problem

    found = []
    for layer, mapping in zip(layers, chosen.mappings, strict=True):
        problem = make_problem(layer, priced.hardware, "energy", priced.model)
        costs = space.domain.price(problem, [mapping])
        found.append(
            {
                "layer": layer.name or str(layer),
                "repeats": layer.repeats,
                "cycles": int(costs.cycles[0]),
                "energy_nj": float(costs.energy_nj[0]),
                "mean_power_mw": mean_power_mw(
                    float(costs.energy_nj[0]) * 1e-9, int(costs.cycles[0]) * priced.hardware.cycle_seconds
                ),
                "mapping": mapping.to_dict(),
            }
        )
    return found


def _certificate(search: MachineBoxes, network: str, bound: float) -> dict[str, Any]:
    return {
        "network": network,
        "objective": search.objective.name,
        **(search.caps.to_dict() if isinstance(search, CappedBoxes) else {}),
        "space": search.space.written(),
        "layers": [layer.to_dict() | {"repeats": layer.repeats} for layer in search.layers],
        "networks": [asdict(part) for part in search.parts],
        "lower_bound": bound,
        "boxes": [
            *map(_closed, search.closed),
            *({"box": one.box, "bound": one.bound} for one in search.left()),
        ],
        "lemmas": [
            {
                "layer": place,
                "figure": ask.figure,
                "weight": ask.weight,
                "limits": lemma.limits,
                "prices": lemma.prices,
                "least": lemma.least if lemma.least < math.inf else None,
                "hardware": ask.priced.hardware.to_dict(),
                "cost_model": ask.priced.model.spec,
            }
            for lemma, ask, place in search.lemmas
        ],
    }


def _closed(one: Closed) -> dict[str, Any]:
    if one.bound is None:
        return {"box": one.box, "limit": one.reason}
    value = one.bound.corner.value
    return {
        "box": one.box,
        "bound": value if value < math.inf else None,
        "lines": [
            {
                "energy": line.energy,
                "cycles": line.cycles,
                "least": line.least if line.least < math.inf else None,
                "lemmas": shares,
            }
            for line, shares in zip(one.bound.lines, one.bound.shares, strict=True)
        ],
        **({"fronts": [_pairs(front) for front in one.fronts]} if one.fronts else {}),
    }


def _pairs(front: Front) -> list[tuple[int, float]]:
    return [(best.cycles, best.energy_nj) for best in front.points]
