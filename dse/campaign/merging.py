"""Folders of one campaign's shards put together, after seeing that they belong together."""

from __future__ import annotations

import contextlib
import os.path
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.campaign.changes import changes
from dse.campaign.curves import CURVES, Curves, open_curves, write_curves
from dse.campaign.ledger import DONE, LEDGER, Ledger, Row, read_ledger
from dse.campaign.store import locked
from dse.campaign.summary import Summary
from dse.campaign.worker import JOURNALS, RECORDS, journal_path, record_path
from dse.support.errors import InputError
from dse.support.files import make_folder, refuse_links

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


def merge(folders: Sequence[Path], out: Path) -> tuple[int, int]:
    """Put the folders together in `out`, a new one; returns how many cells are done, and how many there are.

    Records and journals are copied, the folders stay as they are. InputError where they are not of one
    campaign, where a cell came out differently in two of them, or where one is in use.
    """
    if os.path.exists(out) and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{str(out)!r} is there, and no empty folder; choose a new one with --out")
    with contextlib.ExitStack() as stack:
        shards = [stack.enter_context(_opened(folder)) for folder in folders]
        _check_alike(shards)
        _check_cells(shards)
        for part in (RECORDS, JOURNALS):
            make_folder(out / part)
        rows = _best_rows(shards)
        done = set().union(*(shard.done for shard in shards))
        for key in sorted({*rows, *done}):
            _copy_samples(shards, out, key, finished=key in done)
        with contextlib.closing(Ledger(out / LEDGER)) as ledger:
            ledger.copy(rows.values())
        _write_curves(shards, rows, out)
        about = shards[0].curves.about
        return len(done), _planned(about)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Shard]:
    if not (folder / CURVES).is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name folders that `dse run --shard` wrote")
    refuse_links(folder)
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


def _check_cells(shards: Sequence[Shard]) -> None:
    """See that a cell that several have is the same cell in all, and came out the same."""
    seen: dict[str, Shard] = {}
    for shard in shards:
        mine = {summary.key: summary for summary in _summaries(shard, seen.keys())}
        for key in shard.fingerprints.keys() & seen.keys():
            other = seen[key]
            where = f"cell {key!r} of {str(other.folder)!r} and of {str(shard.folder)!r}"
            if other.fingerprints[key] != shard.fingerprints[key]:
                raise InputError(f"{where} differ in their settings or versions; run them under the same")
            if key in mine and key in other.done:
                theirs = next(_summaries(other, {key}))
                if _timeless(theirs) != _timeless(mine[key]):
                    raise InputError(
                        f"{where} came out differently; a cell draws the same samples everywhere"
                    )
        seen |= dict.fromkeys(shard.fingerprints, shard)


def _summaries(shard: Shard, keys: Iterable[str]) -> Iterator[Summary]:
    """The finished cells of a shard among some."""
    wanted = set(keys) & shard.done
    for key in [key for key in wanted if key in shard.rows]:
        if (summary := shard.rows[key].summary) is not None:
            wanted.discard(key)
            yield summary
    if wanted:
        yield from shard.curves.without(shard.curves.fingerprints.keys() - wanted).summaries()


def _timeless(summary: Summary) -> Summary:
    return replace(summary, searcher_seconds=0.0, model_seconds=0.0, mean_losses=())


def _best_rows(shards: Sequence[Shard]) -> dict[str, Row]:
    """A row a cell: of those that there are, one that is done, else any."""
    found: dict[str, Row] = {}
    for shard in shards:
        for key, row in shard.rows.items():
            if key not in found or row.state == DONE:
                found[key] = row
    return found


def _copy_samples(shards: Sequence[Shard], out: Path, key: str, *, finished: bool) -> None:
    """Copy a cell's record; where it is not finished, the longest of its journals."""
    place = record_path if finished else journal_path
    there = [path for shard in shards if (path := place(shard.folder, key)).is_file()]
    if there:
        shutil.copyfile(max(there, key=lambda path: path.stat().st_size), place(out, key))


def _write_curves(shards: Sequence[Shard], rows: Mapping[str, Row], out: Path) -> None:
    finished = (row.summary for row in rows.values() if row.state == DONE)
    found = {summary.key: summary for summary in finished if summary is not None}
    for shard in shards:
        alone = shard.curves.without(found.keys() & shard.curves.fingerprints.keys())
        found |= {summary.key: summary for summary in alone.summaries()}
    about = dict(shards[0].curves.about)
    about["optima"] = {label: told for s in shards for label, told in s.curves.about["optima"].items()}
    about["runs"] = [run for shard in shards for run in shard.curves.about["runs"]]
    write_curves(out / CURVES, found.values(), about)


def _planned(about: Mapping[str, Any]) -> int:
    limits = about.get("limits", {})
    seeds = [limits.get(name, {}).get("seeds", about["seeds"]) for name in about["searchers"]]
    return int(len(about["problems"]) * sum(seeds))
