"""Ctrl-C, while there is something to put away, and in worker processes; these end with their parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, parent_process
from types import FrameType

from dse.support.errors import show_notices_in_a_line

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """The first Ctrl-C, or SIGTERM of a cluster's scheduler, is a KeyboardInterrupt; later ones are ignored.

    They stay so: the process is ending, and what it puts away meanwhile is not to be cut off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        ignore_interrupts()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in STOPS}
    try:
        yield
    finally:
        if not interrupted:
            for number, handler in before.items():
                signal.signal(number, handler)


def ignore_interrupts() -> None:
    """From here on, no Ctrl-C."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def prepare_process() -> None:
    """Leave Ctrl-C to the process that has started this one, and end when that one is gone.

    Notices are lines, as the command line's own.
    """
    show_notices_in_a_line()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
