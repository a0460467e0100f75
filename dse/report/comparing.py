"""A comparison of searchers from Python: `dse.compare(problems, ["random", "genetic"], budget=500, seeds=3)`.

It is a campaign like any other, so that records are those of `dse run` and an interrupt keeps what is done.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dse.analysis.study import Study
from dse.campaign.config import Campaign, NamedProblem, Variant
from dse.campaign.progress import NotebookDisplay, make_display
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.core.domains import preset_of
from dse.core.objective import refuse_several
from dse.core.problem import AnyProblem, is_problem
from dse.report.writing import Report, make_report
from dse.search.api import named_cell
from dse.search.searcher import Searcher
from dse.search.start import OWN, RANDOM, random_settings
from dse.support.errors import InputError, shorten
from dse.support.validation import whole_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Problems = AnyProblem | Iterable[AnyProblem] | Mapping[str, AnyProblem]
Searchers = str | Iterable[str | Searcher] | Mapping[str, str | Searcher]


@dataclass(frozen=True)
class Comparison:
    """What a comparison came to. `done` of its `cells` are finished: fewer after an interrupt or a failure.

    `failures` are reasons by cell. The frames are tidy: a row an observation.
    """

    report: Report = field(repr=False)
    cells: int
    done: int
    failures: Mapping[str, str]

    @property
    def study(self) -> Study:
        """The cells and what is known of their problems."""
        return self.report.study

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a finished cell: its problem, searcher and seed, and its best `loss`.

        `ratio` is `loss` over the lowest known, `proven` whether none can be lower. `infeasible` counts
        samples, the seconds are CPU time.
        """
        import pandas as pd

        rows = []
        for cell in self.study.summaries:
            target, proven = self.study.target((cell.layer, cell.accelerator, cell.objective))
            rows.append(
                _names(cell)
                | {"samples": cell.samples, "loss": cell.best, "ratio": cell.best / target, "proven": proven}
                | {"distinct": cell.distinct, "infeasible": sum(cell.infeasible.values())}
                | {"searcher_seconds": cell.searcher_seconds, "model_seconds": cell.model_seconds}
            )
        return pd.DataFrame(rows)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """A row an improvement of a finished cell: after so many `samples` its best loss was `loss`."""
        import pandas as pd

        rows = [
            _names(cell) | {"samples": int(index) + 1, "loss": loss}
            for cell in self.study.summaries
            for index, loss in zip(cell.steps["index"], cell.steps["loss"], strict=True)
        ]
        return pd.DataFrame(rows)

    def table(self, name: str) -> pd.DataFrame:
        """A table of the report, by its name: `standing`, `versus`, `targets`, ..."""
        import pandas as pd

        tables = {table.name: table for table in self.report.tables}
        if name not in tables:
            raise InputError(f"table must be one of {', '.join(tables)}, got {shorten(name)}")
        return pd.DataFrame(tables[name].rows, columns=list(tables[name].columns))

    def plot(self, name: str = "gap") -> Figure:
        """A figure of the report, by its name: `gap`, `convergence`, `profiles`, ..."""
        from dse.report.plots.drawing import draw_figures

        drawings = draw_figures(self.study, self.report.findings)
        if name not in drawings:
            raise InputError(f"plot must be one of {', '.join(drawings)}, got {shorten(name)}")
        return drawings[name].build()

    def _repr_html_(self) -> str:
        """What a notebook shows: the result in a sentence, and the standing table."""
        from html import escape

        head = escape(self.report.conclusions.headline)
        missing = f"<p>{self.done:,} of {self.cells:,} cells are done.</p>" if self.done < self.cells else ""
        return f"<p><b>{head}</b></p>{missing}{self.table('standing').to_html(index=False)}"


