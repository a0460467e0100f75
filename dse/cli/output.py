"""What commands print: JSON for programs, tables for people."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dse.support.errors import visible_text
from dse.support.strict_json import plain

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH, WIDEST = 110, 1000
SHORT = 12
"""Letters of a text that is not worth a second line."""
MAX_NAMED = 4


def print_json(value: object) -> None:
    """Print `value` as one JSON line on stdout; what JSON cannot say (infinities, NaN) becomes null."""
    sys.stdout.write(json.dumps(plain(value), allow_nan=False) + "\n")


def make_console() -> Console:
    """A console on stdout, on which nothing of a file can do more than be read.

    What goes to a file or a pipe is not squeezed into 80 columns, and a text is one line anywhere.
    """
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the process here; the command line's own main has the say.
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            texts = [visible_text(item) if isinstance(item, str) else item for item in objects]
            super().print(*texts, **{"soft_wrap": all(isinstance(text, str) for text in texts)} | options)

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return QuietConsole(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


@cache
def error_console() -> Console:
    """The one console on stderr: of several things that go on at a time, each is shown below the other."""
    from rich.console import Console

    return Console(stderr=True)


def print_heading(console: Console, text: str) -> None:
    """Print a line in bold."""
    console.print(text, style="bold")


def print_table(
    console: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    figures: Collection[str] = (),
    uncut: Collection[str] = (),
) -> None:
    """Print `rows` under a title; text wraps where the console is narrow, numbers and names are never cut.

    Columns in `figures` hold numbers in words, with their units. Those in `uncut` wrap on terminals alone.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        number = column in figures or any(isinstance(row[index], int | float) for row in rows)
        whole = (
            number
            or index == 0
            or (column in uncut and not console.is_terminal)
            or all(len(shown_value(row[index])) <= SHORT for row in rows)
        )
        # As wide as its widest cell: rich counts words alone, and a name may be a path with spaces in it.
        least = max(cell_len(text) for text in (column, *(shown_value(row[index]) for row in rows)))
        table.add_column(
            column,
            justify="right" if number else "left",
            no_wrap=whole,
            min_width=least if whole else None,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(shown_value(value) for value in row))
    least = console.measure(table, options=console.options.update(width=WIDEST)).minimum
    console.width = max(console.width, least)
    print_heading(console, title)
    console.print(table)


def print_failures(console: Console, failures: Mapping[str, str]) -> None:
    """Print why what failed did, by name: a line a reason, for one that all have is to be read once."""
    for reason in dict.fromkeys(failures.values()):
        names = [name for name, why in failures.items() if why == reason]
        rest = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        console.print(f"failed: {', '.join(names[:MAX_NAMED])}{rest}: {reason}", style="red")


def shown_value(value: object) -> str:
    """A value as a table shows it: counts with separators, floats with four digits, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if math.isfinite(value) else "-"
    return visible_text(str(value))


def short_number(value: float) -> str:
    """A number of two digits or more, as people write it: `0.0031`, `45`, `1,234`."""
    return f"{value:.2g}" if abs(value) < 99.5 else f"{value:,.0f}"
