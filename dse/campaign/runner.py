"""Running a campaign: cells go to workers, outcomes come back, and what dies goes on from its journal."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass

from dse.campaign.config import NamedCell
from dse.campaign.executors import Executor, LocalProcesses, MakeExecutor
from dse.campaign.progress import Display
from dse.campaign.remote import RemoteExecutor
from dse.campaign.remote_run import RemoteRun
from dse.campaign.store import Store
from dse.campaign.worker import PROGRESS, Outcome, Task, run_task
from dse.search.progress import SharedProgress
from dse.search.run import make_ready
from dse.search.searcher import require_libraries
from dse.search.start import flat_objective
from dse.support.errors import InputError
from dse.support.telling import now_and_then

MAX_DEATHS = 3
"""How often the process of a cell may die before the cell counts as failed."""
LOOK_SECONDS = 0.25
COMPILE_SECONDS = 5.0
"""Making kernels ready takes longer than this only where they have to be compiled."""


@dataclass(frozen=True)
class CampaignResult:
    """How a run of a campaign ended: numbers of cells, and whether Ctrl-C ended it early."""

    cells: int
    done: int
    failed: int
    interrupted: bool


def run_campaign(
    store: Store, display: Display, *, workers: int, make_executor: MakeExecutor | None = None
) -> CampaignResult:
    """Run the store's unfinished cells, `workers` at a time, and write `curves.parquet`.

    They run on what `make_executor` makes, by default worker processes on this machine.

    It is written before the first cell too: a run that is killed leaves what the campaign was in full.

    A cell whose searcher raises, or whose process dies MAX_DEATHS times, is entered as failed and the rest
    go on. Storage that cannot be written ends the run with an InputError; finished cells are kept.
    """
    waiting = store.unfinished()
    for one in {named.variant.name: named for named in waiting}.values():
        require_libraries(one.cell.name, one.cell.searcher)
    display.begin(store, len(waiting))
    for text in store.notices:
        display.notice(text)
    interrupted = False
    if waiting:
        compile_kernels(waiting, display)
        if store.outdated:
            store.write_curves()
    start = time.monotonic()
    try:
        if waiting:
            _work(store, display, waiting, workers, make_executor or LocalProcesses)
        # Also where all cells were done: an earlier run may have ended before its proofs.
        store.prove_optima(now_and_then(display.notice))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        finished = len(waiting) - len(store.unfinished())
        store.record_run(finished, workers, time.monotonic() - start)
        if waiting or store.outdated:
            store.write_curves()
    done = len(store.done & store.share.keys())
    return CampaignResult(len(store.share), done, len(store.failures()), interrupted)


def _work(
    store: Store, display: Display, cells: list[NamedCell], workers: int, make_executor: MakeExecutor
) -> None:
    """Run cells on an executor, which may be one whose workers do not see the campaign's folder."""
    progress_path = store.folder / PROGRESS
    try:
        progress = SharedProgress(progress_path, len(cells))
    except OSError as error:
        raise InputError(f"folder {str(store.folder)!r} cannot be written: {error.strerror}") from None
    try:
        executor = make_executor(workers)
        if isinstance(executor, RemoteExecutor):
            RemoteRun(store, display, executor).all(cells)
        else:
            tasks = (Task(named, store.folder, place) for place, named in enumerate(cells))
            _Run(store, display, progress, workers, make_executor).all(tasks, executor)
    finally:
        progress_path.unlink(missing_ok=True)


def compile_kernels(cells: list[NamedCell], display: Display) -> None:
    """Compile what the workers will need once, here, instead of once in each of them."""
    start = time.monotonic()
    for problem in {named.problem.problem.model.name: named.problem.problem for named in cells}.values():
        make_ready(problem)
    for label, problem in {named.problem.label: named.problem.problem for named in cells}.items():
        if (text := flat_objective(problem)) is not None:
            display.notice(f"{label}: {text}")
    seconds = time.monotonic() - start
    if seconds > COMPILE_SECONDS:
        display.notice(
            f"compiled the cost model's and the space's kernels in {seconds:.0f} s, for this and later runs"
        )


class _Run:
    """One run of a campaign: which tasks are out, and whose processes have died how often."""

    def __init__(
        self,
        store: Store,
        display: Display,
        progress: SharedProgress,
        workers: int,
        make_executor: MakeExecutor,
    ) -> None:
        self.store = store
        self.display = display
        self.progress = progress
        self.workers = workers
        self.make_executor = make_executor
        self.deaths: Counter[str] = Counter()
        self.out: dict[Future[Outcome], Task] = {}

    def all(self, tasks: Iterable[Task], first: Executor) -> None:
        """Run the tasks on the `first` executor; when worker processes die, go on with new ones."""
        waiting, made = deque(tasks), deque([first])
        while waiting:
            with self._ending(made.popleft() if made else self._made()) as executor:
                try:
                    self._until_broken(executor, waiting)
                except BrokenExecutor:
                    self._put_back(waiting)

    def _until_broken(self, executor: Executor, waiting: deque[Task]) -> None:
        while waiting or self.out:
            while waiting and len(self.out) < self._most_at_once(waiting):
                task = waiting[0]
                self.out[executor.submit(run_task, task)] = task
                # Only now: an executor that has just broken refuses the task, which then still waits.
                waiting.popleft()
                self.display.started(task.named)
            done, _ = wait(self.out, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                self._enter(self.out.pop(future), outcome)
            self.display.look({task.named.key: self.progress.read(task.place) for task in self.out.values()})

    def _most_at_once(self, waiting: deque[Task]) -> int:
        """A cell that was there at two deaths runs alone, to see whether it is the one that kills."""
        suspects = [*self.out.values(), waiting[0]]
        return 1 if any(self.deaths[task.named.key] >= MAX_DEATHS - 1 for task in suspects) else self.workers

    def _enter(self, task: Task, outcome: Outcome) -> None:
        if outcome.storage is not None:
            raise InputError(outcome.storage)
        if outcome.summary is not None:
            self.store.finish(outcome.summary)
        elif outcome.failure is not None:
            self.store.ledger.fail(outcome.key, outcome.failure)
        self.display.ended(task.named, outcome.summary, outcome.failure)

    def _put_back(self, waiting: deque[Task]) -> None:
        """After a death: cells that ended meanwhile are entered, the others wait again, or have failed."""
        for future, task in list(self.out.items()):
            key = task.named.key
            if future.done() and future.exception() is None:
                self._enter(task, future.result())
                continue
            self.deaths[key] += 1
            if self.deaths[key] >= MAX_DEATHS:
                reason = f"its process died {MAX_DEATHS} times (killed, or out of memory)"
                self.store.ledger.fail(key, reason)
                self.display.ended(task.named, None, reason)
            else:
                self.display.notice(f"a worker died; {task.named.label} goes on from its journal")
                waiting.appendleft(task)
        self.out.clear()

    def _made(self) -> Executor:
        executor = self.make_executor(self.workers)
        assert not isinstance(executor, RemoteExecutor)
        return executor

    @contextlib.contextmanager
    def _ending(self, executor: Executor) -> Iterator[Executor]:
        """The executor, whose workers stop at their next sample when the campaign ends early."""
        try:
            yield executor
        except BaseException:
            self._stop(executor)
            raise
        else:
            executor.shutdown(wait=True)

    def _stop(self, executor: Executor) -> None:
        self.display.notice("stopping")
        self.progress.stop()
        executor.shutdown(cancel_futures=True)
        for future, task in self.out.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                outcome = future.result()
                if outcome.summary is not None:
                    self.store.finish(outcome.summary)
                    self.display.ended(task.named, outcome.summary, None)
