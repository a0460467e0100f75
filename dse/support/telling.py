"""Saying what is being done, for what takes long: whoever waits should see that something goes on."""

from __future__ import annotations

import time
from collections.abc import Callable

Tell = Callable[[str], None]
"""Who is told what begins now, in a few words."""


def tell_nobody(text: str) -> None:
    """Tell nobody."""


def now_and_then(tell: Tell, seconds: float = 5.0, clock: Callable[[], float] = time.monotonic) -> Tell:
    """Tell of the first step, and then of one that begins so many seconds after the last that was told."""
    said = -float("inf")

    def told(text: str) -> None:
        nonlocal said
        if clock() - said >= seconds:
            said = clock()
            tell(text)

    return told
