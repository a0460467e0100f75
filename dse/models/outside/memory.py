"""Answers that were given already, by mapping: in memory, and on disk where the user names a file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dse.core.reasons import Reason
from dse.models.outside.answers import Answer, Refusal, read_answer
from dse.support.errors import StorageError
from dse.support.hashing import digest

LASTING = (Reason.REFUSED, Reason.UNEVEN_TILE)
"""What is refused today is refused tomorrow; a crash need not be repeated."""
MAX = 1_000_000
MAX_BYTES = 100_000
"""Of one answer on disk."""
WAIT_SECONDS = 30.0
"""How long to wait for another process that writes to the same file."""
TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT)"
"""All that the file of a memory has."""


class Memory:
    """The answers of one model for one layer on one accelerator, whose `identity` is plain data.

    With `path`, they are kept in that file (SQLite), which any number of processes may share, and which
    holds the answers of many models, layers and accelerators. A StorageError where it cannot be used, or is
    something else. What it holds is not believed: an answer that is not as it was written is asked for anew.
    """

    def __init__(self, identity: dict[str, Any], path: str = "") -> None:
        self._known: dict[bytes, Answer] = {}
        self._identity, self._path, self._lock = digest(identity), path, threading.Lock()
        if path:
            self._open()

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """The answers that are known, by key."""
        found = {key: self._known[key] for key in keys if key in self._known}
        if self._path:
            select = (
                f"SELECT CAST(answer AS BLOB) FROM answers WHERE key = ? AND length(answer) < {MAX_BYTES}"
            )
            for key in keys:
                if key not in found:
                    for (said,) in self._on_disk(select, (self._key(key),)):
                        answer = _read(self._key(key), said)
                        if answer is not None:
                            found[key] = answer
        return found

    def keep(self, key: bytes, answer: Answer) -> None:
        """Remember an answer, from any thread."""
        with self._lock:
            if len(self._known) < MAX:
                self._known[key] = answer
            if self._path and (not isinstance(answer, Refusal) or answer.reason in LASTING):
                entry = (self._key(key), _written(self._key(key), answer))
                self._on_disk("INSERT OR REPLACE INTO answers VALUES (?, ?)", entry)

    def _key(self, key: bytes) -> str:
        return f"{self._identity}:{key.hex()}"

    def _open(self) -> None:
        """Make the file, or see that it is a memory's and nobody else's database."""
        found = self._on_disk("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        if not found:
            self._on_disk(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
        elif found != [(TABLE,)]:
            raise StorageError(
                f"cache file {self._path!r} is a database of something else; name one that is not there yet"
            )

    def _on_disk(self, statement: str, values: tuple[str, ...] = ()) -> list[Any]:
        try:
            if Path(self._path).exists() and not Path(self._path).is_file():
                raise sqlite3.OperationalError("it is no file")
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as database, database:
                # What a crash of the machine loses is asked again; a crash of the process loses nothing.
                database.execute("PRAGMA synchronous = OFF")
                return database.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StorageError(f"cache file {self._path!r} cannot be used: {error}") from None


def _written(key: str, answer: Answer) -> str:
    """An answer as text, with a checksum of it and of what it is for."""
    refused = isinstance(answer, Refusal)
    text = json.dumps([answer.reason.name, answer.text] if refused else answer)  # type: ignore[union-attr]
    return f"{_checksum(key, text)} {text}"


def _read(key: str, said: object) -> Answer | None:
    """The answer that was written; None where that is not it."""
    try:
        checksum, _, text = bytes(said).decode().partition(" ")  # type: ignore[call-overload]
        if checksum != _checksum(key, text):
            return None
        known = json.loads(text)
        if isinstance(known, list):
            return Refusal(Reason[known[0]], str(known[1]))
        answer = read_answer(known)
    except (TypeError, ValueError, LookupError, RecursionError):
        return None
    return None if isinstance(answer, Refusal) else answer


def _checksum(key: str, text: str) -> str:
    return hashlib.sha256(f"{key} {text}".encode()).hexdigest()[:16]
