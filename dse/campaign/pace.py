"""How fast samples come and how long the rest takes, in words."""

from __future__ import annotations

import math
import time

LINE_SECONDS = 10.0
"""Between two lines of a search that nobody watches on a terminal."""


class Pace:
    """Of one search, whose samples are counted as they come.

    Those replayed from a journal do not count, nor do the first to come after them, and the time until then:
    kernels are compiled in it.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._begun = self._said = time.monotonic()
        self._samples = self._before = 0

    def seen(self, samples: int, replayed: int) -> str:
        """So many samples are there, so many of them replayed: the pace in words."""
        if self._samples <= replayed:
            self._begun, self._before = time.monotonic(), samples
        self._samples = samples
        return in_words(samples - self._before, time.monotonic() - self._begun, self._budget - samples)

    def worth_a_line(self) -> bool:
        """Whether the last line was long ago, and there is more to come: then this is one."""
        now = time.monotonic()
        if now - self._said < LINE_SECONDS or self._samples >= self._budget:
            return False
        self._said = now
        return True


def in_words(samples: int, seconds: float, left: int) -> str:
    """`49 samples/s, 0 min 38 s left`, where so many samples came in so many seconds."""
    rate = samples / seconds if seconds > 0 else 0.0
    return f"{shown_rate(rate)} samples/s, {_duration(left / rate if rate else math.inf)} left"


def shown_rate(rate: float) -> str:
    """A number of samples a second, with a digit behind the point where it is small."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "some time"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
