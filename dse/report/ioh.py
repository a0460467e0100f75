"""A campaign in the files of IOHprofiler, for IOHanalyzer: a folder a searcher, a function a problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse import __version__
from dse.analysis.study import Study, Triple
from dse.campaign.config import safe_name
from dse.campaign.summary import Summary
from dse.support.files import make_folder, write_whole

COLUMNS = ("evaluations", "raw_y")


def export_study(study: Study, folder: Path) -> list[Path]:
    """Write the improvements of every run; runs that have found nothing feasible have no line.

    Of each searcher and problem there are two files: the runs' improvements (`.dat`), and what they are of
    (`.json`), as version 0.4 of the library's own logger writes them.
    """
    written: list[Path] = []
    for searcher in study.searchers:
        for place, problem in enumerate(study.problems, 1):
            if runs := study.cells(problem, searcher):
                written += _function(study, folder / safe_name(searcher), place, problem, runs)
    return written


def _function(
    study: Study, folder: Path, place: int, problem: Triple, runs: Sequence[Summary]
) -> Iterator[Path]:
    made = study.make_problem(problem)
    dimension = len(made.space.sizes) if made else max((len(run.genes) for run in runs), default=0)
    name = f"f{place}_{safe_name(study.label(problem))}"
    data = Path(f"data_{name}") / f"IOHprofiler_f{place}_DIM{dimension}.dat"
    make_folder(folder, data.parent.name)
    write_whole(folder / data, "".join(line for run in runs for line in _lines(run)))
    yield folder / data
    about = {
        "version": "0.4.2",
        "suite": study.name,
        "function_id": place,
        "function_name": study.label(problem),
        "maximization": False,
        "algorithm": {"name": runs[0].searcher, "info": f"dse {__version__}"},
        "attributes": list(COLUMNS),
        "scenarios": [{"dimension": dimension, "path": str(data), "runs": [_run(run) for run in runs]}],
    }
    write_whole(folder / f"IOHprofiler_{name}.json", json.dumps(about, indent=1, allow_nan=False))
    yield folder / f"IOHprofiler_{name}.json"


def _lines(run: Summary) -> Iterator[str]:
    """The run's improvements, and its end."""
    yield " ".join(COLUMNS) + "\n"
    steps = [
        (int(index) + 1, loss) for index, loss in zip(run.steps["index"], run.steps["loss"], strict=True)
    ]
    if steps and steps[-1][0] < run.samples:
        steps.append((run.samples, steps[-1][1]))
    for sample, loss in steps:
        yield f"{sample} {loss:.17g}\n"


def _run(run: Summary) -> dict[str, Any]:
    found: dict[str, Any] = {"instance": run.seed + 1, "evals": run.samples}
    if not np.isfinite(run.best):
        return found
    best = {"evals": int(run.steps["index"][-1]) + 1, "y": run.best, "x": list(run.genes)}
    return found | {"best": best}
