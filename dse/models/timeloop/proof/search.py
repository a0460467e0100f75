"""Proving the optimum of a problem on a machine of levels: branch and bound on a convex relaxation.

Of a space of few mappings each is priced. Of others:

1. A first mapping comes from random ones and steps down from the best.
2. A node is a choice of what levels keep, a pattern of the orders, and some factors of every component of
   dims. Its bound is that of `relaxation`, which leaves out factors that cannot beat the best mapping.
3. From the lowest bound on, a node is enumerated if few choices are left; else it is divided: by what the
   innermost loop of a level is, from the outermost level in, and then by how large tiles are.
4. What is left is priced by the problem itself, in all orders of its pattern.

Where the time runs out, the lowest bound of what is left is what has been proven; the nodes that are left
are kept, and a later run goes on with them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, priced
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.bounds import GROUP, refuse
from dse.models.timeloop.proof.proof import Proof

if TYPE_CHECKING:
    from dse.domains.levels.mapping import HierarchyMapping

__all__ = ["GROUP", "refuse", "solve", "warm"]


def solve(
    problem: MachineProblem, clock: Clock | None = None, known: Certificate | None = None
) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in the time of `clock`.

    `known` is what an earlier run left, of the same code.
    """
    clock = clock or Clock()
    refuse(problem)
    proof = Proof(problem)
    if not proof.is_small:
        warm()
    if known is None or known.best is None:
        proof.begin(clock)
    else:
        mapping = cast("HierarchyMapping", known.best.mapping)
        proof.loss, proof.row = known.best.loss, problem.space.layout.encode([mapping])[0].copy()
    proof.run(clock, known.unsettled if known else b"")
    best = None
    if proof.row is not None:
        best = priced(problem, problem.space.layout.decode(proof.row))
        if best is None or best.loss != proof.loss:
            raise RuntimeError(f"the proof finds loss {proof.loss!r} and the problem {best}")
    status, bound = OPTIMAL if best else INFEASIBLE, proof.loss
    if proof.left < proof.loss:
        status, bound = BOUNDED, max(proof.left, known.lower_bound if known else 0.0)
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=bound,
        best=best,
        solved=(),
        counts=proof.counts(known.counts if known and known.unsettled else None),
        seconds=clock.seconds,
        earlier_seconds=known.all_seconds if known else 0.0,
        unsettled=proof.unsettled() if status == BOUNDED else b"",
    )


@cache
def warm() -> None:
    """Prove a first optimum: every proof after it finds its kernels loaded, and once compiled."""
    link = Bandwidth(shared=1)
    levels = (
        Level("DRAM", keeps=TENSORS, fan_out=2, bandwidth=link), Level("Store", capacity=8, keeps=("O",)),
    )  # fmt: skip
    for objective in ("edp", "latency", "energy where latency <= 1"):
        problem = MachineProblem(Layer.fc(2, 2), Machine("warm", levels, 1.0), objective, "timeloop")
        proof = Proof(problem, may_be_whole=False)
        proof.begin(Clock())
        proof.run(Clock())
