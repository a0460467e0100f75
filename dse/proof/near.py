"""All mappings near the optimum: the engine's search once more, for every nest below a loss."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from os import cpu_count
from typing import Any, NamedTuple

import numpy as np

from dse.core.certificate import Incumbent
from dse.core.clock import Clock
from dse.core.evaluations import Evaluations
from dse.core.listed import MOST, Listed, Wanted
from dse.core.problem import AnyProblem
from dse.proof.contract import Found
from dse.proof.engine import Search
from dse.proof.proving import tie_breaks
from dse.support.arrays import IntArray

ROUNDS_NEAR, STARTS = 20, 8
PRICED = ("cycles", "energy_nj", "macs", "l1_size", "l2_size")
"""Figures of an Incumbent, in their order."""


class Rows(NamedTuple):
    """What a domain knows of mappings as rows (n, columns), which the designs of its boxes are."""

    row_of: Callable[[Any], Any]
    mapping_of: Callable[[Any], Any]
    price: Callable[[Any], Evaluations]
    keys: Callable[[Any], IntArray]
    """Rows of integers (n, m), equal for mappings that are the same nest of loops."""


def list_near(
    problem: AnyProblem, boxes: Any, kind: Rows, best: Incumbent, wanted: Wanted, clock: Clock
) -> Listed:
    """The mappings that are `wanted` near the proven optimum `best`, which comes first.

    The `boxes` hold every mapping, and leave none out for one that is as good. RuntimeError if one is better
    than the optimum.
    """
    at_most = wanted._replace(most=wanted.most or MOST)
    search = Search(boxes, clock, cpu_count() or 1, at_most, loss=best.loss)
    if wanted.most is None:
        search.observe = _stop_if_full
    # Of mappings that are as good as the last one not all need be there, but the best has to be.
    search.listing.add(Found(np.array([best.loss]), [kind.row_of(best.mapping)]), np.inf)
    if wanted.most is not None:
        _add_near(problem, search, np.array(best.genes))
    with suppress(TooMany):
        search.run()
    if search.loss < best.loss:
        raise RuntimeError(f"a mapping of loss {search.loss!r} is below the proven optimum {best.loss!r}")
    rows = search.listed[1]
    # Of boxes that nobody has come to less may be known than that the best mapping is one.
    bound = search.to_beat if search.finished else max(min(search.bound, search.to_beat), best.loss)
    listed = _priced(problem, kind, best, np.array(rows))
    return Listed(wanted, listed, search.finished, bound, clock.seconds)


def _add_near(problem: AnyProblem, search: Search, genes: IntArray) -> None:
    """List good mappings around the best one, so that much is ruled out from the beginning."""
    space, points = problem.space, genes[np.newaxis]
    for _ in range(ROUNDS_NEAR):
        near = np.concatenate([block.neighbours(point) for point in points for block in space.blocks])
        near = np.unique(near, axis=0)
        if not len(near):
            break
        losses, before = problem.price(near).loss, search.listing.last
        decoded: Any = space.decode(near)
        search.listing.add(Found(losses, decoded.rows), search.to_beat)
        points = near[np.argsort(losses, kind="stable")[:STARTS]]
        # A round that brings nothing nearer than the last one listed ends the climb.
        if search.listing.last == before < np.inf:
            break


class TooMany(Exception):
    """More mappings than are listed are within the share."""


def _stop_if_full(search: Search) -> None:
    if search.listing.last < np.inf:
        raise TooMany


def _priced(problem: AnyProblem, kind: Rows, best: Incumbent, rows: Any) -> tuple[Incumbent, ...]:
    """Mappings as the cost model prices them, the best first; of equal ones by the other figure."""
    costs, keys = kind.price(rows), kind.keys(rows)
    own = (keys == kind.keys(kind.row_of(best.mapping)[np.newaxis])).all(axis=1)
    order = np.lexsort((*keys.T[::-1], tie_breaks(problem, costs), costs.loss, ~own))
    mappings = [kind.mapping_of(rows[place]) for place in order[1:]]
    genes = problem.vectors(mappings) if mappings else ()
    figures: list[list[Any]] = [getattr(costs, name)[order[1:]].tolist() for name in ("loss", *PRICED)]
    others = (
        Incumbent(loss, tuple(point.tolist()), *each, mapping=mapping)  # type: ignore[misc]
        for mapping, point, loss, *each in zip(mappings, genes, *figures, strict=True)
    )
    return best, *others
