"""A running search's samples on disk, so that a process that dies loses no work.

A journal is an append-only file: a header that says which cell it belongs to, then frames of samples, each
with a checksum. A frame holds genes and figures column by column, compressed: about 40 bytes a sample.
Samples wait in memory until a frame is worth writing (FRAME_ROWS of them, or FRAME_SECONDS): what a killed
process had not yet written is drawn again by its successor, to the same figures, because a search repeats
itself exactly.

A torn tail (the process died while it wrote) is cut off and forgiven. Damage anywhere else is an InputError
that names the byte, for then something other than a dying search has been at the file. One process at a
time holds it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.core.evaluations import Evaluations
from dse.search.record import COLUMNS, Record
from dse.support.arrays import IntArray
from dse.support.errors import InputError, StorageError, first_difference
from dse.support.files import MAX_BYTES, sync_folder

FRAME_ROWS = 256
FRAME_SECONDS = 0.5
MAX_ROWS = 4096
COMPRESSION = 1

FORMAT = 1
_MAGIC = b"DSEJRNL"
_HEADER = struct.Struct("<7sBII")
"""Magic, format, length and checksum of the JSON text that follows."""
_FRAME = struct.Struct("<4sIII")
"""Marker, samples, length and checksum of the compressed columns that follow."""
_CHECK = struct.Struct("<I")
"""Checksum of the frame's own head: without it a damaged length would look like a torn tail."""
_FRAME_HEAD = _FRAME.size + _CHECK.size
_MARKER = b"SMPL"
_ZLIB_HEAD = 64
"""More than zlib adds to what it cannot compress."""


class SampleLog(Protocol):
    """Where a running search's samples go, and those it begins with: what a Journal is to a search."""

    @property
    def path(self) -> Path: ...
    @property
    def samples(self) -> int: ...
    @property
    def recovered(self) -> Record: ...
    def sync(self, record: Record, *, force: bool = False) -> None: ...
    def discard(self) -> None: ...


