"""A campaign's folder: who may write to it, what is in it, and whether that belongs to the campaign."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from dse.campaign.config import Campaign, NamedCell, Shard
from dse.campaign.curves import CURVES, Curves, open_curves, write_curves
from dse.campaign.extension import Extension
from dse.campaign.ledger import DONE, FAILED, LEDGER, Ledger
from dse.campaign.reference import optimum_figures, template_figures
from dse.campaign.summary import Summary
from dse.campaign.worker import JOURNALS, RECORDS, journal_path, record_path
from dse.core.domains import definition_of
from dse.search.abilities import recorded_settings
from dse.support.errors import InputError
from dse.support.files import refuse_links, sync_folder
from dse.support.hashing import plain_data
from dse.support.telling import Tell, tell_nobody


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a campaign's folder. InputError where another process does, or where it cannot be written."""
    try:
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(
            f"folder {str(folder)!r} cannot be used: {error.strerror}; choose another with --out"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(
            f"folder {str(folder)!r} is in use by another run; wait for it or choose another with --out"
        ) from None
    finally:
        os.close(lock)


class Store:
    """The folder of one campaign, locked while it is open: a context manager.

    It holds `ledger.sqlite`, `cells/` (a Parquet file a finished cell), `journals/` (of unfinished cells)
    and `curves.parquet`. Cells are known by fingerprint: a folder takes no cells that differ from its own in
    more than a larger budget (see `extension`). `notices` say what came of a changed campaign file.
    """

    def __init__(self, folder: Path, campaign: Campaign, shard: Shard | None = None) -> None:
        """Open or make the folder. InputError if it is in use, not writable or of a different campaign.

        With a `shard`, the others' cells are not to be run here, and not entered.
        """
        self.folder = folder
        self.campaign = campaign
        self.cells = {named.key: named for named in campaign.cells()}
        mine = shard.of(self.cells.values()) if shard else self.cells.keys()
        self.share = {key: named for key, named in self.cells.items() if key in mine}
        """The cells that are to be run here, by key."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder)
            for part in (self.records, self.journals):
                part.mkdir(exist_ok=True)
                refuse_links(part)
            for made in (folder, folder.parent):
                sync_folder(made)
        except OSError as error:
            raise InputError(
                f"folder {str(folder)!r} cannot be used: {error.strerror}; choose another with --out"
            ) from None
        self._open = ExitStack()
        self._open.enter_context(locked_folder(folder))
        try:
            self.optima: dict[str, Any] = {}
            self.runs: list[dict[str, Any]] = []
            self.notices: list[str] = []
            self._written: dict[str, Any] = {}
            self.kept: Curves | None = self._kept_curves()
            self.ledger = Ledger(folder / LEDGER)
            self._enter_cells()
        except BaseException:
            self._open.close()
            raise

    @property
    def records(self) -> Path:
        """Where finished cells' samples are."""
        return self.folder / RECORDS

    @property
    def journals(self) -> Path:
        """Where unfinished cells' samples are."""
        return self.folder / JOURNALS

    def record_path(self, key: str) -> Path:
        """The Parquet file of a finished cell."""
        return record_path(self.folder, key)

    def journal_path(self, key: str) -> Path:
        """The journal of an unfinished cell."""
        return journal_path(self.folder, key)

    def unfinished(self) -> list[NamedCell]:
        """The cells still to run: those never begun, interrupted or failed."""
        done = self.done
        return [named for key, named in self.share.items() if key not in done]

    @property
    def done(self) -> set[str]:
        """The keys of the finished cells of the campaign."""
        kept = self.kept.fingerprints if self.kept else {}
        finished = {key for key, (state, _) in self.ledger.states().items() if state == DONE}
        return {key for key in (*finished, *kept) if key in self.cells}

    def failures(self) -> dict[str, str]:
        """Failed cells by key, with the reasons."""
        states = self.ledger.states()
        return {
            key: why or "" for key, (state, why) in states.items() if state == FAILED and key in self.cells
        }

    def finish(self, summary: Summary) -> None:
        """Enter a finished cell."""
        self.ledger.finish(summary.key, summary.to_dict())

    def summaries(self) -> list[Summary]:
        """The finished cells of the campaign, by key."""
        found = {summary.key: summary for summary in self.kept.summaries()} if self.kept else {}
        found |= {summary.key: summary for summary in self._entered()}
        return [found[key] for key in sorted(found) if key in self.cells]

    def _entered(self) -> Iterator[Summary]:
        """The finished cells that the ledger has."""
        return (summary for summary in self.ledger.summaries() if summary.key in self.cells)

    def prove_optima(self, tell: Tell = tell_nobody) -> None:
        """Certify the optimum of every problem that can be, so that reports tell how far searches end."""
        self.optima |= optimum_figures(self.campaign, self.optima, tell)

    def record_run(self, cells: int, workers: int, seconds: float) -> None:
        """Note that a run finished so many cells in so many seconds of wall time, and on what machine."""
        if cells:
            run = {"cells": cells, "workers": workers, "wall_seconds": round(seconds, 1)}
            self.runs.append(run | {"machine": this_machine()})

    def write_curves(self) -> Path:
        """Write `curves.parquet` from all finished cells; returns its path."""
        path = self.folder / CURVES
        self._written = self._about()
        entered = {summary.key: summary for summary in self._entered()}
        kept = self.kept.without(entered.keys()) if self.kept else None
        write_curves(path, entered.values(), self._written, kept)
        return path

    @property
    def outdated(self) -> bool:
        """Whether `curves.parquet` is not there, or says otherwise than the campaign's file what it is."""
        return plain_data(self._about()) != plain_data(self._written)

    def close(self) -> None:
        """Let others have the folder."""
        self.ledger.close()
        self._open.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _about(self) -> dict[str, Any]:
        """What the campaign is, and what was learnt of it, for `curves.parquet`: plain data."""
        campaign = self.campaign
        about: dict[str, Any] = {
            "campaign": campaign.name,
            "budget": campaign.budget,
            "cost_model": campaign.cost_model,
            "seeds": len(campaign.seeds),
            "searchers": [variant.name for variant in campaign.variants],
            "settings": {
                variant.name: {"type": variant.type, **recorded_settings(variant.searcher)}
                for variant in campaign.variants
            },
            "start": campaign.start,
            "starts": {variant.name: variant.start for variant in campaign.variants},
            "begins": campaign.begins,
            "problems": [[p.layer, p.accelerator, p.objective] for p in campaign.problems],
            "networks": campaign.networks,
            "definitions": {named.label: definition_of(named.problem) for named in campaign.problems},
            "templates": self._templates,
            "optima": self.optima,
            "versions": self.versions(),
            "runs": self.runs,
        }
        if campaign.limits:
            about["limits"] = campaign.limits
        names = {named.accelerator: named.problem.accelerator.name for named in campaign.problems}
        if any(names.values()):
            about["machines"] = {given: name for given, name in names.items() if name}
        return about | dict(campaign.showing)

    @cached_property
    def _templates(self) -> dict[str, dict[str, dict[str, Any]]]:
        return template_figures(self.campaign)

    def versions(self) -> dict[str, str]:
        """The versions that any of the cells' records depends on."""
        found: dict[str, str] = {}
        for named in {named.variant.name: named for named in self.cells.values()}.values():
            found |= named.cell.identity["versions"]
        return found

    def _kept_curves(self) -> Curves | None:
        path = self.folder / CURVES
        if not path.exists():
            return None
        kept = open_curves(path)
        self._written = kept.about
        self.optima = dict(kept.about.get("optima", {}))
        self.runs = list(kept.about.get("runs", []))
        return kept.without(self._extension.of_curves(kept))

    @property
    def _extension(self) -> Extension:
        return Extension(self.folder, self.campaign, self.cells)

    def _enter_cells(self) -> None:
        """Enter the campaign's cells in the ledger, after seeing that it holds no others."""
        try:
            known, changed = set(), []
            for row in self.ledger.rows():
                if self._changed(row.key, row.fingerprint):
                    changed.append(row)
                else:
                    known.add(row.key)
            self.notices = self._extension.of_rows(changed)
            self.ledger.remove(row.key for row in changed)
            new = ((key, named.cell) for key, named in self.share.items() if key not in known)
            self.ledger.add((key, cell.fingerprint, cell.identity_text) for key, cell in new)
        except BaseException:
            self.ledger.close()
            raise

    def _changed(self, key: str, fingerprint: str) -> bool:
        return key not in self.cells or self.cells[key].cell.fingerprint != fingerprint


def this_machine() -> dict[str, str | int]:
    """This machine: processor, cores that this process may use, memory in GiB, system and Python."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    """The processor's name as Linux gives it, elsewhere its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
