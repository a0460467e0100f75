"""The states of a campaign's cells, in one SQLite file that outlives any of its processes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import digits
from typing import Any
from urllib.parse import quote

from dse.campaign.stored import check_identity, check_summary, parse_stored
from dse.campaign.summary import Summary
from dse.support import strict_json
from dse.support.errors import InputError, shorten
from dse.support.hashing import CANONICAL, digest, digest_text, digest_texts, split_around
from dse.support.validation import INT64_MAX

FORMAT = 1
PENDING, DONE, FAILED = STATES = "pending", "done", "failed"
LEDGER = "ledger.sqlite"

_COLUMNS = ("key", "fingerprint", "identity", "state", "reason", "summary")
_TABLES = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    identity TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    reason TEXT,
    summary TEXT,
    checksum TEXT
);
"""


_SEED, _SETTINGS = '"seed": ', ', "settings": '


@dataclass(frozen=True)
class Row:
    """A cell as the ledger has it, checked: a finished one has a summary, a failed one a reason.

    The summary is read when it is asked for, which takes as long as all else; it is whole, for the row
    agrees with its checksum.
    """

    key: str
    fingerprint: str
    identity: Mapping[str, Any]
    state: str
    reason: str | None
    path: Path = field(repr=False)
    text: str | None = field(repr=False)

    @property
    def summary(self) -> Summary | None:
        """What a finished cell came to. InputError where that is damaged."""
        if self.state != DONE:
            return None
        with _explaining(self.path):
            return _summary(self.key, self.fingerprint, self.text)


def read_ledger(path: Path) -> Iterator[Row]:
    """The cells of the ledger at `path` in the campaign's order, with nothing written beside it.

    One by one: the texts of a hundred thousand take half a gigabyte. InputError where it is damaged: it says
    what is wrong, and what to do.
    """
    # Without a log of writes nobody has it open: read as it lies, SQLite leaves no files beside it.
    options = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    with (
        _explaining(path),
        closing(sqlite3.connect(f"file:{quote(str(path))}?{options}", uri=True)) as database,
    ):
        yield from _rows(database, path)


