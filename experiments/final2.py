"""What `final2` came to: `python -m experiments.final2`, from the curves of final2-loopnest and -maestro.

And from those of final2-own-*: `team` as it comes, on the same problems, of a later version; and of
final2-tuned-*: searchers after equal trials at these budgets (see tuning/few.py).

Of all 24 problems, for every searcher: the geometric mean over problems of the median best loss over the
target after so many samples, with Student's interval over problems, and the worst problem in brackets; those
that begin with templates first, then those that begin at random points. The target is the proven optimum;
where there is no proof, the least that is known: what any run found, or the certifier. The goals of `team`
beside it, and whether they are met: where the whole interval is below the goal. A ratio above 12, and a run
that found nothing that fits, counts as 12. Of each searcher those seeds count that it has on every problem;
one that has none is left out. Writes final2.csv (a line a problem, searcher and budget) and final2.md in
results, and targets.csv in results/final2-loopnest once, as proofs take a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.analysis.study import OPTIMAL, Study, load_study
from dse.optimum import certify
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.draw_small import MODELS
from experiments.intervals import Estimate, at_most, mean_of

PATH = RESULTS / "final2.csv"
TARGETS = RESULTS / "final2-loopnest" / "targets.csv"
BUDGETS = (5, 20, 50, 100, 200, 500)
GOALS = (1.15, 1.06, 1.03, 1.015, 1.005, 1.001)
WORST_AT, WORST = 100, 1.15
"""No problem is to be above that after so many samples."""
WORST_RATIO = 12.0
STARTS = {"templates": "", "random points": "-random-start"}
OWN = "team-own-start"
"""The same as it comes: it begins at the templates too, and with its expectations."""
FORMER = f"{OWN}, version 1"
"""The same, as it was when the problems were drawn."""
KINDS = ("", "own-", "tuned-")
SECONDS = 60.0
HEAD = ("model", "problem", "tiles", "proven", "searcher", "seeds", *map(str, BUDGETS))


class Target(NamedTuple):
    """The loss that ratios are to, before runs are looked at."""

    loss: float
    proven: bool


@dataclass(frozen=True)
class Line:
    """A searcher on a problem: ratios of the median after each of BUDGETS, NaN beyond its own."""

    model: str
    problem: str
    tiles: str
    proven: bool
    searcher: str
    seeds: int
    ratios: tuple[float, ...]


Studies = dict[str, list[Study]]
"""By cost model, those that have its problems: the one that was drawn first."""


def proofs(studies: Studies) -> dict[str, Target]:
    """By problem, what the certifier finds, and whether it is the optimum."""
    rows = read_rows(TARGETS)
    if not rows:
        for study, *_ in studies.values():
            for problem in study.problems:
                made = study.make_problem(problem)
                assert made is not None
                found = certify(made, SECONDS)
                loss, whole = found.best.loss if found.best else np.inf, found.status == OPTIMAL
                rows.append({"problem": study.label(problem), "loss": repr(loss), "proven": str(whole)})
        write_rows(TARGETS, ("problem", "loss", "proven"), rows)
    return {row["problem"]: Target(float(row["loss"]), row["proven"] == "True") for row in rows}


def seeds_of(studies: Sequence[Study], searchers: Sequence[str]) -> set[int]:
    """The seeds that all these searchers have on all problems."""
    return set.intersection(
        *(
            {cell.seed for cell in study.cells(problem, name)}
            for study in studies
            for problem in study.problems
            for name in searchers
        )
    )


def lines(studies: Studies) -> Iterator[Line]:
    """Every searcher's on every problem."""
    known, least = proofs(studies), dict[str, float]()
    every = [study for found in studies.values() for study in found]
    for study in every:
        for problem in study.problems:
            label = study.label(problem)
            least[label] = min(least.get(label, known[label].loss), study.target(problem)[0])
    runs = dict.fromkeys((place, name) for found in studies.values() for place, name in _runs(found))
    for suffix in STARTS.values():
        # Those of fewer seeds do not cut the others'.
        for place, name in [run for run in runs if _begins(run[1]) == suffix]:
            having = {model: found[place] for model, found in studies.items()}
            seeds = seeds_of([*having.values()], [name])
            shown = FORMER if (place, name) == (0, OWN) else name
            for model, study in having.items():
                for problem in study.problems:
                    label, made = study.label(problem), study.make_problem(problem)
                    assert made is not None
                    loss = least[label]
                    cells = [cell for cell in study.cells(problem, name) if cell.seed in seeds]
                    if not cells:
                        continue
                    ratios = tuple(
                        float(np.median([cell.at(budget)["loss"] for cell in cells]) / loss)
                        if budget <= study.budget_of(name)
                        else np.nan
                        for budget in BUDGETS
                    )
                    tiles = str(made.options["tiles"])
                    yield Line(model, label, tiles, known[label].proven, shown, len(cells), ratios)


def _runs(studies: Sequence[Study]) -> Iterator[tuple[int, str]]:
    """The place of each study, with each of its searchers."""
    return ((place, name) for place, study in enumerate(studies) for name in study.searchers)


def _begins(searcher: str) -> str:
    return STARTS["random points"] if searcher.endswith("-random-start") or searcher == "random" else ""


