"""The one error that means "the input was wrong", and how messages show what is not ours."""

from __future__ import annotations

import contextlib
import difflib
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

MAX_BITS = 2**10
"""The longest whole number, in bits, that messages write in digits."""

NEAR = 0.6
"""How alike two names are, from 0 to 1, for one to be suggested for the other."""


class InputError(ValueError):
    """The user's input is wrong: the message is one line saying what, where and what would be right.

    The command line prints the message and exits with code 2; nothing else is shown.
    """


class Notice(UserWarning):
    """What a user is told of what they asked for: a line of text, wherever in the code it is said."""


class FloorWarning(Notice):
    """A user's own cost model says fewer cycles than the accelerator's file leaves room for."""


class StorageError(InputError):
    """A file or folder cannot be read or written. What it held before is kept."""


def unknown_name(
    kind: str, name: object, known: Iterable[str], where: str = "", ending: str = ""
) -> InputError:
    """An error for a name that is not among `known`, with the nearest one suggested.

    An `ending` that all names have makes none nearer.
    """
    names = list(known)
    text = (name if isinstance(name, str) else shorten(name)).removesuffix(ending)
    # A text three times as long as every name is near none, and difflib takes seconds over a long one.
    comparable = len(text) <= 3 * max(map(len, names), default=0)
    heads = [known_name.removesuffix(ending) for known_name in names]
    near = difflib.get_close_matches(text, heads, n=1, cutoff=NEAR) if comparable else []
    hint = f"did you mean {names[heads.index(near[0])]!r}?" if near else f"expected one of {', '.join(names)}"
    place = f" in {where}" if where else ""
    return InputError(f"unknown {kind} {shorten(name)}{place}; {hint}")


@contextlib.contextmanager
def errors_within(where: str, label: str = "") -> Iterator[None]:
    """Put `where` in front of what an InputError of the block says, in place of the `label` before it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{label}: ')}") from None


def shorten(value: object, limit: int = 60) -> str:
    """`value` as it is shown in a message: its repr, cut so that the message stays one line.

    No more of plain data is written out than is shown, whatever its size or depth.
    """
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            return text[: limit - 3] + "..."
    return text


def first_difference(there: object, here: object, names: tuple[str, str] = ("there", "here")) -> str:
    """Where two pieces of plain data first differ, with both values: "budget is 500 there and 600 here"."""
    return _difference(there, here, names, "")


def one_line(text: str) -> str:
    """Text in one line, with escapes in place of what a terminal would not show but obey."""
    return visible_text(" ".join(text.split()))


def visible_text(text: str) -> str:
    """Text in its lines, with escapes in place of what a terminal would not show but obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def format_exception(error: BaseException) -> str:
    """An exception in one line, with the place that raised it, for what a plug-in may raise."""
    said = exception_text(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{said} ({Path(error.filename).name}:{error.lineno})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "<frozen" not in frame.filename]
    return f"{said} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else said


def exception_text(error: BaseException) -> str:
    """An exception in one line: its kind, and what it says."""
    kind = type(error).__name__
    if isinstance(error, SystemExit) and not isinstance(error.code, str):
        return f"{kind}: sys.exit({'' if error.code is None else shorten(error.code)}) was called"
    try:
        text = error.msg if isinstance(error, SyntaxError) else one_line(str(error))
    except Exception:  # somebody's own class of exceptions
        text = ""
    return f"{kind}: {text}" if text else kind


def show_notices_in_a_line() -> None:
    """Print each Notice of this process as `dse: warning: ...`; other warnings as before.

    Where in the code it is raised tells nothing.
    """
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
        with contextlib.suppress(OSError, ValueError):
            print("dse: warning:", one_line(str(message)), file=sys.stderr, flush=True)

    warnings.showwarning = show


@contextlib.contextmanager
def code_of_others(what: str) -> Iterator[None]:
    """Run what a user or a plug-in wrote: whatever it raises is an InputError that says `what`, and why.

    An exit is no exception to that: who calls `sys.exit(0)` must not end a command as if all were done. What
    it prints goes to stderr, for stdout has results.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{what}: {format_exception(error)}") from error


def _difference(there: object, here: object, names: tuple[str, str], where: str) -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key):
                place = f"{where}.{key}" if where else str(key)
                return _difference(there.get(key), here.get(key), names, place)
    return f"{where or 'it'} is {shorten(there)} {names[0]} and {shorten(here)} {names[1]}"


def _pieces(value: Any, limit: int) -> Iterator[str]:
    """The repr of plain data from its beginning, in pieces; of which so many letters are wanted."""
    brackets: str = _BRACKETS.get(type(value).__repr__, "")
    if isinstance(value, str | bytes):
        yield repr(value[: limit + 1])
    elif isinstance(value, int) and abs(value) >> MAX_BITS:
        # Python refuses to write thousands of digits, except in hex.
        spare = max(0, value.bit_length() // 4 - limit - 1)
        yield "-" * (value < 0) + hex(abs(value) >> 4 * spare)
    elif brackets:
        yield brackets[0]
        for place, item in enumerate(value):
            yield ", " if place else ""
            yield from _pieces(item, limit)
            if isinstance(value, dict):
                yield ": "
                yield from _pieces(value[item], limit)
        yield ",)" if isinstance(value, tuple) and len(value) == 1 else brackets[1]
    else:
        yield _own_repr(value)


_BRACKETS: dict[Any, str] = {dict.__repr__: "{}", list.__repr__: "[]", tuple.__repr__: "()"}


def _own_repr(value: object) -> str:
    """What an object of another kind says of itself, which may be the code of others."""
    try:
        return one_line(repr(value))
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"
