"""Answers that were given already, by mapping: in memory, and on disk where the user names a file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from dse.cost.outside.answers import Answer, Refusal
from dse.spec.reasons import Reason
from dse.support.errors import StorageError
from dse.support.hashing import digest

LASTING = (Reason.REFUSED, Reason.UNEVEN_TILE)
"""What is refused today is refused tomorrow; a crash need not be repeated."""
MOST = 1_000_000
WAIT_SECONDS = 30.0
"""How long to wait for another process that writes to the same file."""


class Memory:
    """The answers of one model for one layer on one accelerator, whose `identity` is plain data.

    With `path`, they are kept in that file (SQLite), which any number of processes may share, and which
    holds the answers of many models, layers and accelerators.
    """

    def __init__(self, identity: dict[str, Any], path: str = "") -> None:
        self._known: dict[bytes, Answer] = {}
        self._identity, self._path, self._lock = digest(identity), path, threading.Lock()
        if path:
            self._on_disk("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)")

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """The answers that are known, by key."""
        found = {key: self._known[key] for key in keys if key in self._known}
        if self._path:
            for key in keys:
                if key not in found:
                    rows = self._on_disk("SELECT answer FROM answers WHERE key = ?", (self._key(key),))
                    if rows:
                        found[key] = _read(rows[0][0])
        return found

    def keep(self, key: bytes, answer: Answer) -> None:
        """Remember an answer, from any thread."""
        with self._lock:
            if len(self._known) < MOST:
                self._known[key] = answer
            if self._path and (not isinstance(answer, Refusal) or answer.reason in LASTING):
                entry = (self._key(key), _written(answer))
                self._on_disk("INSERT OR REPLACE INTO answers VALUES (?, ?)", entry)

    def _key(self, key: bytes) -> str:
        return f"{self._identity}:{key.hex()}"

    def _on_disk(self, statement: str, values: tuple[str, ...] = ()) -> list[Any]:
        try:
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as database, database:
                # What a crash of the machine loses is asked again; a crash of the process loses nothing.
                database.execute("PRAGMA synchronous = OFF")
                return database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StorageError(f"cache file {self._path!r} cannot be used: {error}") from None


def _written(answer: Answer) -> str:
    refused = isinstance(answer, Refusal)
    return json.dumps([answer.reason.name, answer.text] if refused else answer)  # type: ignore[union-attr]


def _read(text: str) -> Answer:
    said = json.loads(text)
    return Refusal(Reason[said[0]], said[1]) if isinstance(said, list) else said
