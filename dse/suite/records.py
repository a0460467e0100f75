"""Records of runs from outside, checked before they count: each sample is priced again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.campaign.worker import RECORDS
from dse.search.record import Record, read_parquet
from dse.search.run import Cell
from dse.search.session import OUTSIDE, Outside
from dse.search.start import start_points
from dse.suite.problem import Entry
from dse.suite.suites import Suite
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, first_difference, shorten
from dse.support.hashing import plain_data


@dataclass(frozen=True)
class Run:
    """One run on a problem: `steps` are the samples (from 0) that beat all before, `losses` theirs."""

    entry: Entry
    searcher: str
    version: str
    start: str
    saw: str
    seed: int
    budget: int
    seconds: float
    steps: IntArray
    losses: FloatArray

    def best_after(self, samples: int) -> float:
        """The lowest loss after so many samples, `inf` where nothing was feasible yet."""
        count = int(np.searchsorted(self.steps, samples))
        return float(self.losses[count - 1]) if count else np.inf


def read_runs(suite: Suite, folder: Path) -> Iterator[Run]:
    """The runs of the suite that `ask_tell(out=folder)` has kept, checked; of other suites there may be too.

    InputError names the record that does not hold, and why.
    """
    paths = sorted(folder.rglob(f"{RECORDS}/*.parquet"))
    if not paths:
        raise InputError(f"folder {str(folder)!r} has no records of runs; ask_tell(out=...) writes them")
    for path in paths:
        record, about = read_parquet(path)
        if isinstance(about.get("suite"), dict) and about["suite"].get("name") == suite.name:
            yield _checked(suite, f"record {str(path)!r}", record, about)


def _checked(suite: Suite, where: str, record: Record, about: dict[str, Any]) -> Run:
    if about["suite"].get("digest") != suite.digest:
        there = str(about["suite"].get("digest"))[:12]
        raise InputError(
            f"{where} is of suite {suite.name!r} with digest {there}, this is {suite.digest[:12]}"
        )
    try:
        entry, identity = suite[str(about["problem"])].entry, about["identity"]
        made = Outside(**identity["settings"])
        start = start_points(entry.problem, made.start)
        cell = Cell(entry.problem, OUTSIDE, made, identity["seed"], identity["budget"], start)
        seconds = float(about["times"][0])
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"{where} does not say what it is of: {shorten(str(error))}") from None
    if plain_data(cell.identity) != identity:
        change = first_difference(identity, plain_data(cell.identity), ("there", "now"))
        raise InputError(f"{where} is of another version: {change}")
    if len(record) != cell.budget:
        raise InputError(f"{where} has {len(record)} samples, and its budget is {cell.budget}")
    _replay(where, entry, record, np.array(start, np.int64))
    losses = record.evaluations().loss
    before = np.minimum.accumulate(np.concatenate([[np.inf], losses[:-1]]))
    steps = np.flatnonzero(losses < before)
    return Run(
        entry,
        made.name,
        made.version,
        made.start,
        made.saw,
        cell.seed,
        cell.budget,
        seconds,
        steps,
        losses[steps],
    )


def _replay(where: str, entry: Entry, record: Record, start: IntArray) -> None:
    """See that its samples are points of the space, begin as said, and cost what is said."""
    genes, problem = record.genes(), entry.problem
    if genes.shape[1] != len(problem.space.sizes):
        raise InputError(f"{where}: its points have {genes.shape[1]} genes, not {len(problem.space.sizes)}")
    inside = problem.space.contains(genes)
    if not inside.all():
        raise InputError(f"{where}: sample {int(np.argmin(inside))} is outside of the space")
    if len(start) and not np.array_equal(genes[: len(start)], start[: len(genes)]):
        raise InputError(f"{where} does not begin at the points that it says")
    now, there = problem.price(genes).loss, record.evaluations().loss
    if not np.array_equal(now, there):
        sample = int(np.argmax(now != there))
        raise InputError(
            f"{where}: sample {sample} costs {now[sample]!r}, and the record says {there[sample]!r}"
        )
