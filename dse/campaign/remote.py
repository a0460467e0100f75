"""Running a cell where the campaign's folder is not to be seen, as on a worker of a cluster.

What the cell has of samples comes with the task; those that it draws flow back in pieces while it runs, each
as Parquet, so that a worker that dies loses seconds; and the record comes back with the outcome.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

from dse.campaign.config import NamedCell
from dse.campaign.summary import summarise_cell
from dse.campaign.worker import Outcome, outcome_of
from dse.search.evaluator import Progress
from dse.search.progress import Stopped
from dse.search.record import Record, from_parquet, to_parquet
from dse.search.run import RunTimes, make_ready, run_cell
from dse.support.errors import InputError

PIECE_SECONDS = 1.0
"""How often samples flow back: what a worker that dies can lose."""

_one_at_a_time = threading.Lock()
"""A worker may have several threads, but a search sets what is the whole process's: threads, error states."""


@dataclass(frozen=True)
class Piece:
    """Samples of a running cell from number `start` on, as Parquet, and the lowest loss so far."""

    key: str
    start: int
    samples: int
    best: float
    content: bytes = field(repr=False)


class Link(ABC):
    """What a task takes along to speak with the campaign's process. It pickles."""

    @abstractmethod
    def send(self, piece: Piece) -> None:
        """Hand over a piece."""

    @abstractmethod
    def wanted(self) -> bool:
        """Whether the task is still to go on. Asked about once a second."""


@dataclass(frozen=True)
class RemoteTask:
    """A cell to run, and the samples that it has already, as Parquet."""

    named: NamedCell
    earlier: bytes | None = field(default=None, repr=False)
    earlier_model_seconds: float = 0.0


class WorkerLost(Exception):
    """The worker of a task is gone, and nobody else's."""


class ClusterLost(Exception):
    """Nothing can run any more; says what is gone."""


class RemoteExecutor(ABC):
    """An executor, shaped like those of `concurrent.futures`, whose workers do not see the campaign's folder.

    A future of a task whose worker has died raises WorkerLost; any method raises ClusterLost where there is
    no cluster any more. Its methods are called by one thread.
    """

    @property
    @abstractmethod
    def capacity(self) -> int:
        """How many tasks it runs at once now; this may change."""

    @abstractmethod
    def submit(self, task: RemoteTask, avoid: Iterable[str] = (), /) -> Future[Outcome]:
        """Have `run_remote(task, link)` run, on a worker to `avoid` only where there is no other."""

    @abstractmethod
    def worker_of(self, future: Future[Outcome]) -> str:
        """The name of the worker that a task is on."""

    @abstractmethod
    def arrived(self) -> Iterable[Piece]:
        """The pieces that have come since the last call, in the order of their samples."""

    @abstractmethod
    def notices(self) -> Iterable[str]:
        """What there is to say of workers since the last call."""

    @abstractmethod
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End. With `cancel_futures` the campaign ends early: running tasks stop at their next sample."""


class _Stream:
    """The samples of a running cell, in place of a journal: those that it begins with, and the way back."""

    path = Path("elsewhere")

    def __init__(self, key: str, recovered: Record, link: Link) -> None:
        self.recovered = recovered
        self.samples = len(recovered)
        self.best = float("inf")
        self._key, self._link = key, link
        self._sent_at = time.monotonic()

    def sync(self, record: Record, *, force: bool = False) -> None:
        """Send what `record` has beyond what was sent, if it is time or `force` is set."""
        now = time.monotonic()
        if len(record) <= self.samples or not (force or now - self._sent_at >= PIECE_SECONDS):
            return
        content = to_parquet(record, {}, self.samples)
        self._link.send(Piece(self._key, self.samples, len(record), self.best, content))
        self.samples, self._sent_at = len(record), now

    def discard(self) -> None:
        """Nothing: what was sent is the receiver's."""


def run_remote(task: RemoteTask, link: Link) -> Outcome:
    """Run a task to its end, on the worker that has it. Whatever the searcher raises becomes a `failure`."""
    with _one_at_a_time:
        return outcome_of(task.named.key, lambda: _run(task, link))


def _run(task: RemoteTask, link: Link) -> Outcome:
    named = task.named
    # What is known of the cell is of the sender's versions.
    cell = replace(named.cell)
    if cell.fingerprint != named.cell.fingerprint:
        raise InputError("its worker has other versions of what the record depends on")
    earlier = Record(len(cell.problem.space.sizes)) if task.earlier is None else from_parquet(task.earlier)
    make_ready(cell.problem)
    stream = _Stream(named.key, earlier, link)
    asked = time.monotonic()

    def observe(progress: Progress) -> None:
        nonlocal asked
        stream.best = progress.best_loss
        if time.monotonic() - asked >= PIECE_SECONDS and progress.samples < progress.budget:
            asked = time.monotonic()
            if not link.wanted():
                raise Stopped

    times = RunTimes()
    record = run_cell(cell, stream, [observe], times)
    times.model += task.earlier_model_seconds
    about = {"identity": cell.identity, "times": [times.searcher, times.model]}
    summary = summarise_cell(replace(named, cell=cell), record, times)
    return Outcome(named.key, summary, record=to_parquet(record, about))
