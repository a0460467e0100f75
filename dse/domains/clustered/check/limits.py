"""What a problem's limits leave to mappings, worked out once more: nothing is shared with the solver.

The busiest PE is the first one of the first cluster. It is followed here piece by piece, dim by dim.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.problem import Problem

MAPPED = "KCYX"


def share_of(problem: Problem, figure: str) -> Fraction | None:
    """The share in the limit of a figure; None without one."""
    for text in problem.limits:
        name, _, share = text.split()
        if name == figure:
            return Fraction(share)
    return None


def room_of(problem: Problem) -> tuple[int, int]:
    """The words of L1 and of L2 that a mapping may use."""
    machine = problem.accelerator
    l1, l2 = (share_of(problem, figure) or Fraction(1) for figure in ("l1_use", "l2_use"))
    # What is whole and not above a share of a size is not above its whole part.
    return int(machine.l1_size * l1), int(machine.l2_size * l2)


def most_steps(problem: Problem) -> int | None:
    """The most steps of the busiest PE, each of them on a lane; None where no limit says any."""
    share = share_of(problem, "pe_use")
    if share is None:
        return None
    lanes = problem.accelerator.simd_lanes
    in_parallel = problem.accelerator.num_pes * lanes
    ideal = (problem.layer.macs + in_parallel - 1) // in_parallel
    return ideal * share.denominator // share.numerator * lanes


def limit_checks(problem: Problem, certificate: Certificate) -> tuple[Check, ...]:
    """Whether the best mapping keeps the limits; nothing of a problem without any."""
    best = certificate.best
    if not problem.limits or best is None:
        return ()
    (l1, l2), most, seen = room_of(problem), most_steps(problem), []
    holds = best.l1_size <= l1 and best.l2_size <= l2
    seen.append(f"L1 {best.l1_size:,} of {l1:,} and L2 {best.l2_size:,} of {l2:,} that may be used")
    if most is not None:
        steps = steps_of_busiest(problem, best.mapping)
        holds &= steps <= most
        seen.append(f"{steps:,} of {most:,} steps on the busiest PE")
    return (Check("the best mapping keeps the limits", holds, ", ".join(seen)),)


def steps_of_busiest(problem: Problem, mapping: Mapping) -> int:
    """Steps of the busiest PE of one mapping."""
    loops, cluster = problem.layer.loops, mapping.cluster_size
    depthwise = problem.layer.type == "DSCONV"
    outer, inner = (
        "C" if depthwise and level.parallel == "K" else level.parallel
        for level in (mapping.outer, mapping.inner)
    )
    clusters = problem.accelerator.num_pes // cluster
    found = problem.layer.R * problem.layer.S
    for dim in MAPPED:
        across, within = clusters if dim == outer else 1, cluster if dim == inner else 1
        tiles = mapping.outer.tile[dim], mapping.inner.tile[dim]
        found *= _steps_along(loops[dim], *tiles, across, within)
    return found


def _steps_along(size: int, outer: int, inner: int, across: int, within: int) -> int:
    """Indices of a dim that the first PE of the first cluster goes through."""
    extents = np.minimum(outer, size - np.arange(0, size, min(outer * across, size)))
    lengths, counts = np.unique(extents, return_counts=True)
    return sum(
        count * int(np.minimum(inner, length - np.arange(0, length, min(inner * within, length))).sum())
        for length, count in zip(lengths.tolist(), counts.tolist(), strict=True)
    )
