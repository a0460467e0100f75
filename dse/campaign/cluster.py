"""A Dask cluster's workers as an executor: `dse run CAMPAIGN --executor dask --scheduler tcp://HOST:8786`.

A cell is pinned to a worker, so that where that dies the campaign learns of it and goes on from the samples
that have flowed back; Dask itself would begin the cell again. They flow back as events of a topic.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import signal
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from dse import __version__
from dse.campaign.remote import ClusterLost, Link, Piece, RemoteExecutor, RemoteTask, WorkerLost, run_remote
from dse.campaign.worker import Outcome
from dse.support.errors import InputError, one_line
from dse.support.numerics.cpu import CPU, numerical_cpu

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

CONNECT_SECONDS = 10.0
LOOK_SECONDS = 1.0
"""How often the workers are counted."""
ANSWER_SECONDS = 30.0
"""A scheduler that does not answer for so long is gone."""
STOP_SECONDS = 3.0
"""How long cells have to stop, and their last samples to arrive, when a campaign ends early."""

FRAMEWORK = "dse-arena"


@dataclass(frozen=True)
class _Topic(Link):
    """The way back of a task on a Dask worker."""

    name: str

    def send(self, piece: Piece) -> None:
        from distributed import get_worker

        get_worker().log_event(self.name, {"piece": asdict(piece)})

    def wanted(self) -> bool:
        """Whether neither the campaign's process has let go of the task nor the scheduler has lost it."""
        from distributed import get_worker

        worker = get_worker()
        task = worker.state.tasks.get(worker.get_current_task())
        return task is not None and task.state != "cancelled"


def versions_there(names: Iterable[str]) -> dict[str, str]:
    """The versions of distributions where this runs; `cpu` is what records of searchers on BLAS depend on."""
    found = {FRAMEWORK: __version__}
    for name in names:
        if name == CPU:
            found[name] = numerical_cpu()
        elif name != FRAMEWORK:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "not installed"
    return found


