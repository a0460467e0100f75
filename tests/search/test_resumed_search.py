"""A search that was stopped goes on to the same record, or says why it cannot."""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.evaluations import Evaluations
from dse.domains.clustered.cost_model import CostModel
from dse.search import journal as journal_module
from dse.search.evaluator import BudgetExhausted, Evaluator, Progress, ReplayMismatch
from dse.search.journal import Journal
from dse.search.record import COLUMNS, Record
from dse.search.run import Cell, SearcherStopped, open_journal, run_cell
from dse.support.errors import InputError, StorageError
from searchers.random import Random
from searchers.walk import Walk
from tests.search.journal_cases import CELL, PROBLEM, SIZES, assert_same, drawn, first


@dataclass(frozen=True)
class Swallowing:
    """Tries to go on whatever happens."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        for _ in range(30):
            try:
                evaluate(evaluate.space.sample(rng, 100))
            except BudgetExhausted:
                raise
            except Exception:
                pass


def test_a_search_that_swallows_a_full_disk_fails_for_that_reason(tmp_path: Path, monkeypatch) -> None:
    cell = Cell(PROBLEM, "swallowing", Swallowing(), 0, 2000)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_journal(cell, tmp_path / "j") as journal:
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(StorageError, match="No space left on device"):
            run_cell(cell, journal)


@dataclass(frozen=True)
class Odd:
    """Draws in batches of many sizes, and goes where the losses tell it to."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        size = 1
        while True:
            evaluations = evaluate(evaluate.space.sample(rng, size))
            self.look(evaluations)
            size = 1 + int(np.isfinite(evaluations.loss).sum() * 3 + evaluations.cycles[0]) % 40

    @staticmethod
    def look(evaluations: Evaluations) -> None:
        for name, dtype in COLUMNS.items():
            column = getattr(evaluations, name)
            assert column.dtype == dtype
            assert not column.flags.writeable


class Counting(CostModel):
    """The model of PROBLEM, counting the rows that reach it."""

    name, version = PROBLEM.model.name, PROBLEM.model.version

    def __init__(self) -> None:
        self.rows = 0

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        self.rows += len(mappings)
        return PROBLEM.model.evaluate(layer, accelerator, mappings)


@pytest.mark.parametrize(
    "searcher", [Odd(), Walk(), Random(batch_size=64)], ids=lambda searcher: type(searcher).__name__
)
def test_a_search_resumed_at_any_cut_gives_the_same_record(tmp_path: Path, searcher) -> None:
    cell = Cell(PROBLEM, "any", searcher, 5, 200)
    whole = run_cell(cell)
    for cut in [0, 1, 2, *range(3, 198, 41), 198, 199, 200]:
        path, model = tmp_path / f"cut at {cut}", Counting()
        with open_journal(cell, path) as journal:
            journal.sync(first(whole, cut), force=True)
        resumed = replace(cell, problem=replace(PROBLEM, cost_model=model))
        with open_journal(resumed, path) as journal:
            assert_same(run_cell(resumed, journal), whole)
        assert model.rows == 200 - cut, "what the journal holds is not priced again"
        with open_journal(cell, path) as journal:
            assert_same(journal.recovered, whole)


def test_a_resumed_search_reports_how_much_was_replayed(tmp_path: Path) -> None:
    cell, seen = Cell(PROBLEM, "random", Random(batch_size=50), 5, 200), list[Progress]()
    with open_journal(cell, tmp_path / "j") as journal:
        journal.sync(first(run_cell(cell), 70), force=True)
    with open_journal(cell, tmp_path / "j") as journal:
        run_cell(cell, journal, [seen.append])
    assert [(progress.samples, progress.replayed) for progress in seen] == [
        (50, 50),
        (100, 70),
        (150, 70),
        (200, 70),
    ]


