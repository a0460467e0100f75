"""What a worker process does: run one cell from wherever its journal leaves off, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dse.campaign.config import NamedCell, only_grown
from dse.campaign.summary import Summary, summarise_cell
from dse.search.abilities import abilities_of
from dse.search.journal import Journal
from dse.search.progress import SharedProgress, Stopped
from dse.search.record import Record, read_parquet, write_parquet
from dse.search.run import RunTimes, make_ready, open_journal, run_cell
from dse.support.errors import InputError, StorageError, format_exception
from dse.support.hashing import plain_data

RECORDS, JOURNALS, PROGRESS = "cells", "journals", ".progress"
"""What there is in a campaign's folder of single cells."""


@dataclass(frozen=True)
class Task:
    """A cell to run, the campaign's folder, and the cell's place in the shared progress."""

    named: NamedCell
    folder: Path
    place: int

    @property
    def record_path(self) -> Path:
        """The Parquet file of the finished cell."""
        return record_path(self.folder, self.named.key)

    @property
    def journal_path(self) -> Path:
        """The journal of the unfinished cell."""
        return journal_path(self.folder, self.named.key)


def record_path(folder: Path, key: str) -> Path:
    """Where a finished cell's samples are."""
    return folder / RECORDS / f"{key}.parquet"


def journal_path(folder: Path, key: str) -> Path:
    """Where an unfinished cell's samples are."""
    return folder / JOURNALS / f"{key}.journal"


@dataclass(frozen=True)
class Outcome:
    """What came of a task: a summary; or why the cell failed; or that it (or all storage) had to stop.

    `record` is the finished cell's Parquet file, where that was not written into the campaign's folder.
    """

    key: str
    summary: Summary | None = None
    failure: str | None = None
    storage: str | None = None
    stopped: bool = False
    record: bytes | None = field(default=None, repr=False)


def run_task(task: Task) -> Outcome:
    """Run a task to its end. Whatever the searcher raises becomes the outcome's `failure`."""
    return outcome_of(task.named.key, lambda: Outcome(task.named.key, summary=_run(task)))


def outcome_of(key: str, run: Callable[[], Outcome]) -> Outcome:
    """What comes of running a cell, whatever is raised."""
    try:
        return run()
    except Stopped:
        return Outcome(key, stopped=True)
    except StorageError as error:
        return Outcome(key, storage=str(error))
    except InputError as error:
        return Outcome(key, failure=str(error))
    except (Exception, SystemExit) as error:
        return Outcome(key, failure=format_exception(error))


_READY: set[str] = set()
"""Cost models whose kernels this process has loaded."""


def _run(task: Task) -> Summary:
    named, cell = task.named, task.named.cell
    earlier = earlier_record(task)
    if earlier is not None and len(earlier[0]) == cell.budget:
        return summarise_cell(named, *earlier)
    if cell.problem.model.name not in _READY:
        make_ready(cell.problem)
        _READY.add(cell.problem.model.name)
    times, shared = RunTimes(), SharedProgress(task.folder / PROGRESS)
    with task_journal(task, earlier and earlier[0]) as journal:
        record = run_cell(cell, journal, [shared.observer(task.place)], times)
        if earlier is not None:
            times.model += earlier[1].model
        about = {"identity": cell.identity, "times": [times.searcher, times.model]}
        write_parquet(record, task.record_path, about)
        journal.discard()
    return summarise_cell(named, record, times)


def earlier_record(task: Task) -> tuple[Record, RunTimes] | None:
    """The cell's record that is there already, and what it took.

    It was written just before its process died, or when the budget was smaller.
    """
    if not task.record_path.exists():
        return None
    record, about = read_parquet(task.record_path)
    cell = task.named.cell
    before, now = about.get("identity", {}), plain_data(cell.identity)
    known = isinstance(before, dict) and before.keys() == now.keys()
    grown = known and only_grown(before, now) and not abilities_of(cell.searcher).plans_for_budget
    if not (before == now or grown) or len(record) != before["budget"]:
        raise InputError(f"record {str(task.record_path)!r} is of another cell; remove it to run this one")
    return record, RunTimes(*about["times"])


def task_journal(task: Task, earlier: Record | None) -> Journal:
    """The cell's journal, which has at least the samples of the `earlier` record."""
    journal = open_journal(task.named.cell, task.journal_path)
    if earlier is None or journal.samples >= len(earlier):
        return journal
    with journal:
        journal.sync(earlier, force=True)
    return open_journal(task.named.cell, task.journal_path)
