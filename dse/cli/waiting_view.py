"""What a command that takes long says on stderr: which step it is at, and which kernels are compiled.

On a terminal there is a bar over a kernel's functions, elsewhere a line now and then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from dse.cli.output import error_console, short_number
from dse.support import jit
from dse.support.errors import one_line
from dse.support.telling import Tell

if TYPE_CHECKING:
    from dse.support.compilations import Compilations

WORTH_SAYING = 0.5
"""Seconds of compiling after which it is said where others of these kernels are on disk."""
EVERY = 10.0
"""Seconds from one line to the next."""
TICK = 0.1
SECONDS = 3.0
"""Where there is no terminal, what goes on is said so often: a command that is done by then says nothing."""


class CompilingView:
    """Follows what is compiled from the first kernels on that are loaded."""

    def __init__(self) -> None:
        self.followed: Compilations | None = None
        self.ended = Event()
        self._begun: float | None = None
        self._said_at: float | None = None
        self._bar: Any = None
        self._stack = ExitStack()

    def watch(self, fresh: bool) -> None:
        """Kernels are loaded; where they are `fresh`, none of them is on disk, and all else is said first."""
        if fresh:
            self._say_begin()
        if self.followed is None:
            from numba.core.event import install_listener

            from dse.support.compilations import COMPILE, Compilations

            self.followed = Compilations(self.kernel_ends, self.kernel_begins)
            self._stack.enter_context(install_listener(COMPILE, self.followed))
            thread = Thread(target=self._tick, daemon=True)
            thread.start()
            self._stack.callback(thread.join)
            self._stack.callback(self.ended.set)

    def kernel_begins(self) -> None:
        """Show the bar, where there is a terminal."""
        self._begun = time.monotonic()
        if sys.stderr.isatty():
            self._bar = _bar()

    def kernel_ends(self, _: float) -> None:
        """Take the bar away."""
        self._begun = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _tick(self) -> None:
        while not self.ended.wait(TICK):
            self.look()

    def look(self) -> None:
        """Say what is due."""
        begun, found, bar = self._begun, self.followed, self._bar
        if begun is None or found is None:
            return
        now = time.monotonic()
        if self._said_at is None:
            if now - begun > WORTH_SAYING:
                self._say_begin()
        elif bar is not None:
            text = found.kernel or "what another process compiles"
            bar.update(bar.task_ids[0], description=text, completed=found.done, total=found.functions)
        elif now - self._said_at > EVERY:
            self._said_at = now
            taken = short_number(found.seconds + now - begun)
            of = f"{found.done} of {found.functions} functions in {taken} s"
            say(f"compiling kernels: {of}" + (f", now {found.kernel}" if found.kernel else ""))

    def _say_begin(self) -> None:
        if self._said_at is None:
            self._said_at = time.monotonic()
            say("compiling kernels that were not needed before; they are kept")

    def finish(self) -> None:
        """Say what it took, if it was said that it began; nothing more from now on."""
        self._stack.close()
        if self._said_at is not None and self.followed is not None and self.followed.done:
            say(f"kernels were compiled, and are kept: {short_number(self.followed.seconds)} s")


def _bar() -> Any:
    """A bar below what else is shown on the terminal; None where this version of rich shows one at a time."""
    from rich.errors import LiveError
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling {task.description}", markup=False), BarColumn())
    bar = Progress(
        *columns, MofNCompleteColumn(), TimeElapsedColumn(), console=error_console(), transient=True
    )
    bar.add_task("", total=None)
    try:
        bar.start()
    except LiveError:
        return None
    return bar


def say(text: str) -> None:
    """A line on stderr."""
    with suppress(OSError, ValueError):
        print(f"dse: {text}", file=sys.stderr, flush=True)


@contextmanager
def compiling_said() -> Iterator[None]:
    """Within, what is compiled is said on stderr."""
    view = CompilingView()
    jit.watchers.append(view.watch)
    try:
        yield
    finally:
        jit.watchers.remove(view.watch)
        view.finish()


@contextmanager
def tell_of_steps(seconds: float = SECONDS) -> Iterator[Tell]:
    """Tell of steps until the block ends."""
    if not sys.stderr.isatty():
        with _lines(seconds) as tell:
            yield tell
        return
    from rich.markup import escape

    with error_console().status("") as status:
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
