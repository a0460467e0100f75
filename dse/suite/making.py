"""Making suites: problems are proven, and what is proven is written down; hidden ones are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as counted
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.core.cost_models import class_of_spec
from dse.core.domains import definition_of, hardware_from_dict, load_hardware, make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.optimum import certify
from dse.suite.entry import Entry
from dse.support.errors import InputError
from dse.support.hashing import digest, plain
from dse.support.telling import Tell, nobody

RANDOM_POINTS = 5
SAMPLES = 2000
"""Points of which one has to fit for a drawn problem to be kept."""
SECONDS = 30.0
"""How long the proof of a drawn problem may take; one that takes longer is left for another."""
OBJECTIVES = ("latency", "energy", "edp")
LARGE = 4096
"""Words of a memory of a machine of levels that may be drawn smaller or larger."""


def entry_of(
    problem: AnyProblem, name: str, seconds: float | None = None, *, cache: bool | Path = True
) -> Entry:
    """The problem with its proof, which may take so many seconds. InputError if nothing is found."""
    found = certify(problem, seconds, cache=cache)
    if found.best is None:
        raise InputError(f"{name}: there is no mapping that fits")
    rng = np.random.Generator(np.random.PCG64(int(problem.fingerprint, 16)))
    return Entry(
        name,
        problem.model_spec,
        plain(definition_of(problem)),
        problem.fingerprint,
        found.status,
        float(found.lower_bound),
        found.best.loss,
        list(found.best.genes),
        _templates(problem),
        problem.space.sample(rng, RANDOM_POINTS).tolist(),
    )


def _templates(problem: AnyProblem) -> dict[str, list[int]]:
    """The points of the templates that lie in the space."""
    found = {}
    for name in problem.templates:
        try:
            found[name] = problem.vectors([problem.template(name)])[0].tolist()
        except InputError:
            continue
    return found


def draw(
    seed: int, count: int, cost_model: str, *, cache: bool | Path = True, tell: Tell = nobody
) -> Iterator[Entry]:
    """So many hidden problems of layers and machines that the seed decides, each proven."""
    model = class_of_spec(cost_model)
    if model.prices_networks:
        raise InputError(
            f"problems are drawn under loopnest, maestro, timeloop and the like, got {cost_model!r}"
        )
    name = {"suite": "drawn", "seed": seed, "cost_model": cost_model}
    rng = np.random.Generator(np.random.PCG64(int(digest(name), 16)))
    kept, of_levels = 0, hasattr(model, "load_machine")
    for attempt in counted(1):
        objective = OBJECTIVES[kept % len(OBJECTIVES)]
        tiles = "any" if kept % 4 == 3 and not of_levels else "factors"
        layer, machine = (
            _layer(rng, kept),
            _machine_of_levels(rng, cost_model) if of_levels else _machine(rng),
        )
        problem = make_problem(layer, hardware_from_dict(machine, cost_model), objective, cost_model, tiles)
        if attempt > 20 * count:
            raise InputError(f"under cost model {cost_model!r} hardly any problem drawn is proven")
        losses = problem.price(problem.space.sample(rng, SAMPLES)).loss
        if not np.isfinite(losses).any():
            continue
        tell(f"proving problem {kept + 1} of {count}")
        entry = entry_of(problem, f"layer{kept + 1} on machine{kept + 1}, {objective}", SECONDS, cache=cache)
        if entry.status != OPTIMAL:
            continue
        kept += 1
        yield entry
        if kept == count:
            return


def _layer(rng: np.random.Generator, place: int) -> Layer:
    """A convolution, a depthwise one, a pointwise one or a product, in turns, of sizes as networks have."""

    def one_of(*sizes: int) -> int:
        return int(rng.choice(sizes))

    channels = (24, 32, 48, 64, 96, 112, 128, 160, 192, 256, 320, 384, 512)
    side = one_of(7, 13, 14, 19, 20, 26, 28, 38, 40, 52, 56)
    kind = place % 4
    if kind == 0:
        window = one_of(3, 3, 5, 7)
        pad = window // 2
        outputs, inputs = one_of(*channels), one_of(3, *channels)
        return Layer("CONV", outputs, inputs, side, side, window, window, (1, 1), (pad, pad))
    if kind == 1:
        return Layer(
            "DSCONV", 1, one_of(*channels), side, side, 3, 3, (2, 2) if side > 20 else (1, 1), (1, 1)
        )
    if kind == 2:
        return Layer("CONV", one_of(*channels), one_of(*channels), side, side, 1, 1)
    rows, columns = one_of(1, 16, 49, 64, 128, 197, 384), one_of(64, 320, 768, 1024)
    return Layer.gemm(rows, columns, one_of(64, 256, 768, 1280))


def _machine(rng: np.random.Generator) -> dict[str, int]:
    """A machine between a small and a large one, its buffers tight or loose, as plain data."""
    pes = int(rng.choice([128, 168, 192, 256, 336, 384, 512, 768, 1024]))
    tight = bool(rng.integers(2))
    noc = int(rng.choice([8, 16, 32, 64]))
    return {
        "num_pes": pes,
        "l1_size": int(rng.choice([96, 128, 192] if tight else [512, 1024])),
        "l2_size": pes * int(rng.choice([64, 96] if tight else [384, 768])),
        "noc_bandwidth": noc,
        "offchip_bandwidth": max(2, noc // int(rng.choice([2, 4, 8]))),
    }


def _machine_of_levels(rng: np.random.Generator, cost_model: str) -> dict[str, Any]:
    """One that comes along, its memories above the PEs smaller or larger, as plain data."""
    side, rows = int(rng.choice([8, 16, 32])), int(rng.choice([2048, 4096, 8192, 16384]))
    gemmini = f"gemmini-{side}-{rows}-{int(rng.choice([256, 512, 1024]))}"
    name = str(rng.choice([gemmini, "eyeriss_like", "simple_weight_stationary", "simple_output_stationary"]))
    found: dict[str, Any] = load_hardware(name, cost_model).to_dict()
    for memory in next(rows for rows in found.values() if isinstance(rows, list)):
        if memory.get("size", 0) >= LARGE:
            memory["size"] = int(memory["size"] * rng.choice([0.5, 1, 2]))
    return found