class DaskExecutor(RemoteExecutor):
    """A Dask cluster's workers that have this process's versions; without a `scheduler`, one made here."""

    def __init__(self, workers: int, scheduler: str | None, needed: Mapping[str, str]) -> None:
        """Connect. InputError where there is no scheduler, or where no Dask is installed.

        `workers` are those of a cluster made here; `needed` are the distributions that records depend on.
        """
        self._cluster: Any = None
        self._client = self._connect(workers, scheduler)
        self._where = scheduler or "this machine's cluster"
        self._versions = versions_there(name for name in sorted(needed) if " " not in name)
        self._topic = _Topic(f"dse-{uuid.uuid4().hex}")
        self._pieces: queue.SimpleQueue[Piece] = queue.SimpleQueue()
        self._client.subscribe_topic(self._topic.name, self._receive)
        self._known: dict[str, bool] = {}
        """The workers there are, and whether they get cells."""
        self._out: dict[Future[Outcome], tuple[str, DaskFuture[Outcome]]] = {}
        self._said = [] if self._client.nthreads() else ["no worker is there yet: waiting for one"]
        self._looked_at = 0.0

    @property
    def capacity(self) -> int:
        self._look()
        return sum(self._known.values())

    def submit(self, task: RemoteTask, avoid: Iterable[str] = (), /) -> Future[Outcome]:
        busy = {worker for worker, _ in self._out.values()}
        free = [worker for worker, usable in self._known.items() if usable and worker not in busy]
        worker = next((worker for worker in free if worker not in avoid), free[0])
        future: Future[Outcome] = Future()
        with self._cluster_there():
            sent = self._client.submit(
                run_remote, task, self._topic, workers=[worker], pure=False, key=f"dse-{uuid.uuid4().hex}"
            )
        self._out[future] = worker, sent
        sent.add_done_callback(lambda ended: _settle(future, ended))
        return future

    def worker_of(self, future: Future[Outcome]) -> str:
        return self._out[future][0]

    def arrived(self) -> Iterator[Piece]:
        for future in [future for future in self._out if future.done()]:
            del self._out[future]
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._pieces.get_nowait()

    def notices(self) -> list[str]:
        said, self._said = self._said, []
        return said

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        # One that somebody has stopped (SIGSTOP) would neither see that it is to end, nor take a signal.
        self._signal_workers(signal.SIGCONT)
        # Where the scheduler is gone there is nobody to say goodbye to.
        with contextlib.suppress(Exception):
            if cancel_futures and self._out and self._client.status == "running":
                self._client.cancel([sent for _, sent in self._out.values()], force=True)
                time.sleep(STOP_SECONDS)
        with contextlib.suppress(Exception):
            self._client.close(timeout=STOP_SECONDS)
        if self._cluster is not None:
            # Closing waits without end for a worker that does not go by itself, whatever its timeout.
            impatience = threading.Timer(STOP_SECONDS, self._signal_workers, [signal.SIGKILL])
            impatience.start()
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=2 * STOP_SECONDS)
            impatience.cancel()

    def _signal_workers(self, number: signal.Signals) -> None:
        """Send a signal to the workers of a cluster made here; others are not this process's to end."""
        for nanny in list(self._cluster.workers.values()) if self._cluster is not None else []:
            with contextlib.suppress(Exception):
                if nanny.pid is not None:
                    os.kill(nanny.pid, number)

    def _connect(self, workers: int, scheduler: str | None) -> Client:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise InputError(
                "--executor dask takes Dask, which is not installed; pip install 'dse-arena[cluster]'"
            ) from None
        # What it logs of workers that come and go is said here in a line.
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if scheduler is None:
            with _interrupts_later():
                self._cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        try:
            return Client(self._cluster or scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no scheduler answers at {scheduler!r} ({one_line(str(error))}); give the address that "
                "`dask scheduler` prints, like tcp://HOST:8786"
            ) from None

    def _receive(self, event: tuple[float, Mapping[str, Any]]) -> None:
        self._pieces.put(Piece(**event[1]["piece"]))

    def _look(self) -> None:
        """Count the workers, look at new ones, and give up the tasks of those that are gone."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        with self._cluster_there():
            there = set(self._client.sync(self._client.scheduler.ncores, callback_timeout=ANSWER_SECONDS))
            new = sorted(there - self._known.keys())
            versions = (
                self._client.run(versions_there, list(self._versions), workers=new, on_error="return")
                if new
                else {}
            )
        for worker in sorted(self._known.keys() - there):
            del self._known[worker]
            self._said.append(f"worker {worker} is gone; {self._count()}")
            for future, (on, sent) in list(self._out.items()):
                if on == worker and not future.done():
                    with contextlib.suppress(Exception):
                        sent.cancel(force=True)
                    _end(future, WorkerLost(f"worker {worker} is gone"))
        for worker in new:
            why = self._unlike(versions.get(worker))
            self._known[worker] = not why
            self._said.append(f"worker {worker} {why or 'has come'}; {self._count()}")
        if self._known and not any(self._known.values()) and not self._out:
            raise InputError(
                f"no worker of {self._where} can run this campaign: {self._said[-1]}; start some that have "
                "what is here"
            )

    def _unlike(self, versions: object) -> str:
        """Why a worker gets no cells: its records would not be those of this process; empty if they are."""
        if not isinstance(versions, dict):
            return f"gets no cells, for it cannot say its versions ({one_line(str(versions))})"
        other = [
            f"{name} {versions.get(name)}, here {here}"
            for name, here in self._versions.items()
            if versions.get(name) != here
        ]
        return f"gets no cells, for it has {'; '.join(other)}" if other else ""

    def _count(self) -> str:
        count = sum(self._known.values())
        return f"{count} worker{'s' * (count != 1)} now"

    @contextlib.contextmanager
    def _cluster_there(self) -> Iterator[None]:
        if self._client.status != "running":
            raise ClusterLost(f"scheduler {self._where} is gone")
        try:
            yield
        except (OSError, TimeoutError) as error:
            raise ClusterLost(f"scheduler {self._where} is gone ({one_line(str(error))})") from None


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Ctrl-C waits, for a cluster that is half made cannot be ended; its processes never hear of it.

    They inherit that from this thread, where Python's tracker of resources would undo it as it starts.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settle(future: Future[Outcome], ended: DaskFuture[Outcome]) -> None:
    """Hand on what came of a task. One that was let go of, or whose worker died, ends in WorkerLost."""
    from distributed.scheduler import KilledWorker

    try:
        if ended.status == "finished":
            outcome = ended.result()
            if not future.done():
                future.set_result(outcome)
            return
        error = ended.exception() if ended.status == "error" else None
    except Exception as raised:
        error = raised
    lost = error is None or isinstance(error, KilledWorker | OSError | TimeoutError)
    _end(future, WorkerLost("its worker is gone") if lost else error)


def _end(future: Future[Outcome], error: BaseException | None) -> None:
    with contextlib.suppress(Exception):
        # Both the loss of a worker and the end of its task may be told, in either order.
        if not future.done():
            future.set_exception(error)
