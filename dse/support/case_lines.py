"""Files of cases, a JSON object a line: plain or gzipped, or standard input."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, cast

from dse.support.errors import InputError, shorten
from dse.support.validation import check_keys, check_table

STANDARD_INPUT = "-"
MAX_LETTERS, MAX_LINES = 1 << 20, 1_000_000
"""Of a line, and of a file."""
PARTS = ("layer", "mapping", "hardware")
LABELS = ("id", "kind", "name", "note", "source", "expected")
"""Keys of a case that change no figure: its name, where it is from, what somebody else says of it."""
KEYS = frozenset((*PARTS, *LABELS))


def parts_of(case: object, where: str) -> Mapping[str, Any]:
    """A case as a table with all of PARTS, and nothing else but LABELS; else an InputError."""
    entry = check_table(case, where)
    check_keys(entry, where, required=PARTS, optional=LABELS)
    return entry


def name_of(path: str) -> str:
    """A file as messages call it."""
    return "standard input" if path == STANDARD_INPUT else path or repr(path)


def case_lines(path: str) -> Iterator[tuple[str, str]]:
    """The lines of a file of cases, plain or gzipped, each with its place for messages.

    Raises InputError where the file cannot be read, or holds none.
    """
    name = name_of(path)
    number = 0
    for number, text in numbered_lines(path, name):
        yield f"{name} line {number}", text
    if not number:
        raise InputError(f"{name} holds no cases; expected one JSON object a line")


def numbered_lines(path: str, name: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file; blank lines are forgiven at its end only.

    A file need not have an end, or fit into memory once it is unpacked: lines and their number are bounded.
    """
    blank = 0
    try:
        with _opened(path) as stream:
            for number, raw in enumerate(iter(partial(stream.readline, MAX_LETTERS + 1), b""), 1):
                if len(raw) > MAX_LETTERS:
                    raise InputError(f"{name} line {number} is longer than {MAX_LETTERS:,} letters")
                if number > MAX_LINES:
                    raise InputError(f"{name} has more than {MAX_LINES:,} lines; split it")
                text = _decoded(raw, f"{name} line {number}")
                if not text.strip():
                    blank = blank or number
                elif blank:
                    raise InputError(f"{name} line {blank} is blank; expected one case a line")
                else:
                    yield number, text
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name} is not a whole gzip file: {shorten(str(error))}") from None


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """The lines of a file or of standard input, unpacked if they are gzipped."""
    source: str | int = 0 if path == STANDARD_INPUT else path
    with open(source, "rb", closefd=source != 0) as stream:
        if stream.peek(2).startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield stream


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8: byte {error.start + 1} is {raw[error.start]:#04x}") from None
