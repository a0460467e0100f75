"""Boxes of outer tiles around mappings under `maestro`, to set their bounds beside the mappings' prices."""

from __future__ import annotations

from typing import cast

import numpy as np

from dse.domains.clustered.mapping import CLUSTER, OUTER_PARALLEL, OUTER_TILE, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of
from dse.domains.clustered.proof.choices import parallel_dims
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.maestro.proof.boxes.bounds import MAPPED, BoxBounds
from dse.support.arrays import FloatArray


def point_margins(problem: Problem, rng: np.random.Generator, drawn: int) -> FloatArray:
    """Of random feasible mappings, the loss over the bound of a box that holds it: never below 1.

    Every second box is the point of the mapping's own tiles.
    """
    bounds = cast("BoxBounds", certifier_of(problem).make_bounds(problem))
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    losses = problem.evaluate(MappingBatch(rows)).loss
    sizes = [problem.layer.loops[dim] for dim in MAPPED_DIMS]
    least = parallel_dims(problem)[0][0]
    ratios = []
    for number in np.flatnonzero(np.isfinite(losses)).tolist():
        tiles = np.minimum(rows[number, OUTER_TILE : OUTER_TILE + MAPPED], sizes)
        low, high = tiles.copy(), tiles.copy()
        if number % 2:
            low, high = rng.integers(1, tiles, endpoint=True), rng.integers(tiles, sizes, endpoint=True)
        box = np.stack([low, high], axis=1).ravel().tolist()
        place = max(int(rows[number, OUTER_PARALLEL]), least), int(rows[number, CLUSTER])
        ratios.append(losses[number] / bounds.bound_of(box, place[1], place[0]))
    return np.array(ratios)
