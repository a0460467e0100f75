"""Files that are written whole or not at all, so that no reader and no crash ever meets half of one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dse.support.errors import InputError, StorageError

MAX_BYTES = 16 << 20
"""The size of a file that a user may hand over: a million lines of TOML have no more."""
PIECE = 1 << 20
"""Bytes that are read at once of what has no size."""


@contextlib.contextmanager
def whole_file(path: Path, what: str = "file") -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends and vanishes if it fails.

    The folder is made where it is missing. What has been written outlives a power cut. A StorageError names
    `what` it is (a record, a figure) and why it cannot be written; what `path` held before is then kept.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # A file in the folder's place says more about itself when it is opened than when it is made.
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Made anew: a link that somebody has put there is not written through.
            part.unlink(missing_ok=True)
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"{what} {str(path)!r} cannot be written: {error.strerror or error}") from None


def write_whole(path: Path, content: bytes | str, what: str = "file") -> None:
    """Write bytes, or text as UTF-8, in the way of `whole_file`."""
    with whole_file(path, what) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: object, what: str = "file") -> None:
    """Write plain data as a JSON file, in the way of `whole_file`."""
    write_whole(path, json.dumps(value, indent=1, allow_nan=False) + "\n", what)


def file_within(path: str, name: str) -> str:
    """The file `name` of the folder at `path`, if there is one; `path` itself otherwise."""
    inside = os.path.join(path, name)
    return inside if os.path.isfile(inside) else path


def make_folder(folder: Path, *parts: str) -> None:
    """Make a folder for results, those that it is in, and the folders `parts` in it.

    A StorageError says why that cannot be; links in it are refused, as `refuse_links` says.
    """
    for made in (folder, *(folder / part for part in parts)):
        try:
            made.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"folder {str(made)!r} cannot be made: {error.strerror}") from None
        refuse_links(made)


def read_bounded(path: str | Path, where: str, most: int = MAX_BYTES) -> bytes:
    """The content of a file that the user names, which may have no end; an InputError if it is too large.

    `where` names the file in messages. OSError is left to the caller.
    """
    pieces = []
    try:
        with open(path, "rb") as file:
            # Python sets aside what is asked for: the file's own size, which pipes and devices do not have.
            size = os.fstat(file.fileno()).st_size
            left, piece = most + 1 if size <= most else 0, size or PIECE
            while left and (content := file.read(min(piece, left))):
                pieces.append(content)
                left, piece = left - len(content), PIECE
        if left:
            return b"".join(pieces)
    except MemoryError:
        raise InputError(f"{where} cannot be read: it does not fit into memory") from None
    except ValueError as error:  # a path with a NUL character, or with half a pair of surrogates
        raise InputError(f"{where} cannot be read: {error}") from None
    raise InputError(f"{where} cannot be read: it is larger than {most >> 20} MiB")


def read_text(path: str | Path, where: str) -> str:
    """The text of a file that the user names; an InputError if it cannot be read or is no UTF-8."""
    try:
        return decode_text(read_bounded(path, where), where)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}") from None


def decode_text(content: bytes, where: str) -> str:
    """The text in a file's content; an InputError that says where it is no UTF-8."""
    try:
        # Editors on Windows put a byte order mark in front, which is no part of the text.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from None


def refuse_links(folder: Path) -> None:
    """See that nothing directly in `folder` is a symbolic link, which would let files elsewhere be written.

    The folder itself may be one. A StorageError names the link.
    """
    try:
        links = sorted(entry.name for entry in os.scandir(folder) if entry.is_symlink())
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"folder {str(folder)!r} cannot be read: {error.strerror}") from None
    if links:
        raise StorageError(
            f"{str(folder / links[0])!r} is a link: results are not written through links inside a folder; "
            "put what it points to in its place, or remove it"
        )


def sync_folder(folder: Path) -> None:
    """See that a renamed file has its new name on the disk too."""
    # Where a folder cannot be opened or synced (some network file systems), the file's content is safe.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
