"""All mappings near the optimum of a problem of two levels, by its cost model's boxes."""

from __future__ import annotations

from typing import Any

from dse.core.certificate import Incumbent
from dse.core.clock import Clock
from dse.core.listed import Listed, Wanted
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import mapping_of_row
from dse.domains.clustered.proof.certifiers import certifier_of, has_floor_only, refuse_limits
from dse.domains.clustered.proof.joined import boxes_of
from dse.domains.clustered.proof.nests import nest_keys
from dse.domains.clustered.proof.warming import compile_proofs
from dse.proof.near import Rows, list_near
from dse.support.errors import InputError


def list_best(problem: Problem, best: Incumbent, wanted: Wanted, clock: Clock) -> Listed:
    """The mappings that are `wanted` near the proven optimum `best`, which comes first.

    InputError as in `boxes_of_all`.
    """
    boxes = boxes_of_all(problem)
    refuse_limits(problem, boxes)
    compile_proofs(problem.model.name, problem.tiles)
    kind = Rows(
        lambda mapping: MappingBatch.of([mapping]).rows[0],
        lambda row: mapping_of_row(problem, row),
        lambda rows: problem.evaluate(MappingBatch(rows)),
        lambda rows: nest_keys(problem, rows),
    )
    return list_near(problem, boxes, kind, best, wanted, clock)


def boxes_of_all(problem: Problem) -> Any:
    """Boxes that hold every mapping; InputError under a cost model that has no bounds of these."""
    return boxes_of(problem, _boxes_of_all, every=True)


def _boxes_of_all(problem: Problem) -> Any:
    """The same where no tile is left several sizes."""
    boxes: Any = None if has_floor_only(problem) else certifier_of(problem).make_boxes(problem)
    if not hasattr(boxes, "with_all"):
        raise InputError(
            f"under cost model {problem.model.name!r}, in space {problem.options.get('space', 'default')!r}, "
            "proofs leave out mappings that are no better than others, and list none near the optimum; those "
            "under 'loopnest' and 'maestro' do, in space 'default'"
        )
    return boxes.with_all()
