"""Callbacks follow a search from its begin to its end, and change nothing of it."""

from __future__ import annotations

import numpy as np
import pytest

import dse
from dse.search.api import Result
from dse.search.callbacks import Callback
from dse.search.evaluator import Progress
from dse.search.run import Cell

PROBLEM = dse.suite("short")[7]


class Noted(Callback):
    def __init__(self) -> None:
        self.notes: list[object] = []

    def begin(self, cell: Cell) -> None:
        self.notes.append((cell.name, cell.budget))

    def progress(self, progress: Progress) -> None:
        self.notes.append(progress.samples)

    def end(self, result: Result) -> None:
        self.notes.append(result)


def test_a_callback_sees_begin_progress_and_end_and_changes_nothing() -> None:
    noted = Noted()
    found = dse.search(PROBLEM.problem, "random", budget=30, callbacks=[noted, Callback()])
    first, *between, last = noted.notes
    assert first == ("random", 30)
    assert between[-1] == 30
    assert last is found
    alone = dse.search(PROBLEM.problem, "random", budget=30)
    assert np.array_equal(alone.record.genes(), found.record.genes())


def test_a_run_from_outside_is_followed_alike() -> None:
    noted = Noted()
    with PROBLEM.ask_tell(budget=5, start="templates", callbacks=[noted]) as study:
        study.tell(study.ask())
    begun, *between, last = noted.notes
    assert begun == ("outside", 5)
    assert between[0] in (1, 3)
    assert between[-1] == 5
    assert isinstance(last, Result)


def test_a_search_that_fails_has_no_end() -> None:
    noted = Noted()
    with pytest.raises(ValueError, match="budget"):
        dse.search(PROBLEM.problem, "random", budget=0, callbacks=[noted])
    assert noted.notes == []
