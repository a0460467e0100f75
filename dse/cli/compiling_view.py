"""What a command says while kernels are compiled: soon that they are, then how far, at last what it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dse.cli.output import short
from dse.support import jit

WORTH_SAYING = 0.5
"""Seconds of compiling after which it is said."""
EVERY = 10.0
"""Seconds from one line to the next."""


class Compiling:
    """Follows numba's compilations: what a kernel has compiled for itself counts with it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._functions = 0
        self._begun: list[float] = []
        self._said_at: float | None = None
        self._leave: Callable[[], None] | None = None

    def watch(self) -> None:
        """Have numba tell from now on."""
        from numba.core import event

        class Told(event.Listener):  # type: ignore[misc]
            on_start = staticmethod(self.start)
            on_end = staticmethod(self.end)

        told = Told()
        event.register("numba:compile", told)
        self._leave = lambda: event.unregister("numba:compile", told)

    def start(self, _: Any) -> None:
        """A function begins to be compiled, maybe within another one."""
        self._begun.append(time.perf_counter())
        self._say()

    def end(self, _: Any) -> None:
        """The function that began last is compiled."""
        begun = self._begun.pop()
        self._functions += 1
        if not self._begun:
            self.seconds += time.perf_counter() - begun
        self._say()

    def _say(self) -> None:
        now = time.perf_counter()
        taken = self.seconds + (now - self._begun[0] if self._begun else 0.0)
        if self._said_at is None and taken > WORTH_SAYING:
            self._said_at = now
            say("compiling kernels, once after an installation")
        elif self._said_at is not None and now - self._said_at > EVERY:
            self._said_at = now
            say(f"compiling kernels: {self._functions} functions in {short(taken)} s")

    def finish(self) -> None:
        """Say what it took, if it was said that it began; nothing more from now on."""
        if self.watch in jit.watchers:
            jit.watchers.remove(self.watch)
        if self._leave is not None:
            self._leave()
        if self._said_at is not None:
            say(f"kernels were compiled, once after an installation: {short(self.seconds)} s")


def say(text: str) -> None:
    """A line on stderr."""
    with suppress(OSError, ValueError):
        print(f"dse: {text}", file=sys.stderr, flush=True)


@contextmanager
def compiling_said() -> Iterator[None]:
    """Within, what is compiled is said on stderr."""
    compiling = Compiling()
    jit.watchers.append(compiling.watch)
    try:
        yield
    finally:
        compiling.finish()
