"""How soon searchers of two objectives find the exact front: `python -m experiments.fronts`.

Latency and energy of eight layers, `loopnest`, on two machines. Regret is the share of the exact front's
hypervolume that a search lacks after so many samples (`dse.optimum.front`); five seeds. A problem's
seeds are averaged, and the interval is Student's over problems. Writes results/fronts.md, fronts.csv (every
run) and fronts.png. Five minutes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import dse
from dse.core.domains import make_problem
from dse.optimum.front import BEYOND, certify_front, front_regret
from dse.report.plots.files import png_bytes
from dse.report.plots.front import regret_figure
from dse.support.files import write_whole
from experiments import RESULTS, keep
from experiments.intervals import Estimate, mean_over_groups
from workloads import load_layer

LAYERS = ("resnet18:3", "resnet18:6", "mobilenet_v2:3", "alexnet:conv2")
MACHINES = ("edge", "eyeriss-small")
OBJECTIVES, MODEL = "latency, energy", "loopnest"
SEARCHERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nsga2": ("nsga2", {}),
    "weighted-runs of team": ("weighted-runs", {"searcher": "team"}),
    "weighted-runs of genetic": ("weighted-runs", {"searcher": "genetic"}),
    "random": ("random", {}),
}
BUDGET, SEEDS = 2000, 5
AFTER = (50, 100, 200, 500, 1000, 2000)
HEADS = ("layer", "accelerator", "points", "searcher", "seed", *map(str, AFTER))


def runs() -> Iterator[tuple[Any, ...]]:
    """A row for each run, as HEADS says."""
    for layer in LAYERS:
        for machine in MACHINES:
            problem = make_problem(load_layer(layer), machine, OBJECTIVES, MODEL)
            front = certify_front(problem)
            for name, (searcher, settings) in SEARCHERS.items():
                for seed in range(SEEDS):
                    found = dse.search(problem, searcher, budget=BUDGET, seed=seed, settings=settings)
                    lacks = front_regret(front, problem, found.record, AFTER).tolist()
                    yield layer, machine, len(front.points), name, seed, *lacks


def estimates(rows: list[tuple[Any, ...]]) -> dict[str, list[Estimate]]:
    """The mean regret of each searcher after so many samples."""
    found = {}
    for name in SEARCHERS:
        own = [row for row in rows if row[3] == name]
        groups = [row[:2] for row in own]
        found[name] = [mean_over_groups([row[5 + at] for row in own], groups) for at in range(len(AFTER))]
    return found


def table(found: Mapping[str, list[Estimate]]) -> str:
    """In Markdown, a searcher a line."""
    lines = [["searcher", *(f"{after:,}" for after in AFTER)], ["---", *["---:"] * len(AFTER)]]
    lines += [[name, *(one.shown(1, 100) for one in row)] for name, row in found.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(rows: list[tuple[Any, ...]]) -> None:
    """Write the table and the figure of some runs."""
    found = estimates(rows)
    how = (
        f"{len(LAYERS) * len(MACHINES)} problems, {SEEDS} seeds, {MODEL}: "
        "means with Student's 95 % intervals over problems"
    )
    bands = {name: np.array([row[:3] for row in of]) for name, of in found.items()}
    figure = regret_figure("Hypervolume missing to the exact front", how, AFTER, bands)
    write_whole(RESULTS / "fronts.png", png_bytes(figure), "figure")
    what = (
        f"Hypervolume missing to the exact front of latency and energy after so many samples, in %; {how}. "
        f"Of logarithms, up to {BEYOND} times the worst figures of the exact front."
    )
    keep(RESULTS / "fronts.md", "experiments.fronts", what, table(found))


def main() -> None:
    """Run all, and write what was found."""
    rows = list(runs())
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEADS, *rows])
    write_whole(RESULTS / "fronts.csv", text.getvalue(), "table")
    show(rows)


if __name__ == "__main__":
    main()
