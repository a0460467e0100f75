"""A whole network, layer by layer: what the layers' mappings add up to, and how their files are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dse.core.objective import known_objective
from dse.core.problem import AnyProblem

NETWORK, MAPPINGS = "network.json", "mappings"
"""What is in a network's folder, however its mappings were found: the totals, the mapping of each layer."""

NAME_LENGTH = 60


def network_totals(
    problems: Mapping[str, AnyProblem], layers: Sequence[Mapping[str, Any]]
) -> dict[str, float] | None:
    """Latency (s), energy (J), both sums over layers times repeats, and EDP (J s), their product.

    And the objective's own total, where it is another product of their powers.
    `layers` are the results as plain data, in the problems' order, with the figures of the mapping under
    `best`. None where a layer has no feasible mapping.
    """
    latency = energy = 0.0
    for problem, entry in zip(problems.values(), layers, strict=True):
        best = entry["best"]
        if best is None:
            return None
        repeats = problem.layer.repeats
        machine = problem.on_machine_of(best["genes"]).accelerator
        latency += best["cycles"] * machine.cycle_seconds * repeats
        energy += best["energy_nj"] * 1e-9 * repeats
    found = {"latency": latency, "energy": energy, "edp": latency * energy}
    objective = known_objective(next(iter(problems.values())).objective)
    if objective is not None and objective.adds_up and objective.name not in found:
        found[objective.name] = objective.total(found)
    return found


def layer_file(place: int, layer: str) -> str:
    """`03-conv2_2.json`: in the network's order, whatever the layers are called."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", layer.rpartition(":")[2])[:NAME_LENGTH]
    return f"{place:02}-{name}.json"
