"""Worker processes of this machine end with their campaign, whatever has happened to them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import Future
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from dse.campaign import executors
from dse.campaign.executors import LocalProcesses


def announce(folder: Path) -> None:
    (folder / str(os.getpid())).touch()


def announce_and_hang(folder: Path) -> None:
    announce(folder)
    time.sleep(1000)


def busy(count: int, task: object, folder: Path) -> tuple[LocalProcesses, list[Future]]:
    """An executor whose workers have all begun a task of their own."""
    executor = LocalProcesses(count)
    futures = [executor.submit(task, folder) for _ in range(count)]
    deadline = time.monotonic() + 120
    while len(list(folder.iterdir())) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return executor, futures


def ended(worker: BaseProcess) -> int:
    """The exit code of a worker, which the pool's own thread waits for too, so that one of both is late."""
    deadline = time.monotonic() + 60
    while (code := worker.exitcode) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return code


def test_workers_that_hang_are_killed_and_nobody_elses_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "PATIENCE_SECONDS", 0.2)
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(1000,), daemon=True)
    other.start()
    executor, _ = busy(2, announce_and_hang, tmp_path)
    workers = list(executor._processes.values())
    os.kill(workers[0].pid or 0, signal.SIGSTOP)
    executor.shutdown(cancel_futures=True)
    # As soon as the pool sees that one was killed it terminates the others, maybe before they are killed.
    first, second = (ended(worker) for worker in workers)
    assert first == -signal.SIGKILL
    assert second in (-signal.SIGKILL, -signal.SIGTERM)
    assert other.is_alive()
    other.kill()
    other.join()


def test_workers_that_somebody_has_stopped_go_on_to_end_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "PATIENCE_SECONDS", 120.0)
    executor, futures = busy(1, announce, tmp_path)
    futures[0].result()
    (worker,) = executor._processes.values()
    os.kill(worker.pid or 0, signal.SIGSTOP)
    executor.shutdown(cancel_futures=True)
    assert ended(worker) == 0
