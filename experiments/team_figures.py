"""The figures of team.md and of the README that stand in no table of a report.

    python -m experiments.team_figures

Reads the curves of heldout12, hard12 and heldout12-loopnest beside this file. Prints how many runs end at the
proven optimum and within 1 % of it, the worst of them, and CPU seconds a run; the cluster sizes where runs of
`team` end further off; and how `team` stands against `bayesian` if that has ten seeds only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.analysis.findings import RESAMPLES
from dse.analysis.runs import Runs
from dse.analysis.study import Study, load_study
from dse.analysis.versus import ends_lower
from experiments import RESULTS

FOLDERS = ("heldout12", "hard12", "heldout12-loopnest")
SEARCHERS = ("team", "team-uniform", "local", "genetic", "gamma", "bayesian")
NEAR = 1.01
FEW = 10


def ends(study: Study, searcher: str) -> str:
    """How near to the optimum the searcher's runs end, and what they cost."""
    cells = [(problem, cell) for problem in study.problems for cell in study.cells(problem, searcher)]
    ratios = np.array([cell.best / study.target(problem)[0] for problem, cell in cells])
    seconds = np.mean([cell.searcher_seconds + cell.model_seconds for _, cell in cells])
    at, near = (ratios == 1).sum(), (ratios <= NEAR).sum()
    return (
        f"{searcher} after {study.budget_of(searcher):,} samples: of {len(ratios)} runs {at} at the optimum, "
        f"{near} within 1 %, the worst at {ratios.max():.4f}; {seconds:.1f} CPU s a run"
    )


def stragglers(study: Study) -> Iterator[str]:
    """Where runs of team end over 1 % above the optimum: their cluster sizes, and those of the others."""
    for problem in study.problems:
        named, target = study.make_problem(problem), study.target(problem)[0]
        assert named is not None
        sizes: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
        for cell in study.cells(problem, "team"):
            mapping = named.space.decode(np.array([cell.genes]))[0]
            sizes[cell.best <= NEAR * target][mapping.cluster_size] += 1
        if sizes[False]:
            near, far = (
                ", ".join(f"{size} PEs ({count} runs)" for size, count in sorted(sizes[key].items()))
                for key in (True, False)
            )
            yield f"{study.label(problem)}: clusters of {far} where over 1 % off, of {near} elsewhere"


def with_few(study: Study) -> list[str]:
    """The chance that team is lower than the first FEW seeds of bayesian, at bayesian's budgets."""
    kept = tuple(cell for cell in study.summaries if cell.searcher != "bayesian" or cell.seed < FEW)
    runs = Runs(replace(study, summaries=kept), RESAMPLES)
    pairs = [(mine, theirs) for _, mine, theirs in runs.shared("team", "bayesian")]
    found = [(budget, ends_lower(pairs, budget)[0]) for budget in study.budgets_of("team", "bayesian")]
    return [f"{budget:,} samples: {x.value:.3f} [{x.low:.3f}, {x.high:.3f}]" for budget, x in found]


def main() -> None:
    """Print all of it."""
    for folder in FOLDERS:
        study = load_study(RESULTS / folder)
        print(f"{study.name}, cost model {study.cost_model}")
        for searcher in SEARCHERS:
            print(f"  {ends(study, searcher)}")
        for line in stragglers(study):
            print(f"  {line}")
        if study.seeds_of("bayesian") > FEW:
            print(f"  team against {FEW} seeds of bayesian: {'; '.join(with_few(study))}")


if __name__ == "__main__":
    main()
