"""The time that a proof has: until its limit, or until the first Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Now = Callable[[], float]
"""Seconds since whenever."""


def at_work() -> Now:
    """Seconds from now on; of a process that others keep from computing, those that it has computed."""
    passed, computed = time.perf_counter(), time.process_time()
    return lambda: min(time.perf_counter() - passed, time.process_time() - computed)


class Clock:
    """So many seconds from now on, those of `pause` left out; without a limit, as long as it takes.

    `now` may be `time.process_time`: then they are those that the process has computed.
    """

    def __init__(self, limit: float | None = None, now: Now = time.perf_counter) -> None:
        self._now = now
        self._whole: Clock | None = None
        self._begun = now()
        self._end = math.inf if limit is None else self._begun + limit
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Seconds that have passed."""
        return self._now() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left; inf without a limit."""
        interrupted = self.interrupted or (self._whole is not None and self._whole.interrupted)
        return -math.inf if interrupted else self._end - self._now()

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.left < 0

    def part(self, share: float) -> Clock:
        """A share of the time that is left, from now on; what interrupts the whole interrupts it too."""
        found = Clock(None if self.left == math.inf else max(share * self.left, 0.0), self._now)
        found._whole = self
        return found

    def pause(self, seconds: float) -> None:
        """Leave out so many seconds that have just passed, and no more than have: work goes side by side."""
        left_out = min(seconds, self.seconds)
        self._begun += left_out
        self._end += left_out

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Within, the first Ctrl-C ends the time: what is proven by then can be put away.

        The handler that was there before gets it afterwards; a second Ctrl-C goes there at once.
        """
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self.interrupted:
            before(signal.SIGINT, None)