def test_a_search_that_is_not_what_it_was_is_told_at_the_first_sample_that_differs(tmp_path: Path) -> None:
    cell = Cell(PROBLEM, "random", Random(batch_size=40), 5, 200)
    whole = run_cell(cell)
    changed = Record(13)
    genes = whole.genes(0, 120)
    genes[97, 2] = (genes[97, 2] + 1) % SIZES[2]
    changed.append(genes, PROBLEM.price(genes))
    with open_journal(cell, tmp_path / "j") as journal:
        journal.sync(changed, force=True)
    content = (tmp_path / "j").read_bytes()
    expected = (
        f"sample 97 was {genes[97].tolist()}, the search now asks for {whole.genes()[97].tolist()}; "
        "the searcher has changed"
    )
    with (
        open_journal(cell, tmp_path / "j") as journal,
        pytest.raises(ReplayMismatch, match=re.escape(expected)),
    ):
        run_cell(cell, journal)
    assert (tmp_path / "j").read_bytes() == content


def test_a_journal_longer_than_the_budget_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", CELL, SIZES) as journal:
        journal.sync(drawn(20), force=True)
    with (
        Journal(tmp_path / "j", CELL, SIZES) as journal,
        pytest.raises(InputError, match="holds 20 samples, the budget is 19"),
    ):
        Evaluator(PROBLEM, 19, journal=journal)


@dataclass(frozen=True)
class Raising:
    """Breaks in the middle."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, 30))
        raise ZeroDivisionError("a bug of the plug-in")


def test_a_searcher_that_raises_leaves_its_samples_in_the_journal(tmp_path: Path) -> None:
    cell = Cell(PROBLEM, "raising", Raising(), 0, 100)
    with open_journal(cell, tmp_path / "j") as journal, pytest.raises(ZeroDivisionError):
        run_cell(cell, journal)
    with open_journal(cell, tmp_path / "j") as journal:
        assert len(journal.recovered) == 30


@dataclass(frozen=True)
class Lazy:
    """Gives up early."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, 30))


def test_a_searcher_that_stops_early_is_an_error() -> None:
    with pytest.raises(SearcherStopped, match="searcher 'lazy' stopped with 70 of 100 samples left"):
        run_cell(Cell(PROBLEM, "lazy", Lazy(), 0, 100))


def test_a_search_killed_again_and_again_gives_the_record_of_one_that_was_not(
    tmp_path: Path, monkeypatch
) -> None:
    cell, path = Cell(PROBLEM, "walk", Walk(n_walkers=3), 2, 2500), tmp_path / "j"
    whole, rng = run_cell(cell), np.random.default_rng(0)
    monkeypatch.setattr(journal_module, "FRAME_ROWS", 5)
    held, kills = [0], 0
    for _ in range(200):
        child = os.fork()
        if not child:
            os._exit(run_here(cell, path))
        wait_until_longer(path, child)
        time.sleep(rng.uniform(0, 0.004))
        os.kill(child, signal.SIGKILL)
        if os.waitpid(child, 0)[1] == 0:
            break
        kills += 1
        with open_journal(cell, path) as journal:
            assert len(journal.recovered) >= held[-1], "nothing that was written is lost"
            assert_same(journal.recovered, first(whole, len(journal.recovered)))
            held.append(len(journal.recovered))
        if kills == 7:
            assert run_here(cell, path) == 0
            break
    assert kills >= 5
    assert len(set(held)) > 3, "the kills came at different places"
    with open_journal(cell, path) as journal:
        assert_same(journal.recovered, whole)


def wait_until_longer(path: Path, child: int) -> None:
    """Wait until a child has written to the journal, or has ended."""
    before = path.stat().st_size if path.exists() else 0
    while not path.exists() or path.stat().st_size == before:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.0005)


def run_here(cell: Cell, path: Path) -> int:
    try:
        with open_journal(cell, path) as journal:
            run_cell(cell, journal)
    except BaseException:
        return 1
    return 0
