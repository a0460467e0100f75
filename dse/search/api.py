"""One search from Python: `dse.search(problem, "marl", budget=2_000)`. The command line calls it too."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.layer import in_all
from dse.core.names import without_folders
from dse.core.objective import names_several, parse_objectives
from dse.core.problem import AnyProblem, is_problem
from dse.core.reasons import Reason
from dse.search.abilities import abilities_of
from dse.search.callbacks import Callback
from dse.search.counters import write_counters
from dse.search.evaluator import Observer, Progress, SearchEnded
from dse.search.fronts import front_entries, front_of
from dse.search.keeping import Held, Kept
from dse.search.record import RECORD, Record, count_distinct, read_parquet, write_parquet
from dse.search.run import Cell, open_journal, run_cell
from dse.search.searcher import (
    GROUP,
    Searcher,
    default_searcher,
    is_searcher_class,
    make_searcher,
    require_libraries,
)
from dse.search.start import RANDOM, Start, random_settings, start_points
from dse.support.errors import InputError, StorageError, first_difference, shorten
from dse.support.files import make_folder, write_json
from dse.support.plugins import installed_entries
from dse.support.quantities import counted_noun

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dse.core.problem import Hardware

JOURNAL, RESULT, MAPPING = "record.journal", "result.json", "mapping.json"
FIGURES = ("cycles", "energy_nj", "macs", "l1_size", "l2_size")
"""Those of the best point, in a Result."""


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
    mapping: Any
    accelerator: Hardware
    """That the mapping is for: the problem's, but for the figures that its genes say."""


