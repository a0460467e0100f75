"""Checking co-design without trusting its solver: all that its certificate claims, again and in other code.

The certificate says: these boxes hold every machine, each once; these lemmas were proven of layers on
machines; and so nothing in a box is below its bound. Boxes are counted and compared, machines drawn from them
are held against the lemmas by their own figures, bounds are worked out anew along the border of what the
lines leave, and mappings drawn at random are priced against both. Nothing here imports the solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.domains import hardware_from_dict, make_problem
from dse.core.objective import objective_named
from dse.core.proofs import Check
from dse.optimum.verification.codesign_caps import (
    caps_room,
    energy_border,
    fronts_hold,
    keeps_caps,
    least_of_fronts,
)

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

DRAWN_MACHINES, DRAWN_LEMMAS, DRAWN_MAPPINGS, DRAWN_NETWORKS = 3, 60, 2_000, 30
ROUNDED = 1e-9


def verify_codesign(found: Codesign, seed: int = 0) -> tuple[Check, ...]:
    """Check a result and its certificate; `seed` decides what is drawn. It takes seconds."""
    rng = np.random.default_rng(seed)
    return (
        _best(found),
        _boxes(found),
        _limits(found, rng),
        _lemmas_hold_for_machines(found, rng),
        _bounds(found),
        _lemmas(found, rng),
        _networks(found, rng),
        *([fronts_hold(found, rng)] if any(box.get("fronts") for box in found.certificate["boxes"]) else []),
    )


def _best(found: Codesign) -> Check:
    """Whether the best mappings cost what is claimed, and no less than the bound."""
    name, best = "the best machine and mappings cost what is claimed", found.best
    if best is None:
        return Check(name, found.status != "optimal", "there is none")
    energy = cycles = 0.0
    hardware = hardware_from_dict(best["hardware"], best["cost_model"])
    for layer, times, entry in zip(found.layers, found.times, best["layers"], strict=True):
        problem = make_problem(layer, hardware, "energy", best["cost_model"])
        priced = problem.evaluate(problem.read_mapping(entry["mapping"]))
        if priced.reason[0]:
            return Check(name, False, f"{entry['layer']} is not feasible")
        energy += times * float(priced.energy_nj[0])
        cycles += times * int(priced.cycles[0])
    totals = {"energy": energy * 1e-9, "latency": cycles * hardware.cycle_seconds}
    value = objective_named(found.objective).total(totals)
    same = value == best["value"] and found.lower_bound <= value and keeps_caps(found, *totals.values())
    return Check(name, same, f"value {value!r}, lower bound {found.lower_bound!r}")


def _boxes(found: Codesign) -> Check:
    """Whether the boxes hold every machine, each once."""
    boxes = np.array([box["box"] for box in found.certificate["boxes"]], dtype=np.int64)
    sizes = np.prod(boxes[:, :, 1] - boxes[:, :, 0] + 1, axis=1, dtype=object)
    every = math.prod(len(values) for values in found.space.parameters.values())
    overlap = 0
    for place, box in enumerate(boxes):
        others = boxes[place + 1 :]
        apart = (others[:, :, 0] > box[:, 1]) | (others[:, :, 1] < box[:, 0])
        overlap += int((~apart.any(axis=1)).sum())
    # What `dse codesign` counts were bounded: those that were divided too, and none that a limit excludes.
    kept = f"{len(boxes):,} {'box' if len(boxes) == 1 else 'boxes'} that were not divided further"
    seen = f"{kept}: {int(sizes.sum()):,} of {every:,} machines, {overlap:,} in two boxes"
    return Check("the boxes hold every machine, each once", overlap == 0 and sizes.sum() == every, seen)


def _limits(found: Codesign, rng: np.random.Generator) -> Check:
    """Whether machines of boxes that were excluded break a limit, and the best keeps all."""
    space, drawn, kept = found.space, 0, 0
    for box in found.certificate["boxes"]:
        if "limit" not in box:
            continue
        for point in _points(box["box"], rng):
            measured, drawn = space.described(point), drawn + 1
            kept += all(measured[name] <= limit for name, limit in space.limits.items())
    best = found.best
    holds = best is None or all(best[name] <= limit for name, limit in space.limits.items())
    return Check(
        "excluded machines break a limit, and the best keeps all", holds and not kept, f"{drawn:,} drawn"
    )


def _lemmas_hold_for_machines(found: Codesign, rng: np.random.Generator) -> Check:
    """Whether what was proven is of machines that are no worse than those of the box that it speaks for.

    Figures of a machine that a box holds are held against the figures of the machine of each lemma.
    """
    lemmas, space, drawn, wrong = found.certificate["lemmas"], found.space, 0, 0
    for box in found.certificate["boxes"]:
        if "lines" not in box:
            continue
        for point in _points(box["box"], rng):
            machine = space.described(point)["figures"]
            drawn += 1
            for line in box["lines"]:
                for shares in line["lemmas"]:
                    wrong += not _spent(lemmas, shares, space, machine, line)
    return Check("proofs of layers hold for their boxes' machines", not wrong, f"{drawn:,} machines drawn")


def _spent(lemmas: Sequence[Any], shares: Any, space: Any, machine: dict[str, float], line: Any) -> bool:
    """Whether shares of lemmas pay no more for anything than a machine does, and have what it has."""
    kinds = {name: space.figures[name].kind for name in machine}
    wide = [name for kind in ("capacity", "rate") for name in machine if kinds[name] == kind]
    dear = [name for name in machine if kinds[name] == "energy"]
    paid = [line["energy"], *(line["energy"] * machine[name] for name in dear), line["cycles"]]
    spent = np.zeros(len(paid))
    for number, share in shares:
        lemma = lemmas[number]
        spent += share * np.array(lemma["prices"])
        if any(limit < machine[name] for name, limit in zip(wide, lemma["limits"], strict=True)):
            return False
    return bool(np.all(spent <= np.array(paid) * (1 + ROUNDED)))


def _bounds(found: Codesign) -> Check:
    """Whether the lines of each box follow from its lemmas, and its bound from the lines."""
    lemmas, wrong, checked = found.certificate["lemmas"], 0, 0
    lowest = math.inf if found.best is None else found.best["value"]
    objective = objective_named(found.objective)
    for box in found.certificate["boxes"]:
        if "limit" in box:
            continue
        if "lines" not in box:
            lowest = min(lowest, box["bound"])
            continue
        checked += 1
        bound = math.inf if box["bound"] is None else box["bound"]
        for line in box["lines"]:
            least = math.inf if line["least"] is None else line["least"]
            sums = [
                times * sum(share * _number(lemmas[number]["least"]) for number, share in shares)
                for times, shares in zip(found.times, line["lemmas"], strict=True)
            ]
            wrong += not (least <= sum(sums) * (1 + ROUNDED))
        if not any(line["least"] is None for line in box["lines"]):
            seconds = _cycle_seconds(found, box)
            least = _least_along(box["lines"], objective, seconds, caps_room(found, seconds))
            if "fronts" in box:
                least = max(least, least_of_fronts(found, box, seconds))
            wrong += not (bound <= least * (1 + ROUNDED))
        lowest = min(lowest, bound)
    claimed = found.lower_bound <= lowest * (1 + ROUNDED)
    seen = f"{checked:,} boxes, the lowest bound {lowest!r}"
    return Check("bounds follow from the lemmas", claimed and not wrong, seen)


def _least_along(
    lines: Sequence[Any], objective: Any, cycle_seconds: float, caps: tuple[float, float]
) -> float:
    """The least value where the lines meet or end, found by walking along the border that they leave.

    Inf where the caps leave nothing of it.
    """
    left = energy_border(lines, *caps)
    if left is None:
        return math.inf
    sloped, first = left

    def cycles_at(energy: float) -> float:
        return max(float((one["least"] - one["energy"] * energy) / one["cycles"]) for one in sloped)

    turns = {first}
    for one in sloped:
        for other in sloped:
            across = one["energy"] / one["cycles"] - other["energy"] / other["cycles"]
            if across:
                turn = (one["least"] / one["cycles"] - other["least"] / other["cycles"]) / across
                turns.add(max(turn, first))
    least = math.inf
    for energy in turns:
        cycles = max(cycles_at(energy), 0.0)
        value = float(objective.total({"energy": energy * 1e-9, "latency": cycles * cycle_seconds}))
        least = min(least, value)
    return least


def _lemmas(found: Codesign, rng: np.random.Generator) -> Check:
    """Whether no mapping drawn at random is below a lemma, of those drawn."""
    lemmas, below = found.certificate["lemmas"], []
    chosen = rng.permutation(len(lemmas))[:DRAWN_LEMMAS].tolist()
    for number in chosen:
        lemma = lemmas[number]
        hardware = hardware_from_dict(lemma["hardware"], lemma["cost_model"])
        problem = make_problem(found.layers[lemma["layer"]], hardware, "energy", lemma["cost_model"])
        priced = problem.price(problem.space.sample(rng, DRAWN_MAPPINGS))
        fits = priced.reason == 0
        whole = (
            priced.cycles
            if lemma["figure"] == "latency"
            else priced.energy_nj + lemma["weight"] * priced.cycles
        )
        least = float(whole[fits].min()) if fits.any() else math.inf
        if least < _number(lemma["least"]) * (1 - ROUNDED):
            below.append(number)
    seen = f"{len(chosen):,} of {len(lemmas):,} proofs, {DRAWN_MAPPINGS:,} mappings each"
    return Check(
        "random mappings do not beat the proofs", not below, seen if not below else f"proof {below[0]}"
    )


def _networks(found: Codesign, rng: np.random.Generator) -> Check:
    """Whether no machine and mappings drawn at random are below the bound."""
    space, objective, least = found.space, objective_named(found.objective), math.inf
    for _ in range(DRAWN_NETWORKS):
        point = tuple(int(rng.integers(len(values))) for values in space.parameters.values())
        measured = space.described(point)
        if any(measured[name] > limit for name, limit in space.limits.items()):
            continue
        machine = space.machine(point)
        energy = cycles = 0.0
        for layer, times in zip(found.layers, found.times, strict=True):
            problem = make_problem(layer, machine.hardware, "edp", machine.model)
            priced = problem.price(problem.space.sample(rng, DRAWN_MAPPINGS))
            at = int(priced.loss.argmin())
            fits = not priced.reason[at]
            energy += times * float(priced.energy_nj[at]) if fits else math.inf
            cycles += times * float(priced.cycles[at]) if fits else math.inf
        if energy < math.inf:
            totals = {"energy": energy * 1e-9, "latency": cycles * machine.hardware.cycle_seconds}
            if keeps_caps(found, *totals.values()):
                least = min(least, objective.total(totals))
    name = "random machines and mappings do not beat the bound"
    best = f"the best {least:.6g}" if least < math.inf else "none with a run that counts"
    return Check(name, least >= found.lower_bound, f"{DRAWN_NETWORKS} machines drawn, {best}")


def _cycle_seconds(found: Codesign, box: Any) -> float:
    point = tuple(int(first) for first, _ in box["box"])
    seconds: float = found.space.machine(point).hardware.cycle_seconds
    return seconds


def _points(box: Any, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """The two ends of a box, and machines drawn from it."""
    yield tuple(int(first) for first, _ in box)
    yield tuple(int(last) for _, last in box)
    for _ in range(DRAWN_MACHINES):
        yield tuple(int(rng.integers(first, last + 1)) for first, last in box)


def _number(value: float | None) -> float:
    return math.inf if value is None else value