def write(found: Sequence[Line]) -> None:
    """All lines as CSV, from which a reader gets every figure of the tables."""
    ratios = [["" if np.isnan(ratio) else f"{ratio:.6f}" for ratio in line.ratios] for line in found]
    heads = [(line.model, line.problem, line.tiles, line.proven, line.searcher, line.seeds) for line in found]
    write_rows(PATH, HEAD, [(*one, *shown) for one, shown in zip(heads, ratios, strict=True)])


def read() -> list[Line]:
    """The lines as they were written."""
    return [
        Line(
            row["model"],
            row["problem"],
            row["tiles"],
            row["proven"] == "True",
            row["searcher"],
            int(row["seeds"]),
            tuple(float(row[str(budget)] or "nan") for budget in BUDGETS),
        )
        for row in read_rows(PATH)
    ]


def figures(found: Sequence[Line], place: int) -> tuple[Estimate, float]:
    """The geometric mean after the place-th budget, with its interval, and the worst problem."""
    ratios = np.minimum([line.ratios[place] for line in found], WORST_RATIO)
    return mean_of(np.log(ratios)).exp(), float(ratios.max())


def table(found: Sequence[Line]) -> str:
    """A line a searcher."""
    heads = ["searcher", "problems", "seeds", *map(str, BUDGETS)]
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name in dict.fromkeys(line.searcher for line in found):
        mine = [line for line in found if line.searcher == name]
        cells = []
        for place in range(len(BUDGETS)):
            if np.isnan(mine[0].ratios[place]):
                cells.append("-")
                continue
            mean, worst = figures(mine, place)
            cells.append(f"{mean.shown(3)} ({worst:.2f})")
        rows.append([name, str(len(mine)), str(min(line.seeds for line in mine)), *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def goal_table(found: Sequence[Line], searcher: str = "team") -> str:
    """The goals of `team`, and what becomes of them."""
    mine = [line for line in found if line.searcher == searcher]
    rows = [[f"goal of {searcher}", *map(str, BUDGETS)], ["---", *["---:"] * len(BUDGETS)]]
    means = [figures(mine, place)[0] for place in range(len(BUDGETS))]
    rows.append(["at most", *map(str, GOALS)])
    rows.append(["found", *(mean.shown(3) for mean in means)])
    words = {"borne out": "met", "not borne out": "missed"}
    verdicts = [at_most(goal, mean) for goal, mean in zip(GOALS, means, strict=True)]
    rows.append(["verdict", *(words.get(verdict, verdict) for verdict in verdicts)])
    place = BUDGETS.index(WORST_AT)
    above = [line for line in mine if line.ratios[place] > WORST]
    said = "; ".join(f"{line.problem.partition(':')[2]}, {line.ratios[place]:.2f}" for line in above)
    text = f"Above {WORST} after {WORST_AT} samples are {len(above)} of {len(mine)} problems. {said}".strip()
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{text}"


def against(found: Sequence[Line]) -> str:
    """The ratio of `team` to each of the others, paired by problem."""
    rows = [["team over", *map(str, BUDGETS)], ["---", *["---:"] * len(BUDGETS)]]
    mine = {line.problem: line for line in found if line.searcher == "team"}
    for name in dict.fromkeys(line.searcher for line in found if line.searcher != "team"):
        pairs = [(mine[line.problem], line) for line in found if line.searcher == name]
        logs = [[np.log(np.minimum(one.ratios, WORST_RATIO)) for one in pair] for pair in pairs]
        ratios = np.array([ours - theirs for ours, theirs in logs])
        means = [mean_of(column) for column in ratios.T]
        rows.append([name, *("-" if np.isnan(one.value) else one.exp().shown(3) for one in means)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def pages(found: Sequence[Line]) -> list[str]:
    """All tables."""
    from_templates = [line for line in found if not _begins(line.searcher)]
    problems = {line.problem: line.proven for line in found}
    proven = sum(problems.values())
    others = "" if proven == len(problems) else ", of the others ratios are to the least that is known"
    parts = [
        f"{len(problems)} problems; {proven} optima are proven{others}. Geometric means over problems of "
        "medians over seeds, with Student's intervals over problems, the worst problem in brackets.",
        "## All begin with templates",
        table(from_templates),
        "## Goals",
        goal_table(from_templates),
        *([goal_table(from_templates, OWN)] if any(line.searcher == OWN for line in found) else []),
        "## `team` against the others, paired by problem: below 1 it is nearer",
        against(from_templates),
        "## All begin at random points",
        table([line for line in found if _begins(line.searcher)]),
    ]
    for model in MODELS:
        parts += [f"## Under {model}, from templates", table([x for x in from_templates if x.model == model])]
    any_size = [line for line in from_templates if line.tiles == "any"]
    return [*parts, "## Tiles of any size, from templates", table(any_size)]


def main() -> None:
    """Write the tables."""
    folders = {model: [RESULTS / f"final2-{kind}{model}" for kind in KINDS] for model in MODELS}
    studies = {
        model: [load_study(path) for path in found if path.exists()] for model, found in folders.items()
    }
    write([*lines(studies)])
    keep(RESULTS / "final2.md", "experiments.final2", *pages(read()))


if __name__ == "__main__":
    main()