def _rows(database: sqlite3.Connection, path: Path) -> Iterator[Row]:
    """All rows, in order, each held against its checksum. Ledgers of older versions have none."""
    sound = database.execute("PRAGMA quick_check(1)").fetchone()
    if sound != ("ok",):
        raise InputError(f"{shorten(sound and sound[0])} (by SQLite's own check)")
    # A view may have rows without end, and a trigger do anything when a cell is entered.
    active = database.execute("SELECT type FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
    if active:
        raise InputError(f"it has a {active[0]}, which no ledger has")
    checksum = "checksum" if "checksum" in _columns(database) else "NULL"
    query = f"SELECT {', '.join(_COLUMNS)}, {checksum} FROM cells ORDER BY rowid"
    identities = _Identities()
    for row in database.execute(query):
        yield _row(row[:-1], row[-1], path, identities)


def _columns(database: sqlite3.Connection) -> list[str]:
    return [column[1] for column in database.execute("PRAGMA table_info(cells)")]


def _row(values: tuple[Any, ...], checksum: object, path: Path, identities: _Identities) -> Row:
    key, fingerprint, identity, state, reason, summary = values
    where = f"cell {shorten(key)}"
    if checksum is not None and checksum != _checksum(values):
        raise InputError(f"{where} does not agree with its checksum")
    named = isinstance(key, str) and key.isprintable() and key.count("--") >= 4
    if not named or state not in STATES or not isinstance(reason, str | None):
        raise InputError(f"{where} has a key, a state or a reason that no cell has")
    known, told = identities.read(identity, f"{where}: identity")
    if told != fingerprint:
        raise InputError(f"{where}: identity is not what its fingerprint says")
    if state == DONE and checksum is None:
        _summary(key, fingerprint, summary)
    return Row(key, fingerprint, known, state, None if state == DONE else reason, path, summary)


def _summary(key: str, fingerprint: str, text: object) -> Summary:
    where = f"cell {shorten(key)}: summary"
    found = check_summary(parse_stored(text, where), where)
    if (found.key, found.fingerprint) != (key, fingerprint):
        raise InputError(f"{where} is of another cell, {shorten(found.key)}")
    return found


class _Identities:
    """Reads the identities of cells; those that differ in their seed alone are parsed and checked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[dict[str, Any], tuple[str, str]] | None] = {}

    def read(self, text: object, where: str) -> tuple[dict[str, Any], str]:
        """The identity in a text, and its digest; InputError where it is none."""
        if not isinstance(text, str):
            raise InputError(f"{where} must be JSON text, got {shorten(text)}")
        first, settings, last = text.partition(_SETTINGS)
        before = first.rstrip(digits)
        seed, parts = first[len(before) :], (before, settings + last)
        if seed and before.endswith(_SEED):
            if parts not in self._known:
                self._known[parts] = self._alike(parts, where)
            alike = self._known[parts]
            if alike is not None and len(seed) < len(str(INT64_MAX)):
                return {**alike[0], "seed": int(seed)}, digest_text(seed.join(alike[1]))
        known = check_identity(strict_json.parse_json(text, where), where)
        return known, digest(known)

    def _alike(self, parts: tuple[str, ...], where: str) -> tuple[dict[str, Any], tuple[str, str]] | None:
        """The identity of such parts without its seed, and its canonical text; None if that is elsewhere."""
        first, second = (
            check_identity(strict_json.parse_json(seed.join(parts), where), where) for seed in ("1", "2")
        )
        if (first.pop("seed"), second.pop("seed")) != (1, 2):
            return None
        return first, split_around(first, "seed", CANONICAL)


def _checksum(values: Iterable[object]) -> str:
    return digest_texts(map(str, values))


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Put the ledger's name before what is said of it, and behind it what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        # What Python itself complains of, such as text that is not UTF-8, has no number.
        number = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if number & 255 != sqlite3.SQLITE_ERROR:
            # A full disk, a lock, a missing right: the ledger itself may be well.
            raise InputError(
                f"ledger {str(path)!r} cannot be used: {error}; finished cells are kept"
            ) from None
        raise InputError(_damaged(path, error)) from None
    except (InputError, sqlite3.Error, UnicodeError, OverflowError, MemoryError) as error:
        raise InputError(_damaged(path, error)) from None


def _damaged(path: Path, said: object) -> str:
    return (
        f"ledger {str(path)!r} is damaged: {said}; remove it (and {path.name}-wal and -shm) "
        "and run the campaign again: finished cells are kept in cells/ and curves.parquet, "
        "unfinished ones in journals/"
    )


class Ledger:
    """What is known of each cell: its fingerprint, its state, why it failed or what it came to."""

    def __init__(self, path: Path) -> None:
        """Open the ledger at `path`, made if it is not there. InputError if that fails.

        Damage is found when `rows` are read.
        """
        self.path = path
        with _explaining(path):
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def add(self, cells: Iterable[tuple[str, str, str]]) -> None:
        """Enter cells that are not in it yet, all of them or none: key, fingerprint, identity as JSON."""
        begun = ((*cell, PENDING, None, None) for cell in cells)
        self._insert((*values, _checksum(values)) for values in begun)

    def _insert(self, rows: Iterable[tuple[str | None, ...]]) -> None:
        with _explaining(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                columns = ", ".join((*_COLUMNS, "checksum"))
                query = f"INSERT OR IGNORE INTO cells ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)"
                self._database.executemany(query, rows)
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def copy(self, rows: Iterable[Row]) -> None:
        """Enter rows of another ledger as they are, into this one, which has none of their cells."""
        entered = []
        for row in rows:
            identity = json.dumps(row.identity, sort_keys=True)
            text = row.text if row.state == DONE else None
            values = (row.key, row.fingerprint, identity, row.state, row.reason, text)
            entered.append((*values, _checksum(values)))
        self._insert(entered)

    def remove(self, keys: Iterable[str]) -> None:
        """Strike cells out, as if they had never been entered."""
        with _explaining(self.path):
            self._database.executemany("DELETE FROM cells WHERE key = ?", [(key,) for key in keys])

    def finish(self, key: str, summary: Mapping[str, Any]) -> None:
        """Write down that a cell is done, and what it came to (plain data)."""
        self._enter(key, DONE, None, json.dumps(summary))

    def fail(self, key: str, reason: str) -> None:
        """Write down that a cell has failed, and why."""
        self._enter(key, FAILED, " ".join(reason.split()), None)

    def rows(self) -> Iterator[Row]:
        """All cells, one by one, each held against its checksum."""
        with _explaining(self.path):
            yield from _rows(self._database, self.path)

    def summaries(self) -> Iterator[Summary]:
        """What the finished cells came to."""
        with _explaining(self.path):
            query = "SELECT key, fingerprint, summary, checksum, identity FROM cells WHERE state = ?"
            for key, fingerprint, text, checksum, identity in self._database.execute(query, (DONE,)):
                if checksum not in (None, _checksum((key, fingerprint, identity, DONE, None, text))):
                    raise InputError(f"cell {shorten(key)} does not agree with its checksum")
                yield _summary(key, fingerprint, text)

    def states(self) -> dict[str, tuple[str, str | None]]:
        """Every cell's state and, of a failed one, the reason."""
        with _explaining(self.path):
            rows = self._database.execute("SELECT key, state, reason FROM cells").fetchall()
        return {key: (state, reason) for key, state, reason in rows}

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _prepare(self) -> None:
        """Make the table, or bring an older version's up to date."""
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            raise InputError(f"it has format {version}, this program reads {FORMAT}")
        self._database.executescript(_TABLES)
        if "checksum" not in _columns(self._database):
            self._database.execute("ALTER TABLE cells ADD COLUMN checksum TEXT")
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def _enter(self, key: str, state: str, reason: str | None, summary: str | None) -> None:
        with _explaining(self.path):
            query = "SELECT fingerprint, identity FROM cells WHERE key = ?"
            fingerprint, identity = self._database.execute(query, (key,)).fetchone()
            checksum = _checksum((key, fingerprint, identity, state, reason, summary))
            self._database.execute(
                "UPDATE cells SET state = ?, reason = ?, summary = ?, checksum = ? WHERE key = ?",
                (state, reason, summary, checksum, key),
            )
