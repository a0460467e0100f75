"""A certificate from a search over boxes: begun, gone on with, and put into figures, for any problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from os import cpu_count
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, Counts, Incumbent, priced_mapping
from dse.core.clock import Clock
from dse.core.evaluations import Evaluations
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.proof.contract import Boxes
from dse.proof.engine import Search
from dse.support.arrays import FloatArray


def prove_optimum(
    problem: AnyProblem,
    boxes: Boxes,
    mapping_of: Callable[[Any], Any],
    begin: Callable[[], Incumbent | None],
    clock: Clock,
    known: Certificate | None = None,
    threads: int | None = None,
    price: Callable[[AnyProblem, Any], Incumbent | None] = priced_mapping,
) -> Certificate:
    """Prove the problem's optimum over `boxes`, or what can be proven of it in the time of `clock`.

    A design of the boxes is the mapping `mapping_of` it, or the point, as `price` takes it. `known` is what
    an earlier run of the same code left; without it, `begin` finds a mapping to begin with, if it can: of
    boxes that `begin_late` only if the time is over before the search has met one. RuntimeError if the
    problem prices the best mapping otherwise than the boxes do.
    """
    search = Search(boxes, clock, threads or cpu_count() or 1)
    late = getattr(boxes, "begin_late", False)
    best = known.best if known else None if late else begin()
    if best is not None:
        search.loss = best.loss
    search.run(known.unsettled if known else b"")
    # Out of time with no design met: one that is found in another way still gives a gap.
    if late and search.loss == math.inf and not search.finished and (best := begin()):
        search.loss = best.loss
    if search.design is not None:
        best = _checked(problem, price(problem, mapping_of(search.design)), search.loss)
    status, lower_bound, before = OPTIMAL if best else INFEASIBLE, search.loss, None
    if not search.finished:
        status, lower_bound = BOUNDED, search.bound
    if known is not None:
        # Both hold, whether the kept boxes could be read or the proof began anew: the greater counts.
        lower_bound = max(lower_bound, known.lower_bound) if status == BOUNDED else lower_bound
        before = known.counts if known.unsettled else None
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=lower_bound,
        best=best,
        counts=counts_of(search, problem.space.mappings, before),
        seconds=clock.seconds,
        earlier_seconds=known.all_seconds if known else 0.0,
        unsettled=search.pack(),
    )


def tie_breaks(problem: AnyProblem, costs: Evaluations) -> FloatArray:
    """What decides between mappings of one loss (n,): see `Incumbent.tie_break`."""
    alone = objective_named(problem.objective).of_energy_alone
    found: FloatArray = costs.cycles.astype(np.float64) if alone else costs.energy_nj
    return found


def counts_of(search: Search, mappings: int, before: Counts | None) -> Counts:
    """What was done, in this run and in those before it."""
    tally, left = search.tally, len(search.open) if search.open else 0
    empty, ruled_out, settled = tally.empty, tally.ruled_out, tally.settled
    if before is not None:
        empty, ruled_out = empty + before.too_large, ruled_out + before.bounded
        settled += before.solved
    return Counts(
        groups=empty + ruled_out + settled + left,
        too_large=empty,
        bounded=ruled_out,
        solved=settled,
        open=left,
        inner_levels=tally.boxes + (before.inner_levels if before else 0),
        mappings=mappings,
    )


def _checked(problem: AnyProblem, best: Incumbent | None, loss: float) -> Incumbent:
    """The best mapping as the problem prices it: its loss has to be what was found."""
    if best is None or best.loss != loss:
        seen = "refuses the mapping" if best is None else f"finds {best.loss!r}: {best.mapping}"
        raise RuntimeError(f"the proof finds loss {loss!r} and the cost model {seen}")
    return best
