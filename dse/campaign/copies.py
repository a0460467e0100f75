"""The copies that several folders have of a cell's samples: which are sound, and whether they agree."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dse.campaign.config import only_grown
from dse.campaign.stored import check_record
from dse.campaign.summary import Summary, progress
from dse.core.domains import problem_from_identity
from dse.core.objective import several
from dse.core.reasons import Reason
from dse.search.journal import Journal
from dse.search.record import COLUMNS, Record, read_parquet
from dse.support.errors import InputError, StorageError
from dse.support.hashing import digest

ALIKE = "a cell draws the same samples everywhere"


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
class Expected:
    """What is known of a cell beside its samples: its fingerprint and, by what is there, more."""

    key: str
    fingerprint: str
    identity: Mapping[str, Any] | None
    summary: Summary | None
    told_by: str


def sound_record(paths: Sequence[Path], cell: Expected, found: Findings) -> Path | None:
    """The first sound record among `paths`, if there is one, after seeing that all sound ones are alike."""
    sound: tuple[Path, Record] | None = None
    damaged = []
    for path in paths:
        try:
            record = _read(path, cell)
        except InputError as error:
            damaged.append(str(error))
            continue
        if sound is None:
            sound = path, record
            if cell.summary is not None and (other := _unlike(record, cell.summary)):
                found.conflicts.append(f"record {str(path)!r} and {cell.told_by} differ in their {other}")
        elif (place := _first_difference(record, sound[1])) is not None:
            found.conflicts.append(
                f"records {str(sound[0])!r} and {str(path)!r} are sound and differ from sample {place} on; "
                f"{ALIKE}"
            )
    _tell(found, damaged, sound and sound[0])
    return None if sound is None else sound[0]


def merge_journals(paths: Sequence[Path], cell: Expected, to: Path, found: Findings) -> None:
    """Write the longest sound journal among `paths` to `to`, after seeing that the others begin alike."""
    held: tuple[Path, Record] | None = None
    damaged = []
    for path in paths:
        # A copy, since a journal that is opened loses its torn tail. The folders stay as they are.
        part = to.with_name(f"{to.name}.part")
        try:
            record = _recovered(path, cell, part)
        except StorageError:
            raise
        except InputError as error:
            damaged.append(str(error).replace(repr(str(part)), repr(str(path))))
            part.unlink(missing_ok=True)
            continue
        if held is not None and (place := _first_difference(record, held[1])) is not None:
            found.conflicts.append(
                f"journals {str(held[0])!r} and {str(path)!r} are sound and differ from sample {place} on; "
                f"{ALIKE}"
            )
        if held is None or len(record) > len(held[1]):
            part.replace(to)
            held = path, record
        part.unlink(missing_ok=True)
    _tell(found, damaged, held and held[0])


def _tell(found: Findings, damaged: Iterable[str], instead: Path | None) -> None:
    for said in damaged:
        if instead is None:
            found.lost.append(f"{said}; nothing stands in for its samples, which are left out")
        else:
            found.damaged.append(f"{said}; {str(instead)!r} is taken instead")


def _read(path: Path, cell: Expected) -> Record:
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
    wrong = np.isnan(losses) != (reasons == 0) if several(identity["problem"]["objective"]) else losses < 0
    if not known.all() or not np.array_equal(np.isinf(losses), reasons != 0) or wrong.any():
        raise InputError(f"{where} has losses or reasons that no sample has")
    return record


def _recovered(path: Path, cell: Expected, part: Path) -> Record:
    """The samples in the journal at `path`, which is copied to `part`. InputError where it is damaged."""
    if cell.identity is None:
        raise InputError(f"journal {str(path)!r} is of a cell that the folder's ledger does not know")
    sizes = [gene.size for gene in problem_from_identity(cell.identity["problem"]).space.genes]
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    try:
        shutil.copyfile(path, part)
    except OSError as error:
        raise StorageError(f"journal {str(path)!r} cannot be copied: {error.strerror or error}") from None
    with Journal(part, cell.identity, sizes, most=cell.identity["budget"]) as journal:
        return journal.recovered


def _unlike(record: Record, summary: Summary) -> str:
    """What of a cell's figures its record and its summary do not have alike; empty where they agree."""
    told = progress(record)
    return ", ".join(name for name in told if told[name] != _plain(summary, name))


def _plain(summary: Summary, name: str) -> Any:
    value = getattr(summary, name)
    return {step: list(column) for step, column in value.items()} if name == "steps" else value


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
