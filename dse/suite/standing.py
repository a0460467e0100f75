"""Who stands where on a suite: committed runs and those of others, side by side.

Regret is how far a run's best is above the proven optimum after so many samples, as a share of it: of each
problem the median over seeds, then the geometric mean over problems of what it makes of the loss, with
Student's interval over problems. A run that has found nothing that fits yet counts as WORST.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from dse.analysis.study import Study, load_study
from dse.campaign.curves import CURVES
from dse.suite.problem import Entry
from dse.suite.records import Run, read_runs
from dse.suite.suites import Suite
from dse.support.arrays import FloatArray

BUDGETS = (5, 20, 50, 100, 200, 500)
WORST = 12.0
"""Times the optimum: what is farther counts as this."""
RANKED = 100
"""Samples after which the nearest comes first; of shorter runs, the last budget before."""
LEAST = 3
"""Fewer problems have no interval."""
ROOT = Path(__file__).parents[2]
"""Where the committed campaigns are, in a checkout of the repository."""
KEPT = Path(__file__).parent / "committed"
"""Their lines, for an installation without them; `python -m experiments.suites committed` writes them."""


@dataclass(frozen=True)
class Regret:
    """A mean and the ends of its interval of 95 %, NaN where there is none: shares of the optimum."""

    mean: float
    low: float
    high: float

    @property
    def percent(self) -> str:
        """The mean as a percentage."""
        return f"{100 * self.mean:.1f}"

    @property
    def interval(self) -> str:
        """The ends as percentages; a dash where there are none."""
        return "-" if np.isnan(self.low) else f"[{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class Standing:
    """One searcher's line: from where its runs are, what it had seen, and its `ratios` by budget and problem.

    `seconds` is CPU time of the searcher in a run, a mean.
    """

    searcher: str
    source: str
    version: str
    start: str
    saw: str
    seeds: int
    seconds: float
    ratios: dict[int, FloatArray]

    @property
    def problems(self) -> int:
        """On how many problems it has runs."""
        return max(map(len, self.ratios.values()), default=0)

    @cached_property
    def regrets(self) -> dict[int, Regret]:
        """By budget."""
        return {budget: _regret(ratios) for budget, ratios in self.ratios.items()}

    @property
    def ranked_at(self) -> int:
        """The budget that it is ordered by."""
        return max((budget for budget in self.regrets if budget <= RANKED), default=0)


def _regret(ratios: FloatArray) -> Regret:
    from scipy.stats import t

    logs = np.log(np.clip(ratios, 1.0, WORST))
    mean, half = logs.mean(), np.nan
    if len(logs) >= LEAST:
        half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    # Nothing is below the optimum; a maximum with NaN is NaN.
    ends = np.maximum([mean - half, mean + half], 0.0)
    return Regret(*(float(np.expm1(value)) for value in (mean, *ends)))


def standing_searchers(suite: Suite, folders: Iterable[Path] = ()) -> list[Standing]:
    """The searchers with runs on the suite, the nearest first: committed ones, and those in `folders`.

    Every record of a folder is checked before it counts: InputError names one that does not hold.
    """
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for folder in folders:
        for run in read_runs(suite, folder):
            found[run.searcher, str(folder)].append(run)
    here = any((ROOT / record / CURVES).is_file() for record in suite.records)
    return sorted([*_lines(found), *(committed(suite) if here else _kept(suite))], key=_order)


def committed(suite: Suite) -> list[Standing]:
    """The searchers with committed runs on the suite, from the campaigns of a checkout."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for record in suite.records:
        if (ROOT / record / CURVES).is_file():
            for run in _committed(suite, load_study(ROOT / record)):
                found[run.searcher, record.removeprefix("results/")].append(run)
    return _lines(found)


def kept_text(suite: Suite) -> str:
    """The committed lines as JSON, for where there is no checkout; ratios beyond WORST are that."""
    rows = [
        {item.name: getattr(line, item.name) for item in fields(line)}
        | {
            "ratios": {
                budget: np.minimum(some, WORST).round(6).tolist() for budget, some in line.ratios.items()
            }
        }
        for line in committed(suite)
    ]
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    return f'{{"digest": "{suite.digest}", "lines": [\n{lines}\n]}}\n'


def _kept(suite: Suite) -> list[Standing]:
    """The lines that come along with a suite of this name and digest."""
    path = KEPT / f"{suite.name}.json"
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if found.get("digest") != suite.digest:
        return []
    return [
        Standing(
            **{**line, "ratios": {int(budget): np.array(some) for budget, some in line["ratios"].items()}}
        )
        for line in found["lines"]
    ]


def _lines(found: dict[tuple[str, str], list[Run]]) -> list[Standing]:
    return [_line(*key, runs) for key, runs in _without_models(found).items()]


def _without_models(found: dict[tuple[str, str], list[Run]]) -> dict[tuple[str, str], list[Run]]:
    """Campaigns of one name under several cost models are one source."""
    merged: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for (searcher, source), runs in found.items():
        models = {run.entry.cost_model.partition("(")[0] for run in runs}
        name = source.removesuffix(f"-{models.pop()}") if len(models) == 1 else source
        merged[searcher, name] += runs
    return merged


def _order(line: Standing) -> tuple[bool, int, float]:
    """Who has runs on more problems stands first: regrets on other problems are not compared."""
    return not line.regrets, -line.problems, line.regrets[line.ranked_at].mean if line.regrets else 0.0


def _line(searcher: str, source: str, runs: list[Run]) -> Standing:
    by_problem: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_problem[run.entry.name].append(run)
    least = min(run.budget for run in runs)
    ratios = {
        budget: np.array(
            [
                np.median([run.best_after(budget) for run in mine]) / mine[0].entry.loss
                for mine in by_problem.values()
            ]
        )
        for budget in BUDGETS
        if budget <= least
    }
    first = runs[0]
    return Standing(
        searcher,
        source,
        first.version,
        first.start,
        first.saw,
        min(map(len, by_problem.values())),
        float(np.mean([run.seconds for run in runs])),
        ratios,
    )


def _committed(suite: Suite, study: Study) -> Iterator[Run]:
    """The runs of a campaign on problems of the suite."""
    for problem in study.problems:
        entry = _entry_of(suite, study, problem)
        for name in study.searchers if entry else ():
            for cell in study.cells(problem, name):
                assert entry is not None
                kind = f"searcher {cell.type}"
                yield Run(
                    entry,
                    name,
                    str(study.about.get("versions", {}).get(kind, "1")),
                    study.begins(name) or "own",
                    f"{cell.elsewhere:,} samples elsewhere" if cell.elsewhere else "nothing",
                    cell.seed,
                    cell.budget,
                    cell.searcher_seconds,
                    np.asarray(cell.steps["index"], np.int64),
                    np.asarray(cell.steps["loss"]),
                )


def _entry_of(suite: Suite, study: Study, problem: tuple[str, str, str]) -> Entry | None:
    """The entry that is the same problem, if there is one."""
    definition = study.about.get("definitions", {}).get(study.label(problem))
    entries = [one for one in suite.entries if one.cost_model == study.cost_model]
    same = [one for one in entries if one.definition == definition]
    return same[0] if same else None