@dataclass(frozen=True)
class Result:
    """What a search found. `path` is the Parquet file that holds the record, if it was written."""

    cell: Cell
    record: Record = field(repr=False)
    path: Path | None = None

    @cached_property
    def best(self) -> Best | None:
        """The feasible point with the lowest loss (the first of equals); None of several objectives."""
        index = self.record.best
        if index is None:
            return None
        genes = self.record.genes(index, index + 1)
        point = self.record.evaluations(index, index + 1)
        return Best(
            loss=float(point.loss[0]),
            index=index,
            genes=tuple(genes[0].tolist()),
            **{name: getattr(point, name)[0].item() for name in FIGURES},
            mapping=self.cell.problem.space.decode(genes)[0],
            accelerator=self.cell.problem.on_machine_of(genes[0]).accelerator,
        )

    def pareto(self) -> pd.DataFrame:
        """The feasible samples that no other is better than: rows of `history` by their number.

        `index` is that number. There is a column more for each objective by its name, in its unit; the rows
        ascend by the first. Of equals the first sample stands for all.
        """
        rows, values = front_of(self.cell.problem, self.record)
        names = [one.name for one in parse_objectives(self.cell.problem.objective)]
        return self.history.iloc[rows].assign(**dict(zip(names, values.T, strict=True)))

    @property
    def best_problem(self) -> AnyProblem:
        """The problem on the accelerator that the best point is for, which genes of it may say."""
        problem = self.cell.problem
        return problem.on_machine_of(self.best.genes) if self.best else problem

    @property
    def _opens_hardware(self) -> bool:
        return bool(self.best and self.cell.problem.hardware_of(self.best.genes))

    @cached_property
    def history(self) -> pd.DataFrame:
        """Every sample in order: a column a gene, the figures, `loss`, and `reason` in words.

        A gene's column has what it stands for: a tile size, a dim, an order such as KCYX, a cluster size.
        """
        import pandas as pd

        space = self.cell.problem.space
        named = space.decode(self.record.genes()).named()
        columns = {gene.name: named[gene.name] for gene in space.genes}
        return pd.concat([pd.DataFrame(columns), self.record.evaluations().to_frame()], axis=1)

    def plot(self) -> Figure:
        """The best loss so far against samples, as a matplotlib figure."""
        from dse.search.result_view import best_so_far

        return best_so_far(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the search, its best figures and the loop nest."""
        from dse.search.result_view import as_html

        return as_html(self)

    @cached_property
    def distinct(self) -> int:
        """How many different mappings were drawn."""
        return count_distinct(self.cell.problem.space.decode(self.record.genes()).designs)

    @property
    def counted(self) -> str:
        """How many samples and distinct mappings there are, in words."""
        samples = counted_noun(len(self.record), "sample")
        return f"{samples}, {counted_noun(self.distinct, 'distinct mapping')}"

    @cached_property
    def refusals(self) -> dict[Reason, int]:
        """How many samples were infeasible for which reason, the most frequent first."""
        reasons = self.record.evaluations().reason
        codes, counts = np.unique(reasons[reasons != 0], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {Reason(int(codes[i])): int(counts[i]) for i in order}

    @cached_property
    def refusals_in_words(self) -> dict[tuple[Reason, str], int]:
        """How many samples a judge refused for which reason in its own words, the most frequent first.

        Words that differ in their numbers alone count as one, and stand as they were first said. What is
        not known is left out: of samples that another process asked for, where no cache file keeps answers.
        """
        reasons, problem = self.record.evaluations().reason, self.cell.problem
        rows = np.flatnonzero(reasons)
        if not hasattr(problem, "refusals") or not len(rows):
            return {}
        first: dict[tuple[int, str], str] = {}
        counts: Counter[tuple[int, str]] = Counter()
        for code, text in zip(
            reasons[rows].tolist(), problem.refusals(self.record.genes()[rows]), strict=True
        ):
            if text:
                key = code, re.sub(r"\d+", "0", text)
                first.setdefault(key, text)
                counts[key] += 1
        return {(Reason(key[0]), first[key]): count for key, count in counts.most_common()}

    def to_dict(self, layer: str, accelerator: str) -> dict[str, Any]:
        """The result as plain data, under the names that the user gave the layer and the accelerator."""
        cell, best = self.cell, self.best
        return {
            "searcher": cell.name,
            "layer": layer,
            "accelerator": accelerator,
            "objective": cell.problem.objective,
            "cost_model": cell.problem.model_spec,
            "seed": cell.seed,
            "budget": cell.budget,
            "samples": len(self.record),
            "distinct": self.distinct,
            "infeasible": sum(self.refusals.values()),
            "best": self._best_dict(),
            **(in_all(cell.problem.layer, best.cycles, best.energy_nj) if best else {}),
            **(
                {"front": front_entries(cell.problem, self.record)}
                if names_several(cell.problem.objective)
                else {}
            ),
            "record": None if self.path is None else str(self.path),
        }

    def _best_dict(self) -> dict[str, Any] | None:
        best = self.best
        if best is None:
            return None
        return {
            "loss": best.loss,
            "index": best.index,
            "genes": list(best.genes),
            **{name: getattr(best, name) for name in FIGURES},
            "mapping": best.mapping.to_dict(),
            **({"accelerator": best.accelerator.to_dict()} if self._opens_hardware else {}),
            "case": self.best_problem.case(best.mapping),
        }


def search(
    problem: AnyProblem,
    searcher: str | Searcher | None = None,
    *,
    budget: int,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    start: Start | None = None,
    observers: Iterable[Observer] = (),
    on_progress: Callable[[Progress], bool | None] | None = None,
    callbacks: Iterable[Callback] = (),
    out: Path | str | None = None,
    save_policy: Path | str | None = None,
) -> Result:
    """Search `problem` with `budget` samples; the same as a campaign's cell with the same seed.

    `searcher` is a registered name or `FILE.py:CLASS` with `settings`, or a searcher; by default another.
    One whose class is not registered counts under its class's name. The first samples are those of `start`,
    if it is given: the dataflow "templates", a JSON file of mappings, or mappings; with "random", a searcher
    given by name begins at random points, whatever its own start is. With `out`, a folder, the
    samples are journalled while the search runs, a search that was interrupted goes on, and the record stays
    there. `save_policy` is a folder for what the searcher has learned, if it is one that has a policy.
    `on_progress` is called with a Progress after every batch; where it returns False the search ends
    there, and the result has what was found. With `out` the same call goes on from such an end. `callbacks`
    follow it (see Callback). Raises InputError for wrong input, and what the searcher raises.
    """
    searcher = searcher or default_searcher()
    if start == RANDOM and isinstance(searcher, str):
        settings = random_settings(searcher, settings)
    cell = named_cell(problem, searcher, settings, seed, budget)
    if start is not None:
        cell = replace(cell, start=start_points(problem, start))
    if on_progress is not None:
        observers = (*observers, _ending(on_progress))
    if save_policy is not None and not abilities_of(cell.searcher).has_policy:
        raise InputError(f"searcher {cell.name!r} learns no policy that could be saved")
    kept, followers = None if save_policy is None else Kept(Path(save_policy)), tuple(callbacks)
    for each in followers:
        each.begin(cell)
    observers = (*observers, *(each.progress for each in followers))
    result = _searched(cell, observers, None if out is None else Path(out), kept)
    for each in followers:
        each.end(result)
    if kept is not None:
        # With the samples that were spent before the search.
        samples = len(result.record) + abilities_of(cell.searcher).samples_elsewhere
        kept.save(cell.name, {"samples": samples, "search": cell.identity})
    return result


def _searched(cell: Cell, observers: Iterable[Observer], folder: Path | None, keep: Kept | None) -> Result:
    """Run the cell, or go on with it, or take its record from the folder."""
    if folder is None:
        require_libraries(cell.name, cell.searcher)
        return Result(cell, run_cell(cell, observers=observers, keep=keep))
    make_folder(folder)
    path, journal_path = folder / RECORD, folder / JOURNAL
    record = _stored(cell, path)
    if record is None:
        require_libraries(cell.name, cell.searcher)
        with open_journal(cell, journal_path) as journal:
            record = run_cell(cell, journal, observers, keep=keep)
            if len(record) < cell.budget:
                return Result(cell, record)
            write_parquet(record, path, {"identity": cell.identity})
            write_counters(cell.problem, record, folder)
            journal.discard()
    elif keep is not None:
        # The policy is learned again from what is known: nothing is priced.
        run_cell(cell, Held(path, record), keep=keep)
    return Result(cell, record, path)


def _ending(on_progress: Callable[[Progress], bool | None]) -> Observer:
    """An observer that ends the search where `on_progress` returns False."""

    def observe(progress: Progress) -> None:
        if on_progress(progress) is False:
            raise SearchEnded

    return observe


def named_cell(
    problem: AnyProblem, searcher: str | Searcher, settings: Mapping[str, Any] | None, seed: int, budget: int
) -> Cell:
    """The cell of a searcher given by its name, or as an instance, which counts under its own name."""
    if not is_problem(problem):
        raise InputError(f"problem must be a Problem, as Problem(layer, accelerator), got {shorten(problem)}")
    if isinstance(searcher, str):
        # Where a searcher's file lies says nothing of its samples.
        return Cell(problem, without_folders(searcher), make_searcher(searcher, settings), seed, budget)
    made = type(searcher)
    if not is_searcher_class(made):
        raise InputError(
            "searcher must be the name of one or a frozen dataclass with a method search(evaluate, rng), "
            f"got {shorten(searcher)}"
        )
    if settings:
        raise InputError(f"settings are for a searcher given by name; {shorten(searcher)} has its own")
    abilities_of(searcher)
    home = f"{made.__module__}:{made.__qualname__}"
    # So that an instance with default settings draws the same samples as its name.
    name = next((entry.name for entry in installed_entries(GROUP) if entry.value == home), made.__name__)
    return Cell(problem, name, searcher, seed, budget)


def _stored(cell: Cell, path: Path) -> Record | None:
    """The record of the same search that is there already."""
    if not path.exists():
        return None
    record, about = read_parquet(path)
    # Through JSON, as what was read has been: it knows lists only.
    here = json.loads(json.dumps(cell.identity))
    if about.get("identity") != here:
        change = first_difference(about.get("identity"), here, ("there", "now"))
        raise StorageError(f"record {str(path)!r} is of another search: {change}; choose another folder")
    return record


def write_result(result: Result, folder: Path, layer: str, accelerator: str) -> None:
    """Write `result.json` and, if something feasible was found, `mapping.json` into the folder."""
    write_json(folder / RESULT, result.to_dict(layer, accelerator))
    if result.best:
        write_json(folder / MAPPING, result.best.mapping.to_dict())
