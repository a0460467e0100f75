"""What a command says on stderr while somebody waits: which step it is at, and that kernels are compiled.

Of compiling it says soon that it goes on, then how far it is, at last what it took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from dse.cli.output import short
from dse.support import jit
from dse.support.errors import one_line
from dse.support.telling import Tell

SECONDS = 3.0
"""Where there is no terminal, what goes on is said so often: a command that is done by then says nothing."""
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


@contextmanager
def steps(seconds: float = SECONDS) -> Iterator[Tell]:
    """Tell of steps until the block ends."""
    if not sys.stderr.isatty():
        with _lines(seconds) as tell:
            yield tell
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(escape(one_line(text)))


@contextmanager
def _lines(seconds: float) -> Iterator[Tell]:
    """A line on the step at hand every so many seconds, in the midst of a long one too, each said once."""
    steps, ended = [""], Event()

    def look() -> None:
        said = ""
        while not ended.wait(seconds):
            if steps[-1] != said:
                said = steps[-1]
                # Whoever read along may have left.
                with suppress(OSError, ValueError):
                    print(one_line(said), file=sys.stderr, flush=True)

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield steps.append
    finally:
        ended.set()
        thread.join()
