"""A campaign's file has changed since its folder was begun: which cells go on, which begin anew, which stay.

A cell whose budget alone has grown keeps its samples and goes on; where its searcher plans for its budget, it
begins anew and the old record is set aside. A cell of which there is not a sample gives way. Whatever else
differs is refused by its name, and so is a cell that the campaign no longer has.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.campaign.config import Campaign, NamedCell, changes_of_identity, only_grown
from dse.campaign.curves import CURVES, Curves
from dse.campaign.ledger import DONE, Row
from dse.campaign.worker import journal_path, record_path
from dse.search.abilities import abilities_of
from dse.search.journal import hand_over
from dse.search.run import Cell
from dse.support.errors import InputError
from dse.support.hashing import plain_data

REPLACED = "replaced"
"""Where records are set aside that a campaign has begun anew."""


@dataclass(frozen=True)
class Extension:
    """What a campaign's folder had when it was opened: the folder, the campaign and its cells by key."""

    folder: Path
    campaign: Campaign
    cells: Mapping[str, NamedCell]

    def of_curves(self, kept: Curves) -> set[str]:
        """The cells of the curves that are done with a smaller budget only. InputError for other changes."""
        grown, budgets = set(), kept.budgets
        for key, fingerprint in kept.fingerprints.items():
            named = self.cells.get(key)
            if named is None:
                raise self._foreign(key)
            if named.cell.fingerprint == fingerprint:
                continue
            before = replace(named.cell, budget=budgets[key])
            if before.fingerprint != fingerprint or before.budget > named.cell.budget:
                change = changes_of_identity(
                    _told(kept.about, named, budgets[key]), _known(named), named.variant.name
                )
                raise self._refusal(named, change or "versions or settings", f" in {CURVES}")
            grown.add(key)
        return grown

    def of_rows(self, rows: Sequence[Row]) -> list[str]:
        """See to what the cells of changed `rows` have of samples; returns what is to be said of it."""
        told: Counter[tuple[str, bool]] = Counter()
        for row in rows:
            if not self._begun(row):
                continue
            if row.key not in self.cells:
                raise self._foreign(row.key)
            named = self.cells[row.key]
            now = plain_data(named.cell.identity)
            change = changes_of_identity(row.identity, now, named.variant.name)
            if not only_grown(row.identity, now):
                raise self._refusal(named, change, self._anew(row))
            told[change, abilities_of(named.cell.searcher).plans_for_budget] += 1
        for row in rows:
            if self._begun(row):
                self._grow(row, self.cells[row.key].cell)
        return [_sentence(change, anew, count) for (change, anew), count in told.items()]

    def _begun(self, row: Row) -> bool:
        paths = record_path(self.folder, row.key), journal_path(self.folder, row.key)
        return row.state == DONE or any(path.exists() for path in paths)

    def _grow(self, row: Row, cell: Cell) -> None:
        record, journal = record_path(self.folder, row.key), journal_path(self.folder, row.key)
        if abilities_of(cell.searcher).plans_for_budget:
            for path in (record, journal):
                if path.exists():
                    aside = self.folder / REPLACED / f"{path.stem}--{row.fingerprint[:8]}{path.suffix}"
                    aside.parent.mkdir(exist_ok=True)
                    path.replace(aside)
        elif journal.exists():
            # One that is damaged stays as it is: its cell fails by its name, and the others run.
            with contextlib.suppress(InputError):
                sizes = [gene.size for gene in cell.problem.space.genes]
                hand_over(journal, row.identity, cell.identity, sizes)

    def _anew(self, row: Row) -> str:
        path = journal_path(self.folder, row.key)
        return (
            f", or remove its samples in {str(path)!r} to begin it anew"
            if row.state != DONE and path.exists()
            else ""
        )

    def _refusal(self, named: NamedCell, change: str, rest: str) -> InputError:
        place, anew = ("", rest) if rest.startswith(",") else (rest, "")
        return InputError(
            f"folder {str(self.folder)!r} holds another {named.label}{place}: {change}; "
            f"run what made it, or choose another folder with --out{anew}"
        )

    def _foreign(self, key: str) -> InputError:
        return InputError(
            f"folder {str(self.folder)!r} holds a cell {key!r} that campaign {self.campaign.name!r} does not "
            "have; run what made it, or choose another folder with --out"
        )


def _sentence(change: str, anew: bool, count: int) -> str:
    if anew:
        whose = f"of searchers that plan for their budget, their records are in {REPLACED}/"
        return f"{change}; cells that begin anew: {count:,}, {whose}"
    return f"{change}; cells that go on from their samples: {count:,}"


def _known(named: NamedCell) -> dict[str, Any]:
    """What curves tell of a cell, of the campaign as it is now."""
    cell = named.cell
    return {
        "budget": cell.budget,
        "searcher": cell.name,
        "settings": plain_data(cell.recorded_settings),
        "problem": {"cost_model": cell.problem.model_spec},
        "versions": cell.common["versions"],
    }


def _told(about: Mapping[str, Any], named: NamedCell, budget: int) -> dict[str, Any]:
    """The same of the campaign as it was."""
    settings = dict(about.get("settings", {}).get(named.variant.name, {}))
    versions = about.get("versions", {})
    return {
        "budget": budget,
        "searcher": settings.pop("type", named.variant.type),
        "settings": settings,
        "problem": {"cost_model": about.get("cost_model")},
        "versions": {name: versions.get(name) for name in named.cell.common["versions"]},
    }
