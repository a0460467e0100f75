"""How near searchers come to the certified machine: `python -m experiments.codesign.searched [SEEDS]`.

BERT on DOSA's 1,008 machines, EDP, 2,000 network evaluations: joint genes, and two levels. A seed of all is
written before the next begins, to results/codesign/searched.csv, and the table of all to searched.md.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import dse
from dse.domains.codesign.reading import read_space
from dse.support.arrays import FloatArray
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.comparisons.showing import table
from experiments.intervals import mean_of
from workloads import load

FOLDER = RESULTS / "codesign"
NETWORK, SPACE = "experiments/codesign/dosa/bert.toml", "experiments/codesign/dosa.toml"
WAYS: dict[str, tuple[str, str | None, int | None]] = {
    "random, joint": ("random", None, None),
    "genetic, joint": ("genetic", None, None),
    "local, joint": ("local", None, None),
    "local, local inside (100)": ("local", "local", 100),
    "team, team inside (50)": ("team", "team", 50),
}
"""The outer searcher, the inner one, and its samples of each layer on a machine."""
BUDGET, SEEDS = 2000, 6
AFTER = (100, 500, 1000, 2000)
HEADS = ("seed", "way", *map(str, AFTER))


def row(seed: int, way: str) -> list[Any]:
    """The best values of a run after so many network evaluations, over the certified one."""
    searcher, inner, each = WAYS[way]
    found = dse.codesign(
        load(NETWORK),
        read_space(SPACE),
        searcher=searcher,
        inner=inner,
        inner_budget=each,
        budget=BUDGET,
        seed=seed,
    )
    proven = json.loads((FOLDER / "dosa-bert.json").read_text())["best"]["value"]
    return [seed, way, *(found.after(after) / proven for after in AFTER)]


def show() -> None:
    """Write the table of the runs that are there."""
    rows = read_rows(FOLDER / "searched.csv")
    seeds = {row["seed"] for row in rows}
    found = {
        way: np.array([[float(row[str(after)]) for after in AFTER] for row in rows if row["way"] == way])
        for way in {row["way"]: None for row in rows}
    }
    lines = []
    for way, values in sorted(found.items(), key=lambda item: float(np.log(item[1][:, -1]).mean())):
        # Before anything is feasible a ratio is infinite.
        means = [_mean(column) for column in values.T]
        lines.append([way, *means, f"{int((values[:, -1] <= 1.02).sum())} of {len(values)}"])
    what = (
        f"EDP of BERT over the certified machine's ({NETWORK}, {SPACE}) after so many network evaluations: "
        f"geometric means of {len(seeds)} seeds with Student's 95 % intervals. Inside: with so many samples "
        "of each layer."
    )
    heads = ["searcher", *(f"{after:,}" for after in AFTER), "within 2 %"]
    keep(FOLDER / "searched.md", "experiments.codesign.searched", what, table(heads, lines))


def _mean(ratios: FloatArray) -> str:
    """Their geometric mean, with an interval where there are enough."""
    if not np.isfinite(ratios).all():
        return "-"
    found = mean_of(np.log(ratios))
    return found.exp().shown(3) if np.isfinite(found.low) else f"{np.exp(found.value):.3f}"


def main(seeds: int) -> None:
    """Run the seeds that are not there yet, and write the table."""
    path = FOLDER / "searched.csv"
    done = {(row["seed"], row["way"]) for row in read_rows(path)}
    for seed in range(seeds):
        rows = [row(seed, way) for way in WAYS if (str(seed), way) not in done]
        write_rows(path, HEADS, rows, add=True)
        show()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
