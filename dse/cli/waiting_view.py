"""What a command that takes long says on stderr while somebody waits: which step it is at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from dse.cli.output import error_console
from dse.support.errors import one_line
from dse.support.telling import Tell

SECONDS = 3.0
"""Where there is no terminal, what goes on is said so often: a command that is done by then says nothing."""


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
