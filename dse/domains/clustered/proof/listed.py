"""All mappings near the optimum: the engine's search once more, for every nest below a loss."""

from __future__ import annotations

from contextlib import suppress
from os import cpu_count
from typing import Any

import numpy as np

from dse.core.certificate import Incumbent
from dse.core.clock import Clock
from dse.core.listed import MOST, Listed, Wanted
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import mapping_of_row
from dse.domains.clustered.proof.certifiers import certifier_of, has_floor_only, refuse_limits
from dse.domains.clustered.proof.descent import STARTS, tie_breaks
from dse.domains.clustered.proof.nests import nest_keys
from dse.domains.clustered.proof.warming import warm
from dse.proof.contract import Found
from dse.proof.engine import Search
from dse.support.arrays import IntArray
from dse.support.errors import InputError

ROUNDS_NEAR = 20
PRICED = ("cycles", "energy_nj", "macs", "l1_size", "l2_size")
"""Figures of an Incumbent, in their order."""


def list_best(
    problem: Problem, best: Incumbent, wanted: Wanted, clock: Clock, threads: int | None = None
) -> Listed:
    """The mappings that are `wanted` near the proven optimum `best`, which comes first.

    InputError as in `boxes_of_all`.
    """
    boxes = boxes_of_all(problem)
    refuse_limits(problem, boxes)
    warm(problem.model.name, problem.tiles)
    at_most = wanted._replace(most=wanted.most or MOST)
    search = Search(boxes, clock, threads or cpu_count() or 1, at_most, loss=best.loss)
    if wanted.most is None:
        search.observe = _stop_if_full
    # Of mappings that are as good as the last one not all need be there, but the best has to be.
    search.listing.add(Found(np.array([best.loss]), MappingBatch.of([best.mapping]).rows), np.inf)
    if wanted.most is not None:
        _add_near(problem, search, np.array(best.genes))
    with suppress(TooMany):
        search.run()
    if search.loss < best.loss:
        raise RuntimeError(f"a mapping of loss {search.loss!r} is below the proven optimum {best.loss!r}")
    rows = search.listed[1]
    bound = search.to_beat if search.finished else min(search.bound, search.to_beat)
    listed = _priced(problem, best, np.array(rows))
    return Listed(wanted, listed, search.finished, bound, clock.seconds)


def boxes_of_all(problem: Problem) -> Any:
    """Boxes that hold every mapping; InputError under a cost model that has no bounds of these."""
    boxes: Any = None if has_floor_only(problem) else certifier_of(problem).make_boxes(problem)
    if not hasattr(boxes, "with_all"):
        raise InputError(
            f"under cost model {problem.model.name!r}, in space {problem.options.get('space', 'default')!r}, "
            "proofs leave out mappings that are no better than others, and list none near the optimum; those "
            "under 'loopnest' and 'maestro' do, in space 'default'"
        )
    return boxes.with_all()


def _add_near(problem: Problem, search: Search, genes: IntArray) -> None:
    """List good mappings around the best one, so that much is ruled out from the beginning."""
    space, points = problem.space, genes[np.newaxis]
    for _ in range(ROUNDS_NEAR):
        near = np.concatenate([block.neighbours(point) for point in points for block in space.blocks])
        near = np.unique(near, axis=0)
        if not len(near):
            break
        losses, before = problem.price(near).loss, search.listing.last
        search.listing.add(Found(losses, space.decode(near).rows), search.to_beat)
        points = near[np.argsort(losses, kind="stable")[:STARTS]]
        if search.listing.last == before < np.inf:
            break


class TooMany(Exception):
    """More mappings than are listed are within the share."""


def _stop_if_full(search: Search) -> None:
    if search.listing.last < np.inf:
        raise TooMany


def _priced(problem: Problem, best: Incumbent, rows: IntArray) -> tuple[Incumbent, ...]:
    """Mappings (n, 27) as the cost model prices them, the best first; of equal ones by the other figure."""
    costs, keys = problem.evaluate(MappingBatch(rows)), nest_keys(problem, rows)
    own = (keys == nest_keys(problem, MappingBatch.of([best.mapping]).rows)).all(axis=1)
    order = np.lexsort((*keys.T[::-1], tie_breaks(problem, costs), costs.loss, ~own))
    mappings = [mapping_of_row(problem, rows[place]) for place in order[1:]]
    genes = problem.vectors(mappings) if mappings else ()
    figures: list[list[Any]] = [getattr(costs, name)[order[1:]].tolist() for name in ("loss", *PRICED)]
    others = (
        Incumbent(loss, tuple(point.tolist()), *each, mapping=mapping)  # type: ignore[misc]
        for mapping, point, loss, *each in zip(mappings, genes, *figures, strict=True)
    )
    return best, *others