def compare(
    problems: Problems,
    searchers: Searchers,
    *,
    budget: int,
    seeds: int = 1,
    start: str = RANDOM,
    out: Path | str | None = None,
    workers: int | None = None,
) -> Comparison:
    """Let each of `searchers` search each of `problems` from each of so many `seeds`, with `budget` samples.

    Searchers are registered names or instances, or a mapping from names of one's own to either; problems
    are named by their layers, or by the keys of a mapping. All begin alike, at `start`: `random` points, the
    `templates`, or mappings in a JSON file; with `own`, each as it does by itself. A searcher that is given
    as an instance keeps the settings that it has. With `out`, a folder, everything is kept as
    `dse run` keeps it, and the same call goes on from an interrupt, with more seeds or a larger budget too;
    without it, an interrupt still gives what is done. `workers` cells run at once, each in a process, by
    default as many as there are cores; a single worker, and searchers that are defined in a notebook or
    script, run in this process. InputError where something is wrong or no cell has ended.
    """
    plan = _campaign(problems, searchers, budget, seeds, start)
    for entry in plan.problems:
        refuse_several(entry.objective)
    workers = whole_number(workers, "workers", most=1024) if workers is not None else os.cpu_count() or 1
    if out is not None:
        return _compared(Path(out), plan, workers)
    with tempfile.TemporaryDirectory(prefix="dse-") as folder:
        return _compared(Path(folder), plan, workers)


def _compared(folder: Path, plan: Campaign, workers: int) -> Comparison:
    from dse.campaign.executors import InProcess, LocalProcesses

    here = workers == 1 or any(type(variant.searcher).__module__ == "__main__" for variant in plan.variants)
    display = NotebookDisplay() if "ipykernel" in sys.modules else make_display()
    with closing(display), Store(folder, plan) as store:
        made = InProcess if here else LocalProcesses
        ended = run_campaign(store, display, workers=1 if here else workers, make_executor=made)
        failures = store.failures()
    if not ended.done:
        raise InputError(f"no cell has ended{'; ' if failures else ''}{next(iter(failures.values()), '')}")
    return Comparison(make_report(folder), ended.cells, ended.done, failures)


def _campaign(problems: Problems, searchers: Searchers, budget: int, seeds: int, start: str) -> Campaign:
    whole_number(budget, "budget")
    count = whole_number(seeds, "seeds", most=100_000)
    named = _named_problems(problems)
    variants = _variants(searchers, named[0].problem, start)
    plan = Campaign("comparison", budget, tuple(range(count)), named, variants, start=start)
    # So that a start that a problem cannot have is said now.
    _ = plan.starts
    return plan


def _listed(problems: AnyProblem | Iterable[AnyProblem]) -> list[AnyProblem]:
    if is_problem(problems):
        return [problems]
    return list(cast("Iterable[AnyProblem]", problems))


def _named_problems(problems: Problems) -> tuple[NamedProblem, ...]:
    if isinstance(problems, Mapping):
        given = list(problems.items())
    else:
        given = [("", one) for one in _listed(problems)]
    found: dict[tuple[str, str, str], NamedProblem] = {}
    for place, (name, problem) in enumerate(given):
        if not is_problem(problem):
            raise InputError(f"problems[{name or place}] must be a Problem, got {shorten(problem)}")
        machine = problem.accelerator.name or preset_of(problem) or "accelerator"
        layer = name or problem.layer.name or f"layer{place + 1}"
        if (layer, machine, problem.objective) in found:
            raise InputError(
                f"problems has two of layer {layer!r} on {machine!r}, {problem.objective}; give a mapping "
                "from names of your own to problems"
            )
        found[layer, machine, problem.objective] = NamedProblem(layer, machine, problem)
    if not found:
        raise InputError("problems must be one or more problems, got none")
    if len({one.problem.model_spec for one in found.values()}) > 1:
        raise InputError("problems must have one cost model; compare under one after the other")
    return tuple(found.values())


def _variants(searchers: Searchers, problem: AnyProblem, start: str) -> tuple[Variant, ...]:
    if isinstance(searchers, str):
        searchers = [searchers]
    given = list(searchers.items()) if isinstance(searchers, Mapping) else [("", one) for one in searchers]
    found: dict[str, Variant] = {}
    for name, searcher in given:
        settings = random_settings(searcher, None) if isinstance(searcher, str) and start != OWN else None
        cell = named_cell(problem, searcher, settings, 0, 1)
        label = name or cell.name
        if label in found:
            raise InputError(f"searchers has two of {label!r}; give a mapping from names of your own to them")
        found[label] = Variant(label, cell.name, cell.searcher, start=start)
    if not found:
        raise InputError("searchers must be one or more searchers, got none")
    return tuple(found.values())


def _names(cell: Any) -> dict[str, Any]:
    names = ("layer", "accelerator", "objective", "searcher", "seed")
    return {name: getattr(cell, name) for name in names}
