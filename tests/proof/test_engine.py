"""The engine proves the least of any function over boxes of whole numbers that has a lower bound."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.listed import Wanted
from dse.proof.contract import Bounded, Children, Found, Rounds
from dse.proof.engine import Search
from dse.support.arrays import FloatArray, IntArray

SIDE = 200
LEAST = (120 - 120.4) ** 2 + 1


class Bowl:
    """Points (x, y) of a grid, whose loss is their squared distance from (37, 120.4), and 1."""

    kind = "x and y"

    def __init__(self, least: int = 8) -> None:
        self.rounds = Rounds(least=least, most=64, share=2)
        self.settled = 0

    def roots(self) -> IntArray:
        return np.array([[0, SIDE - 1, 0, 99], [0, SIDE - 1, 100, SIDE - 1]])

    def bound(self, boxes: IntArray, to_beat: float) -> Bounded:
        x = np.clip(37, boxes[:, 0], boxes[:, 1])
        y = np.clip(120.4, boxes[:, 2], boxes[:, 3])
        return Bounded(self._loss(x, y))

    def divide(self, boxes: IntArray, bounds: FloatArray, to_beat: float) -> Children:
        wide = (boxes[:, 1] > boxes[:, 0]) | (boxes[:, 3] > boxes[:, 2])
        parents = np.flatnonzero(wide).repeat(2)
        parts = boxes[parents].copy()
        for place in range(0, len(parts), 2):
            low, high = parts[place], parts[place + 1]
            at = 0 if low[1] - low[0] >= low[3] - low[2] else 2
            low[at + 1] = (low[at] + low[at + 1]) // 2
            high[at] = low[at + 1] + 1
        return Children(parts, parents)

    def settle(self, boxes: IntArray, to_beat: float) -> Found:
        self.settled += len(boxes)
        losses = self._loss(boxes[:, 0], boxes[:, 2])
        return Found(losses, [(int(x), int(y)) for x, y in boxes[:, [0, 2]]])

    def _loss(self, x: Any, y: Any) -> FloatArray:
        found: FloatArray = (x - 37) ** 2.0 + (y - 120.4) ** 2 + 1
        return found

    def pack(self, boxes: IntArray, bounds: FloatArray) -> bytes:
        file = io.BytesIO()
        np.savez(file, boxes=boxes, bounds=bounds)
        return file.getvalue()

    def unpack(self, kept: bytes) -> tuple[IntArray, FloatArray]:
        with np.load(io.BytesIO(kept)) as file:
            return file["boxes"], file["bounds"]


def every_loss() -> FloatArray:
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    found: FloatArray = np.sort(((x - 37) ** 2.0 + (y - 120.4) ** 2 + 1).ravel())
    return found


def test_the_best_design_is_found_and_few_others_are_looked_at() -> None:
    bowl = Bowl()
    search = Search(bowl, Clock())
    search.run()
    assert search.finished
    assert (search.loss, search.bound, search.design) == (LEAST, LEAST, (37, 120))
    assert bowl.settled < 50


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_nothing_depends_on_the_threads(threads: int) -> None:
    search = Search(Bowl(), Clock(), threads)
    search.run()
    alone = Search(Bowl(), Clock())
    alone.run()
    assert (search.loss, search.design, search.tally) == (alone.loss, alone.design, alone.tally)


def test_every_box_is_counted_once() -> None:
    search = Search(Bowl(), Clock())
    search.run()
    tally = search.tally
    divided = tally.boxes - tally.empty - tally.ruled_out - tally.settled
    # Each division makes two of one.
    assert tally.boxes == 2 + 2 * divided


def test_all_designs_within_a_share_of_the_best_are_listed_the_best_first() -> None:
    search = Search(Bowl(), Clock(), wanted=Wanted(share=30.0))
    search.run()
    losses, (found, designs) = every_loss(), search.listed
    assert found.tolist() == losses[losses <= search.loss * 31].tolist()
    assert len(set(designs)) == len(designs)


def test_so_many_best_designs_are_listed() -> None:
    search = Search(Bowl(), Clock(), wanted=Wanted(most=25))
    search.run()
    assert search.listed[0].tolist() == every_loss()[:25].tolist()


def test_of_the_best_designs_those_within_a_share_are_listed() -> None:
    losses = every_loss()
    few, many = (Search(Bowl(), Clock(), wanted=Wanted(share=30.0, most=most)) for most in (10, 1000))
    few.run()
    many.run()
    assert few.listed[0].tolist() == losses[:10].tolist()
    assert many.listed[0].tolist() == losses[losses <= many.loss * 31].tolist()


def test_of_designs_that_are_the_same_the_best_is_listed() -> None:
    class Rows(Bowl):
        """Designs of one row of the grid are the same."""

        def keys(self, designs: list[tuple[int, int]]) -> IntArray:
            return np.array([[y] for _, y in designs])

    search = Search(Rows(), Clock(), wanted=Wanted(most=5))
    search.run()
    assert search.listed[1] == [(37, 120), (37, 121), (37, 119), (37, 122), (37, 118)]


def test_a_search_that_begins_with_the_best_finds_no_other() -> None:
    search = Search(Bowl(), Clock(), loss=LEAST)
    search.run()
    assert (search.finished, search.design, search.bound) == (True, None, LEAST)


def test_when_the_time_is_over_nothing_is_below_what_is_open_and_a_later_run_goes_on() -> None:
    over = Clock(0.0)
    kept, runs, bounds = b"", 0, [-math.inf]
    loss = math.inf
    while True:
        search = Search(Bowl(least=2), over, loss=loss)
        search.run(kept)
        loss, kept, runs = search.loss, search.pack(), runs + 1
        bounds.append(search.bound)
        if search.finished:
            break
        assert search.bound <= LEAST
    assert loss == LEAST
    assert bounds == sorted(bounds)
    assert runs > 5


def test_a_round_that_is_interrupted_is_as_if_not_begun() -> None:
    class Rude(Bowl):
        def settle(self, boxes: IntArray, to_beat: float) -> Found:
            raise KeyboardInterrupt

    search = Search(Rude(), Clock())
    with pytest.raises(KeyboardInterrupt):
        search.run()
    again = Search(Bowl(), Clock())
    again.run(search.pack())
    assert again.finished
    assert again.loss == LEAST


class Generous(Bowl):
    """A Bowl that knows its best point as soon as a box is divided."""

    def divide(self, boxes: IntArray, bounds: FloatArray, to_beat: float) -> Children:
        return super().divide(boxes, bounds, to_beat)._replace(found=[Found(np.array([LEAST]), [(37, 120)])])


def test_designs_that_are_met_where_boxes_are_divided_rule_out_others() -> None:
    searches = [Search(kind(), Clock()) for kind in (Bowl, Generous)]
    for search in searches:
        search.run()
    alone, generous = searches
    assert (generous.loss, generous.design) == (alone.loss, alone.design)
    assert generous.tally.settled < alone.tally.settled


def test_boxes_that_were_kept_and_cannot_be_read_are_searched_for_again() -> None:
    class Forgetful(Bowl):
        def unpack(self, kept: bytes) -> tuple[IntArray, FloatArray]:
            return np.empty((0, 4), np.int64), np.empty(0)

    search = Search(Forgetful(), Clock())
    search.run(b"of another version")
    assert (search.finished, search.loss) == (True, LEAST)
