"""Boxes as the check of proofs over tiles of any size draws them, beside prices of mappings in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, Counts, priced_mapping
from dse.domains.clustered.check.boxes import Boxes, Cost, Search
from dse.domains.clustered.check.remains import Remains
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.check.least_cost import LeastCost
from dse.support.arrays import FloatArray
from tests.optimum.any_cases import every_row

BOXES, IN_EACH = 30, 40
SUMS = (
    "latency",
    "energy",
    "edp",
    "energy * latency^2",
    "energy + 2 * latency",
    "energy where latency <= 1e-7",
)


def margins(problem: Problem, rng: np.random.Generator, cost: Cost | None = None) -> FloatArray:
    """Of random mappings in random boxes, the loss over the box's bound: never below 1 but for rounding."""
    found = [np.ones(1)]
    for cluster in problem.accelerator.cluster_sizes:
        left = Search(Boxes(problem, cost or LeastCost(problem)), cluster, np.inf, 0).draw(rng, BOXES)
        for box in np.flatnonzero(left.pairs().prod(axis=1) > 0).tolist():
            alone = replace(
                left,
                parallels=left.parallels[[box]],
                nodes=left.nodes[[box]],
                bounds=left.bounds[[box]],
            )
            rows = Remains(problem, [alone]).draw(rng, IN_EACH)
            losses = problem.evaluate(MappingBatch(rows)).loss
            found.append(losses[np.isfinite(losses)] / left.bounds[box])
    return np.concatenate(found)


def claimed(problem: Problem, loss: float = 0.0) -> Certificate:
    """The certificate of a solver that has seen no mapping below a loss, by pricing every one."""
    least, best = np.inf, None
    for rows in every_row(problem):
        losses = problem.evaluate(MappingBatch(rows)).loss
        losses[losses < loss] = np.inf
        if losses.min() < least:
            least, best = float(losses.min()), MappingBatch(rows)[int(losses.argmin())]
    incumbent = None if best is None else priced_mapping(problem, best)
    status, counts = INFEASIBLE if best is None else OPTIMAL, Counts(0, 0, 0, 0, 0, 0, 0)
    return Certificate(problem.fingerprint, status, least, incumbent, (), counts, 0.0)


def bounded(certificate: Certificate, share: float) -> Certificate:
    """A certificate of a bound that is another share of the optimum's loss."""
    return replace(certificate, status=BOUNDED, lower_bound=certificate.lower_bound * share)
