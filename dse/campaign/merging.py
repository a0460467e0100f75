"""Folders of one campaign's shards put together, after seeing that they belong together."""

from __future__ import annotations

import contextlib
import os.path
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.campaign.config import changes_of_identity, only_grown
from dse.campaign.curves import CURVES, Curves, open_curves, write_curves
from dse.campaign.ledger import DONE, LEDGER, Ledger, Row, read_ledger
from dse.campaign.store import locked_folder
from dse.campaign.stored import check_record
from dse.campaign.summary import Summary, progress_of_record
from dse.campaign.worker import JOURNALS, RECORDS, journal_path, record_path
from dse.core.domains import problem_from_identity
from dse.core.objective import names_several
from dse.core.reasons import Reason
from dse.search.journal import Journal
from dse.search.record import COLUMNS, Record, read_parquet
from dse.support.errors import InputError, StorageError
from dse.support.files import make_folder, refuse_links, sync_folder
from dse.support.hashing import digest

ALIKE = (
    "campaign", "budget", "cost_model", "seeds", "searchers", "settings", "problems", "definitions",
    "versions", "limits",
)  # fmt: skip
"""What the folders of one campaign's shards say alike."""
SAME = "a cell draws the same samples everywhere"


@dataclass
class Findings:
    """What is wrong in folders that are to be merged.

    `damaged` files are left out; `lost` are those of them that nothing stands in for, and `conflicts` are
    copies of which each is sound and no other than one can be right.
    """

    damaged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Shard:
    """A folder to be merged: what its curves and its ledger have."""

    folder: Path
    curves: Curves
    rows: Mapping[str, Row]

    @property
    def done(self) -> set[str]:
        entered = {key for key, row in self.rows.items() if row.state == DONE}
        return entered | self.curves.fingerprints.keys()


@dataclass(frozen=True)
class _Expected:
    """What is known of a cell beside its samples: its fingerprint and, by what is there, more."""

    key: str
    fingerprint: str
    identity: Mapping[str, Any] | None
    summary: Summary | None
    told_by: str


@dataclass(frozen=True)
class Merged:
    """What came of a merge: how many cells are done of how many, and what was `found` to be wrong.

    With conflicts nothing was written.
    """

    done: int
    planned: int
    found: Findings


def merge_folders(folders: Sequence[Path], out: Path) -> Merged:
    """Put the folders together in `out`, a new one, whole or not at all.

    Records and journals are read and copied, the folders stay as they are. Of several copies of a cell's
    samples a sound one is taken. InputError where the folders are not of one campaign, where a ledger or
    curves are damaged, or where a folder is in use.
    """
    if os.path.exists(out) and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{str(out)!r} is there, and no empty folder; choose a new one with --out")
    found = Findings()
    with contextlib.ExitStack() as stack:
        shards = [stack.enter_context(_opened(folder)) for folder in folders]
        _check_alike(shards)
        cells = _cells(shards, found)
        done = set().union(*(shard.done for shard in shards))
        with contextlib.suppress(_Conflict), _new_folder(out) as made:
            for key in sorted(cells):
                _merge_samples(folders, cells[key], made, found, finished=key in done)
            if found.conflicts:
                raise _Conflict
            # A row a cell: of those that there are, one that is done, else any.
            rows = sorted(
                (row for one in shards for row in one.rows.values()), key=lambda row: row.state == DONE
            )
            with contextlib.closing(Ledger(made / LEDGER)) as ledger:
                ledger.copy({row.key: row for row in rows}.values())
            summaries = (cell.summary for cell in cells.values() if cell.summary is not None)
            write_curves(made / CURVES, summaries, _about([shard.curves.about for shard in shards]))
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
def _opened(folder: Path) -> Iterator[_Shard]:
    if not (folder / CURVES).is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name folders that `dse run --shard` wrote")
    for part in (folder, folder / RECORDS, folder / JOURNALS):
        refuse_links(part)
    with locked_folder(folder):
        rows = read_ledger(folder / LEDGER) if (folder / LEDGER).is_file() else ()
        yield _Shard(folder, open_curves(folder / CURVES), {row.key: row for row in rows})


def _check_alike(shards: Sequence[_Shard]) -> None:
    first = shards[0]
    for other in shards[1:]:
        before, now = ({name: shard.curves.about.get(name) for name in ALIKE} for shard in (first, other))
        if change := changes_of_identity(before, now, "searchers"):
            raise InputError(
                f"folders {str(first.folder)!r} and {str(other.folder)!r} are not of one campaign: {change}"
            )


def _cells(shards: Sequence[_Shard], found: Findings) -> dict[str, _Expected]:
    """All cells by key, with what the folders tell of them, after seeing that these tell the same."""
    cells: dict[str, _Expected] = {}
    for told in (told for shard in shards for told in _told(shard)):
        known = cells.setdefault(told.key, told)
        where = f"cell {told.key!r} of {known.told_by} and of {told.told_by}"
        if told.fingerprint != known.fingerprint:
            raise InputError(f"{where} differ in their settings or versions; run them under the same")
        if known.summary is None or told.summary is None:
            done = told if known.summary is None else known
            cells[told.key] = replace(done, identity=known.identity or told.identity)
        elif _timeless(known.summary) != _timeless(told.summary):
            found.conflicts.append(f"{where} came out differently; {SAME}")
    return cells


