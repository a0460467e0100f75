"""The one error that means "the input was wrong", and how messages show what is not ours."""

from __future__ import annotations

import contextlib
import difflib
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

NEAR = 0.6
"""How alike two names are, from 0 to 1, for one to be suggested for the other."""


class InputError(ValueError):
    """The user's input is wrong: the message is one line saying what, where and what would be right.

    The command line prints the message and exits with code 2; nothing else is shown.
    """


class StorageError(InputError):
    """A file or folder cannot be read or written. What it held before is kept."""


def unknown(kind: str, name: object, known: Iterable[str], where: str = "") -> InputError:
    """An error for a name that is not among `known`, with the nearest one suggested."""
    names = list(known)
    text = name if isinstance(name, str) else shorten(name)
    # A text three times as long as every name is near none, and difflib takes seconds over a long one.
    comparable = len(text) <= 3 * max(map(len, names), default=0)
    near = difflib.get_close_matches(text, names, n=1, cutoff=NEAR) if comparable else []
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    place = f" in {where}" if where else ""
    return InputError(f"unknown {kind} {shorten(name)}{place}; {hint}")


@contextlib.contextmanager
def within(where: str, label: str = "") -> Iterator[None]:
    """Put `where` in front of what an InputError of the block says, in place of the `label` before it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{label}: ')}") from None


def shorten(value: object, limit: int = 60) -> str:
    """`value` as it is shown in a message: its repr, cut so that the message stays one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python refuses to write whole numbers of thousands of digits (except in hex) and deep nesting.
        text = hex(value) if isinstance(value, int) else f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def difference(there: object, here: object, names: tuple[str, str] = ("there", "here")) -> str:
    """Where two pieces of plain data first differ, with both values: "budget is 500 there and 600 here"."""
    return _difference(there, here, names, "")


def one_line(text: str) -> str:
    """Text in one line, with escapes in place of what a terminal would not show but obey."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def format_exception(error: BaseException) -> str:
    """An exception in one line, with the place that raised it, for what a plug-in may raise."""
    text = one_line(str(error))
    kind = type(error).__name__
    said = f"{kind}: {text}" if text else kind
    frames = traceback.extract_tb(error.__traceback__)
    return f"{said} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else said


def _difference(there: object, here: object, names: tuple[str, str], where: str) -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key):
                place = f"{where}.{key}" if where else str(key)
                return _difference(there.get(key), here.get(key), names, place)
    return f"{where or 'it'} is {shorten(there)} {names[0]} and {shorten(here)} {names[1]}"
