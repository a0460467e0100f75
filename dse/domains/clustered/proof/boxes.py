"""Proofs under cost models that bring boxes of mappings: the engine's, begun by descents."""

from __future__ import annotations

from functools import cache

from dse.core.certificate import Certificate, Incumbent
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of, refuse_limits
from dse.domains.clustered.proof.descent import good_mapping, with_factors
from dse.proof.proving import prove


def solve_boxes(
    problem: Problem, clock: Clock, known: Certificate | None, threads: int | None
) -> Certificate:
    """`solve` under a cost model that brings boxes (see `dse.proof.contract`), over any of its tiles."""
    certifier = certifier_of(problem)
    boxes = certifier.make_boxes(problem)
    refuse_limits(problem, boxes)
    warm_boxes(problem.model.name, problem.tiles)
    return prove(problem, boxes, boxes.mapping_of, lambda: begin_boxes(problem), clock, known, threads)


@cache
def warm_boxes(model: str, tiles: str) -> None:
    """Prove a first optimum: every proof after it finds its kernels loaded, and once compiled."""
    problem = Problem(Layer.fc(2, 2), Accelerator(2, 32, 64, 2, 2), cost_model=model, tiles=tiles)
    boxes = certifier_of(problem).make_boxes(problem)
    prove(problem, boxes, boxes.mapping_of, lambda: None, Clock(), threads=1)


def begin_boxes(problem: Problem) -> Incumbent | None:
    """A good mapping that descents find; where tiles are of any size, over perfect factors first."""
    factors = with_factors(problem) if problem.tiles == "any" else None
    good = [good_mapping(problem, factors)] if factors else []
    good.append(good_mapping(problem))
    return min((one for one in good if one), key=lambda one: one.loss, default=None)