def _told(shard: _Shard) -> Iterator[_Expected]:
    """What a folder's ledger tells of its cells, and then its curves."""
    ledger, curves = (repr(str(shard.folder / name)) for name in (LEDGER, CURVES))
    for key, row in shard.rows.items():
        yield _Expected(key, row.fingerprint, row.identity, row.summary, ledger)
    for summary in shard.curves.summaries():
        yield _Expected(summary.key, summary.fingerprint, None, summary, curves)


def _timeless(summary: Summary) -> Summary:
    return replace(summary, searcher_seconds=0.0, model_seconds=0.0, mean_losses=())


def _about(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all folders say of the campaign."""
    optima = {label: proven for about in told for label, proven in about.get("optima", {}).items()}
    return {**told[0], "optima": optima, "runs": [run for about in told for run in about.get("runs", [])]}


def _planned(about: Mapping[str, Any]) -> int:
    limits = about.get("limits", {})
    seeds = [limits.get(name, {}).get("seeds", about["seeds"]) for name in about["searchers"]]
    return int(len(about["problems"]) * sum(seeds))


def _merge_samples(
    folders: Sequence[Path], cell: _Expected, made: Path, found: Findings, *, finished: bool
) -> None:
    """Copy a cell's record; where there is none and it is not finished, the longest of its journals."""
    records = [record_path(folder, cell.key) for folder in folders]
    best = _best_copy("record", records, lambda path: _record(path, cell), found)
    if best is not None:
        path, record = best
        shutil.copyfile(path, record_path(made, cell.key))
        if cell.summary is not None and (other := _unlike(record, cell.summary)):
            found.conflicts.append(f"record {str(path)!r} and {cell.told_by} differ in their {other}")
    elif not finished:
        journals = [journal_path(folder, cell.key) for folder in folders]
        to = journal_path(made, cell.key)
        best = _best_copy("journal", journals, lambda path: _journal(path, cell, to), found)
        to.unlink(missing_ok=True)
        if best is not None:
            shutil.copyfile(best[0], to)


def _best_copy(
    kind: str, paths: Sequence[Path], read: Callable[[Path], Record], found: Findings
) -> tuple[Path, Record] | None:
    """The longest sound copy, if there is one, after seeing that all sound ones begin alike."""
    sound: list[tuple[Path, Record]] = []
    damaged = []
    for path in filter(Path.is_file, paths):
        try:
            record = read(path)
        except InputError as error:
            damaged.append(str(error))
            continue
        if sound and (place := _first_difference(record, sound[0][1])) is not None:
            both = f"{kind}s {str(sound[0][0])!r} and {str(path)!r}"
            found.conflicts.append(f"{both} are sound and differ from sample {place} on; {SAME}")
        sound.append((path, record))
    best = max(sound, key=lambda one: len(one[1]), default=None)
    if best is None:
        found.lost += (f"{said}; nothing stands in for its samples, which are left out" for said in damaged)
    else:
        found.damaged += (f"{said}; {str(best[0])!r} is taken instead" for said in damaged)
    return best


def _record(path: Path, cell: _Expected) -> Record:
    """The record at `path`. InputError where it is damaged, incomplete or another cell's."""
    where = f"record {str(path)!r}"
    record, about = read_parquet(path)
    identity = check_record(about, f"{where}: what it says of its cell")["identity"]
    grown = cell.identity is not None and cell.summary is None and only_grown(identity, cell.identity)
    if digest(identity) != cell.fingerprint and not grown:
        raise InputError(f"{where} is of another cell than {cell.key!r}")
    if len(record) != identity["budget"]:
        raise InputError(f"{where} has {len(record):,} of {identity['budget']:,} samples")
    losses, reasons = record.evaluations().loss, record.evaluations().reason
    known = np.isin(reasons, [reason.value for reason in Reason])
    # Of several objectives there is no loss.
    wrong = (
        np.isnan(losses) != (reasons == 0) if names_several(identity["problem"]["objective"]) else losses < 0
    )
    if not known.all() or not np.array_equal(np.isinf(losses), reasons != 0) or wrong.any():
        raise InputError(f"{where} has losses or reasons that no sample has")
    return record


def _journal(path: Path, cell: _Expected, part: Path) -> Record:
    """The samples in the journal at `path`. InputError where it is damaged.

    It is read as a copy, at `part`, since a journal that is opened loses its torn tail.
    """
    if cell.identity is None:
        raise InputError(f"journal {str(path)!r} is of a cell that the folder's ledger does not know")
    sizes = [gene.size for gene in problem_from_identity(cell.identity["problem"]).space.genes]
    shutil.copyfile(path, part)
    try:
        with Journal(part, cell.identity, sizes, most=cell.identity["budget"]) as journal:
            return journal.recovered
    except InputError as error:
        raise InputError(str(error).replace(repr(str(part)), repr(str(path)))) from None


def _unlike(record: Record, summary: Summary) -> str:
    """What of a cell's figures its record and its summary do not have alike; empty where they agree."""
    told, entered = progress_of_record(record), summary.to_dict()
    # Sums of losses are not the same to the last bit on every CPU.
    return ", ".join(name for name in told if name != "mean_losses" and told[name] != entered[name])


def _first_difference(one: Record, other: Record) -> int | None:
    """The first sample in which two records of a cell differ, as far as the shorter one goes."""
    common = min(len(one), len(other))
    ours, theirs = one.genes(0, common), other.genes(0, common)
    if ours.shape != theirs.shape:
        return 0
    differ = (ours != theirs).any(axis=1)
    mine, yours = (record.evaluations(0, common).columns() for record in (one, other))
    for name in COLUMNS:
        differ |= mine[name] != yours[name]
    return int(np.argmax(differ)) if differ.any() else None
