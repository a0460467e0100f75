"""Small chains, machines for them, and the least cost of a chain by going through everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import dse
from dse.core.certificate import Certificate
from dse.core.domains import make_problem
from dse.core.edges import BESIDE, WEIGHT, Chain, Edge
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.residence import Phase, Residence
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.residence import RESIDENCE as IN_L2
from dse.domains.levels.checks import DOUBLE, SINGLE
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.models.timeloop.residence import RESIDENCE
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains


def machine(room: int) -> Machine:
    """DRAM, a buffer of so many words, and an array with registers."""
    shared, rates = Bandwidth(shared=1.0), Bandwidth(4.0, 3.0)
    dram = Level("DRAM", keeps=TENSORS, may_keep=(), bandwidth=shared, energy=Energy.of_any(20.0))
    buffer = Level("B", room, 2, TENSORS, (), ("K",), bandwidth=rates, energy=Energy(1.0, 1.5, 2.0))
    registers = Level("R", 2, keeps=("W",), may_keep=(), loops=("P",), energy=Energy.of_any(0.1))
    return Machine("small", (dram, buffer, registers), 0.5)


def chip(room: int) -> Accelerator:
    """Two PEs and an L2 of so many words, each tile of which is there twice."""
    return Accelerator(2, 12, room, 3, 1)


@dataclass(frozen=True)
class Kind:
    """A cost model, what it brings to chains, machines with so much room, and what is fixed of mappings."""

    model: str
    residence: Residence
    machine: Callable[[int], Any]
    fixed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def make(self, room: int, objective: str) -> Callable[[Layer], AnyProblem]:
        """What makes a layer's problem."""
        hardware = self.machine(room)
        return lambda layer: make_problem(layer, hardware, objective, self.model, fixed=self.fixed)


def waiting(room: int) -> Machine:
    """The machine with first fill and last drain, a double buffer, and registers for which all else waits."""
    dram, buffer, registers = machine(room).levels
    levels = dram, replace(buffer, buffering=DOUBLE), replace(registers, buffering=SINGLE)
    return Machine("waiting", levels, 0.5, fill_and_drain=True)


LEVELS = Kind("timeloop", RESIDENCE, machine)
WAITING = Kind("timeloop", RESIDENCE, waiting)
CLUSTERS = Kind("loopnest", IN_L2, chip, {"outer.order": "KYCX", "inner.order": "CKYX"})

ROW = Chain(
    tuple(Layer.gemm(4, n, k, name=name) for name, n, k in (("a", 4, 2), ("b", 2, 4), ("c", 4, 2))),
    (Edge("a", "b"), Edge("b", "c"), Edge("a", "c", BESIDE)),
)
HEADS = Chain(
    (
        Layer.gemm(2, 4, 2, name="q", repeats=3),
        Layer.gemm(2, 2, 2, name="s", repeats=6),
        Layer.gemm(2, 2, 2, name="v", repeats=6),
        Layer.gemm(2, 2, 4, name="o", repeats=3),
    ),
    (Edge("q", "s", WEIGHT), Edge("s", "v"), Edge("v", "o")),
    3,
)


KNOWN: dict[str, Certificate] = {}
"""What was proven of a layer is known to all tests of chains."""


def prove(problem: AnyProblem) -> Certificate:
    if problem.fingerprint not in KNOWN:
        KNOWN[problem.fingerprint] = dse.certify(problem, tiles="factors", cache=False, more_nests=False)
    return KNOWN[problem.fingerprint]


@cache
def proven(chain: Chain, room: int, objective: str, most: int = 1, kind: Kind = LEVELS) -> ChainProof:
    return certify_chains([chain], kind.make(room, objective), kind.residence, prove, most=most)


@cache
def points(
    kind: Kind, room: int, layer: Layer, held: tuple[str, ...], taken: int
) -> tuple[tuple[float, float], ...]:
    """The front of a layer's energy and latency, from every mapping of its space."""
    problem = kind.residence.problem(kind.make(room, "energy")(layer), Phase(layer, held, taken))
    if problem is None:
        return ()
    every = np.array(list(product(*map(range, problem.space.sizes.tolist()))))
    prices = problem.price(np.unique(problem.space.canonical(every), axis=0))
    fits = prices.reason == 0
    found = sorted(set(zip(prices.energy_nj[fits].tolist(), prices.cycles[fits].tolist(), strict=True)))
    front, fewest = [], float("inf")
    for spent, cycles in found:
        if cycles < fewest:
            front.append((spent * 1e-9, cycles * problem.accelerator.cycle_seconds))
            fewest = cycles
    return tuple(front)


def by_hand(
    chain: Chain, room: int, objective: str, alive: Sequence[dict[str, int]], kind: Kind = LEVELS
) -> float:
    """The least cost over all tensors that may stay and all vertices of layers' mappings; `alive` says which
    tensors take how much room while each layer is run, made by hand.
    """
    goal = objective_named(objective)
    names = sorted({name for here in alive for name in here})
    best = float("inf")
    for chosen in product((False, True), repeat=len(names)):
        staying = {name for name, stays in zip(names, chosen, strict=True) if stays}
        totals = {(0.0, 0.0)}
        for layer, here in zip(chain.layers, alive, strict=True):
            taken = sum(words for name, words in here.items() if name in staying)
            held = {edge.operand for edge in chain.read_by(layer.name) if edge.source in staying} - {BESIDE}
            held |= {"O"} if layer.name in staying else set()
            own = points(kind, room, layer, tuple(sorted(held)), taken) if taken <= room else ()
            totals = {(e + x * layer.repeats, t + y * layer.repeats) for e, t in totals for x, y in own}
        best = min([best, *(goal.total({"energy": e, "latency": t}) for e, t in totals)])
    return best
