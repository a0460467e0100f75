"""The proofs that co-design asks for, each of a layer on a machine; in one process or several."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.core.clock import Clock
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.domains.codesign.space import Priced
from dse.optimum import certify
from dse.optimum.front import Front, certify_front
from dse.optimum.network_options import side_by_side

NJ = 1e-9


@dataclass(frozen=True)
class Ask:
    """What to prove: the least energy, cycles, or (with a `weight` in nJ) energy + weight * cycles."""

    layer: Layer
    priced: Priced
    figure: str
    """`energy`, `latency` or `weighted`."""
    weight: float = 0.0

    @property
    def problem(self) -> AnyProblem:
        """The problem whose optimum that is."""
        hardware = self.priced.hardware
        objective = self.figure
        if self.figure == "weighted":
            # In joules and seconds, as objectives are.
            objective = f"energy + {self.weight * NJ / hardware.cycle_seconds!r} * latency"
        return make_problem(self.layer, hardware, objective, self.priced.model)


@dataclass(frozen=True)
class Proven:
    """What a proof came to: the bound in nJ or cycles, whether and by what it is reached, its CPU seconds."""

    least: float
    optimal: bool
    mapping: Any
    seconds: float
    cached: bool


class OutOfTime(Exception):
    """There is no time left for a proof."""


Cache = bool | str | Path
Prover = Callable[[Sequence[Ask]], Iterator[Proven]]


def prove(ask: Ask, cache: Cache, seconds: float | None) -> Proven:
    """One proof."""
    begun = time.process_time()
    problem = ask.problem
    found = certify(problem, seconds, cache=cache)
    best, least = found.best, found.lower_bound
    if best is not None and found.status == "optimal":
        # The optimum as the cost model gives it, not by way of its units.
        least = best.cycles if ask.figure == "latency" else best.energy_nj + ask.weight * best.cycles
    elif least < math.inf:
        # A bound in seconds or joules, rounded down: cycles are whole.
        unit = problem.accelerator.cycle_seconds if ask.figure == "latency" else NJ
        least = math.floor(least / unit) if ask.figure == "latency" else least / unit * (1 - 1e-12)
    mapping = None if best is None else best.mapping
    return Proven(float(least), found.status != "bounded", mapping, time.process_time() - begun, found.cached)


def prove_front(layer: Layer, machine: Priced, clock: Clock, cache: Cache) -> Front:
    """The exact front of a layer on a machine, or what there is time for."""
    problem = make_problem(layer, machine.hardware, "latency, energy", machine.model)
    return certify_front(problem, None if clock.left == math.inf else clock.left, cache=cache)


@contextmanager
def make_prover(workers: int, cache: Cache, seconds: Callable[[], float | None]) -> Iterator[Prover]:
    """What proves many at a time, in as many processes; answers come in the order of what was asked.

    `seconds` says how long the next proof may take. When there are none left, OutOfTime is raised.
    """

    def limit() -> float | None:
        left = seconds()
        if left is not None and left <= 0:
            raise OutOfTime
        return left

    with side_by_side(workers) as run:

        def ask_all(asks: Sequence[Ask]) -> Iterator[Proven]:
            for found in run(prove, ((ask, cache, limit()) for ask in asks)):
                yield found
                if workers > 1:
                    limit()

        yield ask_all
