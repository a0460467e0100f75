"""Folders of one campaign's shards put together, after seeing that they belong together."""

from __future__ import annotations

import contextlib
import os.path
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.campaign.config import changes
from dse.campaign.copies import Expected, Findings, merge_journals, sound_record
from dse.campaign.curves import CURVES, Curves, open_curves, write_curves
from dse.campaign.ledger import DONE, LEDGER, Ledger, Row, read_ledger
from dse.campaign.store import locked
from dse.campaign.summary import Summary
from dse.campaign.worker import JOURNALS, RECORDS, journal_path, record_path
from dse.support.errors import InputError, StorageError
from dse.support.files import make_folder, refuse_links, sync_folder

ALIKE = (
    "campaign", "budget", "cost_model", "seeds", "searchers", "settings", "problems", "definitions",
    "versions", "limits",
)  # fmt: skip
"""What the folders of one campaign's shards say alike."""


@dataclass(frozen=True)
class Shard:
    """A folder to be merged: what its curves and its ledger have."""

    folder: Path
    curves: Curves
    rows: Mapping[str, Row]

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of its cells, by key."""
        return self.curves.fingerprints | {key: row.fingerprint for key, row in self.rows.items()}

    @property
    def done(self) -> set[str]:
        """The keys of its finished cells."""
        entered = {key for key, row in self.rows.items() if row.state == DONE}
        return entered | self.curves.fingerprints.keys()


@dataclass(frozen=True)
class Merged:
    """What came of a merge: how many cells are done of how many, and what was `found` to be wrong.

    With conflicts nothing was written.
    """

    done: int
    planned: int
    found: Findings


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Put the folders together in `out`, a new one, whole or not at all.

    Records and journals are read and copied, the folders stay as they are. Of several copies of a cell's
    samples a sound one is taken. InputError where the folders are not of one campaign, where a ledger or
    curves are damaged, or where a folder is in use.
    """
    if os.path.exists(out) and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{str(out)!r} is there, and no empty folder; choose a new one with --out")
    found, cells = Findings(), {}
    with contextlib.ExitStack() as stack:
        shards = [stack.enter_context(_opened(folder)) for folder in folders]
        _check_alike(shards)
        cells = _cells(shards, found)
        done = set().union(*(shard.done for shard in shards))
        with contextlib.suppress(_Conflict), _new_folder(out) as made:
            for key in sorted(cells):
                _merge_samples(shards, cells[key], made, found, finished=key in done)
            if found.conflicts:
                raise _Conflict
            with contextlib.closing(Ledger(made / LEDGER)) as ledger:
                ledger.copy(_best_rows(shards).values())
            _write_curves(shards, cells.values(), made)
        return Merged(len(done), _planned(shards[0].curves.about), found)


class _Conflict(Exception):
    """Sound copies differ: nothing is to be written."""


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder inside `out` whose content is moved there when the block ends; if it fails, all of it goes."""
    made, new = out / ".merging", not out.exists()
    try:
        make_folder(made, RECORDS, JOURNALS)
        yield made
        # The curves last: with them it is a campaign's folder.
        for name in (JOURNALS, RECORDS, LEDGER, CURVES):
            (made / name).replace(out / name)
    except OSError as error:
        raise StorageError(f"folder {str(out)!r} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if new and not (out / CURVES).exists():
            shutil.rmtree(out, ignore_errors=True)
    sync_folder(out)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Shard]:
    if not (folder / CURVES).is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name folders that `dse run --shard` wrote")
    for part in (folder, folder / RECORDS, folder / JOURNALS):
        refuse_links(part)
    with locked(folder):
        rows = read_ledger(folder / LEDGER) if (folder / LEDGER).is_file() else ()
        yield Shard(folder, open_curves(folder / CURVES), {row.key: row for row in rows})


def _check_alike(shards: Sequence[Shard]) -> None:
    first = shards[0]
    for other in shards[1:]:
        before, now = ({name: shard.curves.about.get(name) for name in ALIKE} for shard in (first, other))
        if change := changes(before, now, "searchers"):
            raise InputError(
                f"folders {str(first.folder)!r} and {str(other.folder)!r} are not of one campaign: {change}"
            )


def _cells(shards: Sequence[Shard], found: Findings) -> dict[str, Expected]:
    """All cells by key, with what the folders tell of them, after seeing that these tell the same."""
    cells: dict[str, Expected] = {}
    for shard in shards:
        for told in _told(shard):
            known = cells.get(told.key)
            if known is None:
                cells[told.key] = told
                continue
            where = f"cell {told.key!r} of {known.told_by} and of {told.told_by}"
            if told.fingerprint != known.fingerprint:
                raise InputError(f"{where} differ in their settings or versions; run them under the same")
            if known.summary is None or told.summary is None:
                done = told if known.summary is None else known
                cells[told.key] = replace(done, identity=known.identity or told.identity)
            elif _timeless(known.summary) != _timeless(told.summary):
                found.conflicts.append(
                    f"{where} came out differently; a cell draws the same samples everywhere"
                )
    return cells


def _told(shard: Shard) -> Iterator[Expected]:
    """What a folder's ledger tells of its cells, and then its curves."""
    ledger, curves = (repr(str(shard.folder / name)) for name in (LEDGER, CURVES))
    for key, row in shard.rows.items():
        yield Expected(key, row.fingerprint, row.identity, row.summary, ledger)
    for summary in shard.curves.summaries():
        yield Expected(summary.key, summary.fingerprint, None, summary, curves)


def _timeless(summary: Summary) -> Summary:
    return replace(summary, searcher_seconds=0.0, model_seconds=0.0)


def _best_rows(shards: Sequence[Shard]) -> dict[str, Row]:
    """A row a cell: of those that there are, one that is done, else any."""
    found: dict[str, Row] = {}
    for shard in shards:
        for key, row in shard.rows.items():
            if key not in found or row.state == DONE:
                found[key] = row
    return found


def _merge_samples(
    shards: Sequence[Shard], cell: Expected, made: Path, found: Findings, *, finished: bool
) -> None:
    """Copy a cell's record; where there is none and it is not finished, the longest of its journals."""
    folders, to = [shard.folder for shard in shards], record_path(made, cell.key)
    records = [path for folder in folders if (path := record_path(folder, cell.key)).is_file()]
    record = sound_record(records, cell, found)
    if record is not None:
        shutil.copyfile(record, to)
    elif not finished:
        journals = [path for folder in folders if (path := journal_path(folder, cell.key)).is_file()]
        merge_journals(journals, cell, journal_path(made, cell.key), found)


def _write_curves(shards: Sequence[Shard], cells: Iterable[Expected], made: Path) -> None:
    about = dict(shards[0].curves.about)
    about["optima"] = {
        label: told for s in shards for label, told in s.curves.about.get("optima", {}).items()
    }
    about["runs"] = [run for shard in shards for run in shard.curves.about.get("runs", [])]
    write_curves(made / CURVES, (cell.summary for cell in cells if cell.summary is not None), about)


def _planned(about: Mapping[str, Any]) -> int:
    limits = about.get("limits", {})
    seeds = [limits.get(name, {}).get("seeds", about["seeds"]) for name in about["searchers"]]
    return int(len(about["problems"]) * sum(seeds))
