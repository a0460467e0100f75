"""Where a campaign's cells run: on an executor, shaped like those of `concurrent.futures`.

Executors are found by their entry points: local processes, a Dask cluster, anybody's.

An executor is handed `run_task` and a task, both of which pickle, and gives a future of the outcome. What a
task leaves on disk, its journal and its record, is where the task says, so that an executor's workers must
see the campaign's folder; one whose workers do not is a RemoteExecutor. An executor whose workers die raises
`BrokenExecutor`, from `submit` or from the futures; the campaign then makes another one, and cells go on from
their journals.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from dse.campaign.remote import RemoteExecutor
from dse.campaign.worker import Outcome, Task
from dse.support.errors import InputError
from dse.support.interrupts import prepare_process
from dse.support.plugins import entry_named, installed_entries, load_entry, names_of

PATIENCE_SECONDS = 5.0
"""How long workers have to stop when a campaign ends early; then they are killed. Journals are kept.

The campaign then has as long again to be over within the ten seconds that it promises."""


class Executor(Protocol):
    """Runs tasks, at once or later, here or elsewhere: any executor of `concurrent.futures` is one."""

    def submit(self, function: Callable[[Task], Outcome], task: Task, /) -> Future[Outcome]:
        """Have `function(task)` run."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End. With `cancel_futures` the campaign ends early: running tasks stop at their next sample."""


MakeExecutor = Callable[[int], Executor | RemoteExecutor]
"""Makes an executor that runs so many tasks at a time."""

GROUP = "dse.executors"
"""The entry-point group under which any installed package offers executors.

Each is a callable that takes `workers` (how many tasks at a time), `address` (where a scheduler is, or None)
and `needed` (the versions that records depend on), and makes an Executor or a RemoteExecutor."""


def executor_names() -> tuple[str, ...]:
    """The names of all installed executors."""
    return names_of(installed_entries(GROUP))


def executor_maker(name: str, address: str | None, needed: Mapping[str, str]) -> MakeExecutor:
    """What makes the executor of that name. InputError if there is none, or if it cannot be loaded."""
    made, _ = load_entry(entry_named(name, installed_entries(GROUP), "executor"), "executor")
    return lambda workers: made(workers, address, needed)


def processes(workers: int, address: str | None, needed: Mapping[str, str]) -> LocalProcesses:
    """Worker processes on this machine. InputError for an address: they have none."""
    if address is not None:
        raise InputError(
            f"--scheduler {address!r} is for an executor that has one, such as dask; add --executor"
        )
    return LocalProcesses(workers)


class LocalProcesses(ProcessPoolExecutor):
    """Worker processes on this machine, started afresh so that they inherit no state, deaf to Ctrl-C."""

    def __init__(self, workers: int) -> None:
        super().__init__(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=prepare_process
        )

    def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
        """Have a function run in a worker, which this may start."""
        with _interrupts_ignored():
            return super().submit(*arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End; workers that do not stop in time, when the campaign ends early, are killed."""
        # Not all children of this process: a user's program may have others.
        workers = list((self._processes or {}).values())
        super().shutdown(wait=wait and not cancel_futures, cancel_futures=cancel_futures)
        if not cancel_futures:
            return
        for worker in workers:
            # One that somebody has stopped (SIGSTOP) would neither see that it is to end, nor take a signal.
            _signal(worker, signal.SIGCONT)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and any(worker.is_alive() for worker in workers):
            time.sleep(0.05)
        for worker in workers:
            _signal(worker, signal.SIGKILL)


class InProcess:
    """No workers: each task runs where it is submitted, before `submit` returns.

    A searcher that kills its process kills the campaign, and Ctrl-C interrupts it wherever it is.
    """

    def __init__(self, workers: int = 1) -> None:
        """`workers` is what every executor is made with; here one task runs at a time."""

    def submit(self, function: Callable[[Task], Outcome], task: Task, /) -> Future[Outcome]:
        """Run `function(task)`."""
        future: Future[Outcome] = Future()
        try:
            future.set_result(function(task))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is left to end."""


def _signal(worker: BaseProcess, number: signal.Signals) -> None:
    """Send a signal to a worker, if that is still there."""
    if worker.is_alive() and worker.pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, number)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment: a process that starts meanwhile ignores it from its first instruction."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
