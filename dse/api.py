"""One search from Python: `dse.search(problem, "marl", budget=2_000)`. The command line calls it too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.campaign.summary import count_distinct
from dse.cases import case_line
from dse.cell import Cell, open_journal, run_cell
from dse.errors import StorageError
from dse.evaluator import Observer
from dse.mapping import Mapping as DataflowMapping
from dse.problem import Problem
from dse.record import FIGURES, Record, read_parquet, write_parquet
from dse.searcher import Searcher, make_searcher

if TYPE_CHECKING:
    import pandas as pd

RECORD, JOURNAL, RESULT, MAPPING = "record.parquet", "record.journal", "result.json", "mapping.json"


@dataclass(frozen=True)
class Best:
    """The best point of a search: `index` is the sample that found it, counted from 0."""

    loss: float
    index: int
    genes: tuple[int, ...]
    cycles: int
    energy_nj: float
    macs: int
    l1_size: int
    l2_size: int
    mapping: DataflowMapping


@dataclass(frozen=True)
class Result:
    """What a search found. `path` is the folder that it was written to, if any."""

    cell: Cell
    record: Record = field(repr=False)
    path: Path | None = None

    @cached_property
    def best(self) -> Best | None:
        """The feasible point with the lowest loss (the first of equals), or None."""
        index = self.record.best
        if index is None:
            return None
        genes = self.record.genes(index, index + 1)
        point = self.record.evaluations(index, index + 1)
        return Best(
            loss=float(point.loss[0]),
            index=index,
            genes=tuple(genes[0].tolist()),
            cycles=int(point.cycles[0]),
            energy_nj=float(point.energy_nj[0]),
            macs=int(point.macs[0]),
            l1_size=int(point.l1_size[0]),
            l2_size=int(point.l2_size[0]),
            mapping=self.cell.problem.space.decode(genes)[0],
        )

    @cached_property
    def history(self) -> pd.DataFrame:
        """Every sample in order: a column a gene, the figures, `loss` and `reason` (a Reason code)."""
        import pandas as pd

        genes, evaluations = self.record.genes(), self.record.evaluations()
        columns = {gene.name: genes[:, i] for i, gene in enumerate(self.cell.problem.space.genes)}
        return pd.DataFrame(columns | {name: getattr(evaluations, name) for name in FIGURES})

    def to_dict(self, layer: str, accelerator: str) -> dict[str, Any]:
        """The result as plain data, under the names that the user gave the layer and the accelerator."""
        cell, evaluations = self.cell, self.record.evaluations()
        return {
            "searcher": cell.name,
            "layer": layer,
            "accelerator": accelerator,
            "objective": cell.problem.objective,
            "cost_model": cell.problem.model.name,
            "seed": cell.seed,
            "budget": cell.budget,
            "samples": len(self.record),
            "distinct": count_distinct(cell.problem.space.decode(self.record.genes()).rows),
            "infeasible": int(np.count_nonzero(evaluations.reason)),
            "best": self._best_dict(),
            "record": str(self.path / RECORD) if self.path else None,
        }

    def _best_dict(self) -> dict[str, Any] | None:
        best, problem = self.best, self.cell.problem
        if best is None:
            return None
        return {
            "loss": best.loss,
            "index": best.index,
            "genes": list(best.genes),
            "cycles": best.cycles,
            "energy_nj": best.energy_nj,
            "macs": best.macs,
            "l1_size": best.l1_size,
            "l2_size": best.l2_size,
            "mapping": best.mapping.to_dict(),
            "case": case_line(problem.layer.lowered(), best.mapping, problem.accelerator),
        }


def search(
    problem: Problem,
    searcher: str | Searcher = "random",
    *,
    budget: int,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    observers: Iterable[Observer] = (),
    out: Path | str | None = None,
) -> Result:
    """Search `problem` with `budget` samples; the same as a campaign's cell with the same seed.

    `searcher` is a registered name with `settings`, or a searcher (it counts under its class's name). With
    `out`, a folder, the samples are journalled while the search runs, a search that was interrupted goes on,
    and the record stays there. Raises InputError for wrong input, and what the searcher raises.
    """
    if isinstance(searcher, str):
        name, made = searcher, make_searcher(searcher, settings)
    else:
        name, made = type(searcher).__name__, searcher
    cell = Cell(problem, name, made, seed, budget)
    if out is None:
        return Result(cell, run_cell(cell, observers=observers))
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"folder {str(folder)!r} cannot be made: {error.strerror}") from None
    record = _stored(cell, folder / RECORD)
    if record is None:
        with open_journal(cell, folder / JOURNAL) as journal:
            record = run_cell(cell, journal, observers)
            write_parquet(record, folder / RECORD, {"identity": cell.identity})
            journal.discard()
    return Result(cell, record, folder)


def _stored(cell: Cell, path: Path) -> Record | None:
    """The record of the same search that is there already."""
    if not path.exists():
        return None
    record, about = read_parquet(path)
    if about.get("identity") != cell.identity:
        raise StorageError(f"record {str(path)!r} is of another search; choose another folder with --out")
    return record


def write_result(result: Result, layer: str, accelerator: str) -> None:
    """Write `result.json` and, if there is one, the best `mapping.json` into the result's folder."""
    if result.path is None:
        return
    texts = {RESULT: json.dumps(result.to_dict(layer, accelerator), indent=1, allow_nan=False)}
    if result.best:
        texts[MAPPING] = result.best.mapping.to_json(indent=1)
    try:
        for name, text in texts.items():
            part = result.path / f".{name}.part"
            part.write_text(text + "\n", encoding="utf-8")
            part.replace(result.path / name)
    except OSError as error:
        raise StorageError(f"result in {str(result.path)!r} cannot be written: {error.strerror}") from None
