"""Our own warnings as lines on stderr, like other messages, without the place in the code."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import TextIO

from dse.support.errors import Notice, one_line


def show_notices_in_a_line() -> None:
    """Print each Notice of this process as `dse: warning: ...`; other warnings as before."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, Notice):
            others(message, category, filename, lineno, file, line)
            return
        with suppress(OSError, ValueError):
            print("dse: warning:", one_line(str(message)), file=sys.stderr, flush=True)

    warnings.showwarning = show
