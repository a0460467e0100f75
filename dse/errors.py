"""The one error that means "the input was wrong"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """The user's input is wrong: the message is one line saying what, where and what would be right.

    The command line prints the message and exits with code 2; nothing else is shown.
    """


class StorageError(InputError):
    """A file or folder cannot be read or written. What it held before is kept."""


def unknown(kind: str, name: object, known: Iterable[str], where: str = "") -> InputError:
    """An error for a name that is not among `known`, with the nearest one suggested."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    place = f" in {where}" if where else ""
    return InputError(f"unknown {kind} {shorten(name)}{place}; {hint}")


def shorten(value: object, limit: int = 60) -> str:
    """`value` as it is shown in a message: its repr, cut so that the message stays one line."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
