"""The problems whose perfect factors are compared with tiles of any size, and the proofs of both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.optimum import certify
from experiments import RESULTS, read_rows, write_rows
from workloads import load

NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "vgg16", "vit-b16", "bert_base", "gpt2_block")
MACHINES = ("eyeriss-small", "edge", "tpu-like")
OBJECTIVES = ("latency", "energy", "edp")
MODEL, SEED = "loopnest", 0
FILE = RESULTS / "optima" / "perfect_factors.csv"
HEAD = ("layer", "accelerator", "objective", "factors", "any", "bound", "status", "seconds")
Named = tuple[str, str, AnyProblem]
"""A problem with the names of its layer and its machine."""


def layers() -> dict[str, Layer]:
    """The layers of all networks, each shape once, by the first name that has it."""
    found: dict[str, tuple[str, Layer]] = {}
    for network in NETWORKS:
        for layer in load(network).layers:
            found.setdefault(str(layer), (f"{network}:{layer.name}", layer))
    return dict(found.values())


def names_of(network: str) -> set[str]:
    """What a network's layers are called here: a shape may have its name from another network."""
    shapes = {str(layer) for layer in load(network).layers}
    return {name for name, layer in layers().items() if str(layer) in shapes}


def problems() -> Iterator[Named]:
    """All problems with the names of their layers and machines, in an order drawn by SEED."""
    every = [
        (name, machine, make_problem(layer, machine, objective, MODEL))
        for name, layer in layers().items()
        for machine in MACHINES
        for objective in OBJECTIVES
    ]
    for at in np.random.default_rng(SEED).permutation(len(every)):
        yield every[at]


def row(name: str, machine: str, problem: AnyProblem, limit: float) -> tuple[Any, ...]:
    """What is proven of a problem, as HEAD says: the best over any tiles may be one of perfect factors."""
    factors = certify(problem)
    found = certify(problem.with_changes(tiles="any"), limit, cache=False, now=time.process_time)
    best = [one.best.loss for one in (factors, found) if one.best is not None]
    losses = best[0] if factors.best else math.inf, min(best, default=math.inf), found.lower_bound
    about = name, machine, problem.objective
    return *about, *map(repr, losses), found.status, f"{found.seconds:.1f}"


def warm() -> None:
    """Load the kernels, and once compile them: that is no problem's time."""
    for objective in OBJECTIVES:
        problem = make_problem(Layer.fc(2, 2), MACHINES[0], objective, MODEL)
        certify(problem.with_changes(tiles="any"), cache=False)


def add_rows(
    path: Path, head: Sequence[str], every: Iterable[Named], make: Callable[..., tuple[Any, ...]], more: int
) -> None:
    """Add rows of the next problems that are not in the file: `make` takes the names and the problem."""
    done = {tuple(one[name] for name in head[:3]) for one in read_rows(path)}
    for name, machine, problem in every:
        if more <= 0:
            return
        if (name, machine, problem.objective) not in done:
            more -= 1
            write_rows(path, head, [make(name, machine, problem)], add=True)


def prove_again(limit: float, more: int) -> None:
    """Prove more of those problems over any tiles whose proofs were ended sooner than `limit`."""
    rows, named = read_rows(FILE), {(name, machine, p.objective): p for name, machine, p in problems()}
    ended = [one for one in rows if one["status"] == BOUNDED and float(one["seconds"]) < limit]
    for one in ended[:more]:
        problem = named[one["layer"], one["accelerator"], one["objective"]].with_changes(tiles="any")
        found = certify(problem, limit, cache=False, now=time.process_time)
        best = min(float(one["any"]), found.best.loss if found.best else math.inf)
        one |= {"any": repr(best), "bound": repr(found.lower_bound), "status": found.status}
        one["seconds"] = f"{found.seconds:.1f}"
        write_rows(FILE, HEAD, rows)
