"""Ctrl-C ends a program once, and a worker that is stopped does not hold it up."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from dse.campaign import executors
from dse.campaign.executors import LocalProcesses
from dse.support.interrupts import STOPS, interrupted_once


@pytest.fixture(autouse=True)
def handlers_kept() -> object:
    before = {number: signal.getsignal(number) for number in STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOPS)
def test_only_the_first_interrupt_counts(number: int) -> None:
    interrupts = 0
    with interrupted_once():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except KeyboardInterrupt:
            interrupts += 1
        for _ in range(10):
            os.kill(os.getpid(), number)
        time.sleep(0.01)
    assert interrupts == 1
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_without_an_interrupt_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in STOPS]
    with interrupted_once():
        pass
    assert [signal.getsignal(number) for number in STOPS] == before


def test_a_worker_that_is_stopped_is_killed_after_a_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PATIENCE_SECONDS", 0.3)
    executor = LocalProcesses(1)
    future = executor.submit(os.getpid)
    os.kill(future.result(timeout=60), signal.SIGSTOP)
    executor.shutdown(cancel_futures=True)
    # It is stopped: without a kill it would stay for ever.
    deadline = time.monotonic() + 60
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not multiprocessing.active_children()