class Journal:
    """One cell's samples on disk. Use it as a context manager: it is locked while it is open."""

    def __init__(
        self, path: Path, cell: Mapping[str, Any], sizes: Sequence[int], *, most: int = sys.maxsize
    ) -> None:
        """Open the journal of `cell` (plain data), or begin it; `sizes` are its genes' numbers of choices.

        It holds no more than `most` samples. Raises InputError if it belongs to another cell, is damaged, in
        use, or cannot be read or written.
        """
        self.path = path
        self._most = most
        self._columns = _Columns(sizes)
        self._written_at = time.monotonic()
        header = _header(cell)
        with self._explaining("opened"):
            self._file = _open_locked(path)
        try:
            with self._explaining("read or written"):
                self._begin(header)
                self.recovered = Record(len(sizes))
                self._end = self._recover(len(header))
        except BaseException:
            if not os.fstat(self._file).st_size:
                path.unlink(missing_ok=True)
            os.close(self._file)
            raise
        self.samples = len(self.recovered)

    def sync(self, record: Record, *, force: bool = False) -> None:
        """Write what `record` has beyond the journal, if it is worth a frame or `force` is set.

        A frame that cannot be written whole is taken back and an InputError raised.
        """
        waiting = len(record) - self.samples
        if waiting <= 0:
            return
        now = time.monotonic()
        if not force and waiting < FRAME_ROWS and now - self._written_at < FRAME_SECONDS:
            return
        self.append(record, self.samples)
        self._written_at = now

    def append(self, record: Record, start: int = 0) -> None:
        """Write the samples of `record` from `start` on, which come next."""
        while start < len(record):
            stop = min(start + MAX_ROWS, len(record))
            frame = self._columns.frame(record.genes(start, stop), record.evaluations(start, stop))
            with self._explaining("written"):
                self._write(frame)
            self._end += len(frame)
            self.samples += stop - start
            start = stop

    def close(self) -> None:
        """See that the samples, and the file's name, are on the disk, and let others have the journal."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            with self._explaining("written"):
                os.fsync(file)
                sync_folder(self.path.parent)
        finally:
            os.close(file)

    def discard(self) -> None:
        """Remove the journal: its samples are safe elsewhere, or worth nothing."""
        with self._explaining("removed"):
            self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, header: bytes) -> None:
        """See that the file begins with `header`, writing it if the file is new."""
        found = os.pread(self._file, len(header), 0)
        if found == header:
            return
        if not header.startswith(found):
            raise InputError(_mistaken(self.path, self._file, header))
        # Empty, or its writer died in the header: nothing is in it yet.
        self._end = 0
        self._write(header)

    def _recover(self, start: int) -> int:
        """Read the frames from byte `start` into `recovered`, cut a torn tail, and return where they end."""
        size = os.fstat(self._file).st_size
        # A last frame may never have been filled.
        if size > start + self._columns.most_bytes(self._most) + self._columns.most_bytes(MAX_ROWS):
            raise self._damaged(start)
        offset = start
        while offset < size:
            head = os.pread(self._file, _FRAME_HEAD, offset)
            if len(head) < _FRAME_HEAD:
                break
            marker, rows, length, checksum = _FRAME.unpack_from(head)
            if marker != _MARKER or _CHECK.unpack_from(head, _FRAME.size)[0] != zlib.crc32(
                head[: _FRAME.size]
            ):
                if self._blank(offset, size):
                    break
                raise self._damaged(offset)
            if not 0 < rows <= min(MAX_ROWS, self._most - len(self.recovered)):
                raise self._damaged(offset)
            payload = os.pread(self._file, length, offset + _FRAME_HEAD)
            if len(payload) < length:
                break
            if zlib.crc32(payload) != checksum:
                raise self._damaged(offset)
            try:
                self.recovered.append(*self._columns.read(payload, rows))
            except (ValueError, zlib.error):
                raise self._damaged(offset) from None
            offset += _FRAME_HEAD + length
        if offset < size:
            os.ftruncate(self._file, offset)
        return offset

    def _blank(self, offset: int, size: int) -> bool:
        """Whether the file is zeros from `offset` on: a power cut can leave a tail that was never filled."""
        step = 1 << 20
        return not any(any(os.pread(self._file, step, place)) for place in range(offset, size, step))

    def _write(self, data: bytes) -> None:
        """Put `data` at the end of the file, all of it or nothing."""
        done = 0
        try:
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._end + done)
        except BaseException:
            os.ftruncate(self._file, self._end)
            raise

    def _damaged(self, offset: int) -> InputError:
        return InputError(
            f"journal {str(self.path)!r} is damaged at byte {offset}, after {len(self.recovered)} good "
            "samples; remove it to run its cell again"
        )

    @contextlib.contextmanager
    def _explaining(self, deed: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StorageError(
                    f"journal {str(self.path)!r} is a link; remove it: nothing is written through it"
                ) from None
            raise StorageError(
                f"journal {str(self.path)!r} cannot be {deed}: {error.strerror or error}; "
                "what it already holds is kept, run again to go on"
            ) from None


def hand_over(path: Path, before: Mapping[str, Any], now: Mapping[str, Any], sizes: Sequence[int]) -> None:
    """Make the journal of the cell `before` one of the cell `now`, which draws the same samples and more.

    InputError as from Journal; then it stays as it was. One that is of the cell `now` already is left so.
    """
    most = now.get("budget", sys.maxsize)
    try:
        Journal(path, now, sizes, most=most).close()
        return
    except InputError:
        pass
    with Journal(path, before, sizes, most=most) as journal:
        record = journal.recovered
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with Journal(part, now, sizes) as journal:
        journal.sync(record, force=True)
    part.replace(path)


class _Columns:
    """How samples become bytes: one column after another, each transposed bytewise so that it compresses."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._genes = [np.min_scalar_type(max(int(size) - 1, 0)).newbyteorder("<") for size in sizes]
        self._figures = {name: np.dtype(dtype).newbyteorder("<") for name, dtype in COLUMNS.items()}
        self._dtypes = [*self._genes, *self._figures.values()]

    def frame(self, genes: IntArray, evaluations: Evaluations) -> bytes:
        columns = [genes[:, gene].astype(dtype) for gene, dtype in enumerate(self._genes)]
        columns += [column.astype(self._figures[name]) for name, column in evaluations.columns().items()]
        payload = zlib.compress(b"".join(map(_transposed, columns)), COMPRESSION)
        head = _FRAME.pack(_MARKER, len(genes), len(payload), zlib.crc32(payload))
        return head + _CHECK.pack(zlib.crc32(head)) + payload

    def most_bytes(self, samples: int) -> int:
        """The most that so many samples take, were each of them in a frame of its own."""
        return samples * (sum(dtype.itemsize for dtype in self._dtypes) + _FRAME_HEAD + _ZLIB_HEAD)

    def read(self, payload: bytes, rows: int) -> tuple[IntArray, Evaluations]:
        """A frame's samples; ValueError or zlib.error if it does not hold so many."""
        dtypes = self._dtypes
        whole = sum(rows * dtype.itemsize for dtype in dtypes)
        data = np.frombuffer(zlib.decompressobj().decompress(payload, whole + 1), np.uint8)
        if len(data) != whole:
            raise ValueError("a frame of another size")
        ends = np.cumsum([rows * dtype.itemsize for dtype in dtypes])
        columns = [
            np.ascontiguousarray(part.reshape(dtype.itemsize, rows).T).view(dtype).reshape(rows)
            for part, dtype in zip(np.split(data, ends[:-1]), dtypes, strict=True)
        ]
        count = len(self._genes)
        genes = np.stack(columns[:count], axis=1).astype(np.int64)
        return genes, Evaluations.of(dict(zip(self._figures, columns[count:], strict=True)))


def _transposed(column: NDArray[Any]) -> bytes:
    return column.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes()


def _header(cell: Mapping[str, Any]) -> bytes:
    text = json.dumps(cell, sort_keys=True, allow_nan=False).encode()
    return _HEADER.pack(_MAGIC, FORMAT, len(text), zlib.crc32(text)) + text


def _open_locked(path: Path) -> int:
    """A descriptor of the file at `path`, made if need be, that no other process has open as a journal."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have removed it between the opening and the locking.
            if os.fstat(file).st_nlink:
                return file
            os.close(file)
        except BlockingIOError:
            os.close(file)
            raise InputError(f"journal {str(path)!r} is in use by another process") from None
        except BaseException:
            os.close(file)
            raise


def _mistaken(path: Path, file: int, header: bytes) -> str:
    """Why the file does not begin with `header`."""
    head = os.pread(file, _HEADER.size, 0)
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        return f"{str(path)!r} is not a journal of samples"
    _, version, length, checksum = _HEADER.unpack(head)
    if version != FORMAT:
        return f"journal {str(path)!r} has format {version}, this program reads {FORMAT}"
    text = os.pread(file, min(length, MAX_BYTES), _HEADER.size)
    if len(text) < length or zlib.crc32(text) != checksum:
        return f"journal {str(path)!r} is damaged at byte 0, in its header; remove it to run its cell again"
    change = first_difference(json.loads(text), json.loads(header[_HEADER.size :]))
    return f"journal {str(path)!r} belongs to another cell: {change}; remove it or choose another place"
