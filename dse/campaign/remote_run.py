"""A campaign on workers that do not see its folder: this process keeps their samples and records."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.campaign.config import NamedCell
from dse.campaign.remote import ClusterLost, Piece, RemoteExecutor, RemoteTask, WorkerLost
from dse.campaign.store import Store
from dse.campaign.summary import Summary, summarise_cell
from dse.campaign.worker import Outcome, Task, earlier_record, task_journal
from dse.search.journal import Journal
from dse.search.of_file import refuse_files
from dse.search.record import from_parquet, to_parquet
from dse.support.errors import InputError, StorageError, format_exception
from dse.support.files import write_whole

if TYPE_CHECKING:
    from dse.campaign.progress import Display

MAX_DEATHS = 3
"""A cell is tried again twice, on another worker where there is one."""
LOOK_SECONDS = 0.25


@dataclass
class _Running:
    """A cell that a worker has: its journal here, and how far it is."""

    named: NamedCell
    journal: Journal
    samples: int
    best: float = float("inf")


class RemoteRun:
    """One run of a campaign's unfinished cells on an executor's workers."""

    def __init__(self, store: Store, display: Display, executor: RemoteExecutor) -> None:
        self.store = store
        self.display = display
        self.executor = executor
        self.out: dict[Future[Outcome], _Running] = {}
        self.deaths: Counter[str] = Counter()
        self.avoid: dict[str, list[str]] = {}

    def all(self, cells: Iterable[NamedCell]) -> None:
        """Run the cells. InputError where the cluster goes away: what is done is kept, and so are samples."""
        waiting, whole = deque(cells), False
        try:
            for name in {named.cell.name for named in waiting}:
                refuse_files(name, "an executor of other machines")
            self._loop(waiting)
            whole = True
        except ClusterLost as error:
            share = self.store.share.keys()
            raise InputError(
                f"{error}: {len(self.store.done & share):,} of {len(share):,} cells are done, the others "
                "keep their samples; to go on, run the same again when it is back, or without --executor"
            ) from None
        finally:
            if not whole:
                self.display.notice("stopping")
            self.executor.shutdown(cancel_futures=not whole)
            self._keep(self.executor.arrived())
            self._take_results()
            for running in self.out.values():
                running.journal.close()

    def _loop(self, waiting: deque[NamedCell]) -> None:
        while waiting or self.out:
            capacity = self.executor.capacity
            for text in self.executor.notices():
                self.display.notice(text)
            while waiting and len(self.out) < capacity:
                self._begin(waiting.popleft())
            done, _ = wait(self.out, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if not self.out:
                time.sleep(LOOK_SECONDS if waiting else 0)
            workers = {future: self.executor.worker_of(future) for future in done}
            self._keep(self.executor.arrived())
            for future in done:
                self._end(future, workers[future], waiting)
            self.display.look({r.named.key: (r.samples, r.best) for r in self.out.values()})

    def _begin(self, named: NamedCell) -> None:
        """Send a cell to a worker, unless its record is here already or its journal cannot be read."""
        task = Task(named, self.store.folder, 0)
        try:
            earlier = earlier_record(task)
            if earlier is not None and len(earlier[0]) == named.cell.budget:
                self.display.started(named)
                self._finish(summarise_cell(named, *earlier), named)
                return
            journal = task_journal(task, earlier and earlier[0])
        except StorageError:
            raise
        except InputError as error:
            self.display.started(named)
            self._fail(named, str(error))
            return
        samples = journal.samples
        content = to_parquet(journal.recovered, {}) if samples else None
        remote = RemoteTask(named, content, earlier[1].model if earlier else 0.0)
        try:
            future = self.executor.submit(remote, self.avoid.get(named.key, ()))
        except BaseException:
            journal.close()
            raise
        self.out[future] = _Running(named, journal, samples)
        self.display.started(named, self.executor.worker_of(future))

    def _keep(self, pieces: Iterable[Piece]) -> None:
        """Write samples that have come into the journals of their cells: those that these have not yet."""
        running = {one.named.key: one for one in self.out.values()}
        for piece in pieces:
            one = running.get(piece.key)
            if one is None or not piece.start <= one.journal.samples < piece.samples:
                continue
            one.journal.append(from_parquet(piece.content), one.journal.samples - piece.start)
            one.samples, one.best = piece.samples, piece.best

    def _end(self, future: Future[Outcome], worker: str, waiting: deque[NamedCell]) -> None:
        running = self.out.pop(future)
        named, key = running.named, running.named.key
        error = future.exception()
        if error is None and not (outcome := future.result()).stopped:
            self._enter(running, outcome)
            return
        running.journal.close()
        if error is not None and not isinstance(error, WorkerLost):
            self._fail(named, format_exception(error))
            return
        self.deaths[key] += 1
        self.avoid.setdefault(key, []).append(worker)
        if self.deaths[key] >= MAX_DEATHS:
            self._fail(named, f"its worker died {MAX_DEATHS} times (killed, or out of memory)")
        else:
            self.display.notice(
                f"a worker died; {named.label} goes on from {running.journal.samples:,} samples"
            )
            waiting.appendleft(named)

    def _enter(self, running: _Running, outcome: Outcome) -> None:
        named = running.named
        if outcome.storage is not None:
            running.journal.close()
            raise InputError(outcome.storage)
        if outcome.summary is None or outcome.record is None:
            running.journal.close()
            self._fail(named, outcome.failure or "its worker gave no record")
        elif outcome.summary.fingerprint != named.cell.fingerprint:
            running.journal.close()
            self._fail(named, "its worker has other versions of what the record depends on")
        else:
            write_whole(self.store.record_path(named.key), outcome.record, "record")
            running.journal.discard()
            self._finish(outcome.summary, named)

    def _take_results(self) -> None:
        """At an early end, cells that are done all the same."""
        for future in [future for future in self.out if future.done()]:
            if future.exception() is None and future.result().summary is not None:
                self._enter(self.out.pop(future), future.result())

    def _finish(self, summary: Summary, named: NamedCell) -> None:
        self.store.finish(summary)
        self.display.ended(named, summary, None)

    def _fail(self, named: NamedCell, reason: str) -> None:
        self.store.ledger.fail(named.key, reason)
        self.display.ended(named, None, reason)
