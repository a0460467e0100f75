"""The states of a campaign's cells, in one SQLite file that outlives any of its processes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dse.support.errors import InputError

FORMAT = 1
PENDING, DONE, FAILED = "pending", "done", "failed"

_TABLES = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    identity TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    reason TEXT,
    summary TEXT
);
"""


class Ledger:
    """What is known of each cell: its fingerprint, its state, why it failed or what it came to."""

    def __init__(self, path: Path) -> None:
        """Open the ledger at `path`, made if it is not there. Raises InputError where that cannot be."""
        self.path = path
        with self._explaining():
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                raise InputError(f"ledger {str(path)!r} has format {version}, this program reads {FORMAT}")
            self._database.executescript(_TABLES)
            self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def add(self, cells: Mapping[str, Mapping[str, Any]], fingerprints: Mapping[str, str]) -> None:
        """Enter cells, by key, that are not in it yet; all of them or none."""
        rows = [(key, fingerprints[key], json.dumps(cells[key], sort_keys=True)) for key in cells]
        with self._explaining():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany(
                    "INSERT OR IGNORE INTO cells (key, fingerprint, identity) VALUES (?, ?, ?)", rows
                )
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def remove(self, keys: Iterable[str]) -> None:
        """Strike cells out, as if they had never been entered."""
        with self._explaining():
            self._database.executemany("DELETE FROM cells WHERE key = ?", [(key,) for key in keys])

    def finish(self, key: str, summary: Mapping[str, Any]) -> None:
        """Write down that a cell is done, and what it came to (plain data)."""
        with self._explaining():
            self._database.execute(
                "UPDATE cells SET state = ?, reason = NULL, summary = ? WHERE key = ?",
                (DONE, json.dumps(summary), key),
            )

    def fail(self, key: str, reason: str) -> None:
        """Write down that a cell has failed, and why."""
        with self._explaining():
            self._database.execute(
                "UPDATE cells SET state = ?, reason = ? WHERE key = ?", (FAILED, reason, key)
            )

    def summaries(self) -> list[dict[str, Any]]:
        """What the finished cells came to."""
        with self._explaining():
            rows = self._database.execute("SELECT summary FROM cells WHERE state = ?", (DONE,)).fetchall()
        return [json.loads(row[0]) for row in rows]

    def states(self) -> dict[str, tuple[str, str | None]]:
        """Every cell's state and, of a failed one, the reason."""
        with self._explaining():
            rows = self._database.execute("SELECT key, state, reason FROM cells").fetchall()
        return {key: (state, reason) for key, state, reason in rows}

    def fingerprints(self) -> dict[str, str]:
        """Every cell's fingerprint."""
        with self._explaining():
            return dict(self._database.execute("SELECT key, fingerprint FROM cells").fetchall())

    def identity(self, key: str) -> dict[str, Any]:
        """All that the cell's record depends on, as it was when the cell was entered."""
        with self._explaining():
            row = self._database.execute("SELECT identity FROM cells WHERE key = ?", (key,)).fetchone()
        found: dict[str, Any] = json.loads(row[0])
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(
                f"ledger {str(self.path)!r} cannot be used: {error}; finished cells are kept beside it"
            ) from None
