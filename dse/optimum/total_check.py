"""Whether the bound of a network's total follows from its proofs: by another way than they were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.core.certificate import Certificate
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.proofs import Check

ROUNDED = 1e-9


def check_total(
    problems: Mapping[str, AnyProblem],
    total: Mapping[str, Any],
    own: Sequence[Certificate],
    proofs: Mapping[tuple[str, str], Certificate],
) -> Check:
    """Go along the edge of what the layers' proofs allow, and see that no total there is below the bound.

    For a weight m of a second, a layer's energy plus m times its latency is no less than what any two of its
    proofs imply, its roofline among them, and no less than on the curve that the proof of its `own` objective
    leaves. `total` is that of `Total.to_dict`. From the weights of its lines come the least joules for
    each latency, a line that bends; between bends the value is least at an end.
    """
    name = "no totals that the proofs allow are below the bound"
    lines = [(line["energy_weight"], line["latency_weight"]) for line in total["lines"]]
    bounds = {layer: proof.lower_bound for layer, proof in zip(problems, own, strict=True)}
    least = [
        sum(
            _implied(problem, _known(layer, problem, proofs), bounds[layer], *line)
            for layer, problem in problems.items()
        )
        for line in lines
    ]
    floor = next(value for (energy, _), value in zip(lines, least, strict=True) if energy == 0)
    slopes = np.array([latency for energy, latency in lines if energy])
    starts = np.array([value for (energy, _), value in zip(lines, least, strict=True) if energy])
    bends = [floor] + [
        float((starts[j] - starts[i]) / (slopes[j] - slopes[i]))
        for i in range(len(slopes))
        for j in range(i)
        if slopes[i] != slopes[j]
    ]
    objective = objective_named(next(iter(problems.values())).objective)
    found = min(
        objective.total({"energy": float((starts - slopes * seconds).max()), "latency": seconds})
        for seconds in bends
        if seconds >= floor * (1 - ROUNDED)
    )
    holds = found >= total["lower_bound"] * (1 - ROUNDED)
    return Check(
        name, holds, f"{found:.9g} at {len(bends)} ends of edges, {total['lower_bound']:.9g} claimed"
    )


def _known(
    layer: str, problem: AnyProblem, proofs: Mapping[tuple[str, str], Certificate]
) -> list[tuple[float, float, float]]:
    """Weights of energy and latency, and what a layer's weighted sum is not below by its proofs."""
    found = []
    for (name, objective), proof in proofs.items():
        if name == layer:
            weights = {figure.name: weight for figure, weight in objective_named(objective).weights}
            weights = weights or {objective: 1.0}
            found.append((weights.get("energy", 0.0), weights.get("latency", 0.0), proof.lower_bound))
    roofline = None if problem.hardware_genes else problem.model.roofline(problem.layer, problem.accelerator)
    if roofline is not None:
        found.append((1.0, 0.0, roofline.energy_nj * 1e-9))
        found.append((0.0, 1.0, roofline.cycles * problem.accelerator.cycle_seconds))
    return found


def _on_curve(problem: AnyProblem, bound: float, energy: float, latency: float) -> float:
    """The least weighted sum on the curve where the product of powers is the bound: where it touches."""
    powers = objective_named(problem.objective).exponents
    a, b = powers["energy"], powers["latency"]
    if not energy or not latency:
        return 0.0
    # There the joules are (a / b) (latency / energy) times the seconds.
    ratio = a * latency / (b * energy)
    seconds = float((bound / ratio**a) ** (1 / (a + b)))
    return energy * ratio * seconds + latency * seconds


def _on_edge(
    problem: AnyProblem, known: list[tuple[float, float, float]], bound: float, energy: float, latency: float
) -> float:
    """The least weighted sum along the edge of all that is known, whose joules are convex in the seconds."""
    if not energy or not latency:
        return 0.0
    powers = objective_named(problem.objective).exponents
    a, b = powers["energy"], powers["latency"]
    least = max((value / two for one, two, value in known if not one), default=0.0)

    def at(seconds: float) -> float:
        joules = [(value - two * seconds) / one for one, two, value in known if one]
        curve = (bound / seconds**b) ** (1 / a) if seconds else np.inf
        return float(energy * max(curve, *joules, 0.0) + latency * seconds)

    # Where seconds alone weigh more than some point of the edge, no point is the least.
    some = max(least, _on_curve(problem, bound, energy, latency) / latency)
    low, high = least, at(some) / latency
    for _ in range(120):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if at(first) < at(second) else (first, high)
    return at(low) if low == least else min(at(low), at(high))


def _implied(
    problem: AnyProblem, known: list[tuple[float, float, float]], bound: float, energy: float, latency: float
) -> float:
    """What is known of a layer says that its weighted sum is not below so much, times its repeats."""
    best = max(_on_curve(problem, bound, energy, latency), _on_edge(problem, known, bound, energy, latency))
    for one in known:
        for two in known:
            across = one[0] * two[1] - two[0] * one[1]
            shares = (
                ((energy * two[1] - latency * two[0]) / across, (latency * one[0] - energy * one[1]) / across)
                if across
                else (max(energy, latency) / max(one[0], one[1]), 0.0)
                if energy * one[1] == latency * one[0]
                else (-1.0, 0.0)
            )
            if min(shares) >= -1e-15:
                best = max(best, shares[0] * one[2] + shares[1] * two[2])
    return float(best) * problem.layer.repeats
