"""The one kernel of the proofs: it bounds boxes, one after the other."""

from __future__ import annotations

from dse.models.loopnest.bound.box import bound_box
from dse.models.loopnest.bound.dominance import count_undominated
from dse.models.loopnest.bound.small import bound_further
from dse.support.compiling import kernel

__all__ = ["bound_boxes", "count_undominated"]


@kernel
def bound_boxes(boxes, choices, starts, to_beat, known, scratch, losses):
    """Writes a loss that no mapping of each box is below; inf where none is feasible.

    `boxes` (n, 4) are made smaller where tiles cannot be of use; `choices` (n, 3) are cluster sizes and
    parallel dims, `starts` (n, 4) where tables of undominated pairs begin, or -1. Bounds below `to_beat` are
    worked out further.
    """
    for index in range(len(boxes)):
        for column in range(3):
            if index == 0 or choices[index, column] != choices[index - 1, column]:
                # What outer steps move is that of other parallel dims; no box has a tile of 0.
                scratch.linked[0].lows[0] = 0
        box, choice = boxes[index], choices[index]
        loss = bound_box(box, choice, starts[index], known, scratch)
        if loss < to_beat:
            loss = max(loss, bound_further(box, choice, starts[index], to_beat, known, scratch))
        losses[index] = loss
