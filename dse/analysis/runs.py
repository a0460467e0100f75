"""A study's finished runs as arrays, problem by problem, each stratum resampled once for all figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.analysis.stats.bootstrap import affordable_resamples, draw_resamples, named_generator
from dse.analysis.stats.runtimes import Run, best_so_far, sample_grid
from dse.analysis.study import Study, Triple
from dse.campaign.summary import Summary
from dse.support.arrays import CountArray, FloatArray, IntArray


@dataclass(frozen=True)
class Stratum:
    """The finished runs of one searcher on one problem; `counts` are their resamples, (resamples, runs)."""

    cells: tuple[Summary, ...]
    counts: CountArray

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs' improvements."""
        return tuple(
            Run(np.asarray(cell.steps["index"], np.float64), np.asarray(cell.steps["loss"], np.float64))
            for cell in self.cells
        )

    @cached_property
    def final(self) -> FloatArray:
        """The runs' final losses."""
        return np.array([run.final for run in self.runs])

    def within(self, budget: int) -> tuple[Run, ...]:
        """The runs as they were after so many samples."""
        kept = [run.index < budget for run in self.runs]
        return tuple(Run(run.index[k], run.loss[k]) for run, k in zip(self.runs, kept, strict=True))

    def losses(self, samples: IntArray) -> FloatArray:
        """The best losses after so many samples: (runs, samples)."""
        return np.stack([best_so_far(run.index, run.loss, samples) for run in self.runs])


class Runs:
    """A study's runs as arrays, each stratum resampled once for all figures."""

    def __init__(self, study: Study, resamples: int) -> None:
        """Draw the resamples: those of a stratum depend on its own name and size, and on how many they are.

        Of a campaign of very many cells there are fewer of them.
        """
        self.study = study
        resamples = affordable_resamples(len(study.summaries), resamples)
        self.grid = np.union1d(sample_grid(study.budget), study.budgets).astype(np.int64)
        self.strata: dict[tuple[Triple, str], Stratum] = {}
        for problem in study.problems:
            for searcher in study.searchers:
                cells = study.cells(problem, searcher)
                if cells:
                    rng = named_generator("resample", study.label(problem), searcher)
                    counts = draw_resamples(rng, len(cells), resamples)
                    self.strata[problem, searcher] = Stratum(cells, counts)

    @cached_property
    def targets(self) -> dict[Triple, float]:
        """The lowest known loss of each problem that has one: problems without it cannot be aggregated."""
        return {problem: self.study.target(problem)[0] for problem in self.study.solved}

    @cached_property
    def aggregated(self) -> tuple[str, ...]:
        """The searchers whose figures over all problems can be compared."""
        return self.study.complete if self.targets else ()

    @cached_property
    def whole(self) -> tuple[str, ...]:
        """Those of the aggregated that have the campaign's whole budget: whose ends can be compared."""
        return tuple(name for name in self.aggregated if name not in self.study.cut)

    def grid_of(self, searcher: str) -> IntArray:
        """The grid as far as the searcher's budget goes, which is on it."""
        return self.grid[self.grid <= self.study.budget_of(searcher)]

    def of(self, searcher: str) -> list[tuple[Triple, Stratum]]:
        """A searcher's strata on problems whose target is known."""
        found = ((problem, self.strata.get((problem, searcher))) for problem in self.targets)
        return [(problem, stratum) for problem, stratum in found if stratum is not None]

    def shared(self, one: str, other: str) -> Iterator[tuple[Triple, Stratum, Stratum]]:
        """The problems that both searchers have runs on, with their strata."""
        for problem in self.study.problems:
            mine, theirs = self.strata.get((problem, one)), self.strata.get((problem, other))
            if mine is not None and theirs is not None:
                yield problem, mine, theirs
