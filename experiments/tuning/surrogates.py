"""A Gaussian process or a forest in `bayesian`: `python -m experiments.tuning.surrogates`.

Both from two seeds on the twelve development problems of devhard.toml. Best losses over the proven optima,
after 100, 200 and 500 samples, are rows of results/tuning/bayesian-surrogates.csv, where those that are there
are not run again; bayesian-surrogates.md has their geometric means.
"""

from __future__ import annotations

import time

import numpy as np

from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.tuning.tune import development_problems
from searchers.bayesian import Bayesian
from searchers.bayesian.kinds import FOREST, GAUSSIAN

FILE = RESULTS / "tuning" / "bayesian-surrogates.csv"
SAMPLES, SEEDS = (100, 200, 500), (2003, 2004)
COLUMNS = ("problem", "seed", "surrogate", *map(str, SAMPLES), "seconds")


def run() -> None:
    """Run what is not in the file."""
    campaign = development_problems()
    proven = optimum_figures(campaign)
    done = {(row["problem"], row["seed"], row["surrogate"]) for row in read_rows(FILE)}
    for at in campaign.problems:
        for seed in SEEDS:
            for surrogate in (GAUSSIAN, FOREST):
                if (at.label, str(seed), surrogate) in done:
                    continue
                start = time.process_time()
                searcher = Bayesian(surrogate=surrogate)
                record = run_cell(Cell(at.problem, "bayesian", searcher, seed, max(SAMPLES)))
                best = np.minimum.accumulate(record.evaluations().loss) / proven[at.label]["loss"]
                figures = [f"{best[samples - 1]:.4f}" for samples in SAMPLES]
                values = (at.label, seed, surrogate, *figures, f"{time.process_time() - start:.1f}")
                write_rows(FILE, COLUMNS, [dict(zip(COLUMNS, values, strict=True))], add=True)


def table() -> str:
    """Geometric means over problems and seeds, and on how many pairs the forest is lower at the end."""
    rows = read_rows(FILE)
    lines = [
        f"| surrogate | {' | '.join(map(str, SAMPLES))} | CPU s a run |",
        "|---|" + "---:|" * (len(SAMPLES) + 1),
    ]
    ends: dict[str, dict[tuple[str, str], float]] = {}
    for surrogate in (GAUSSIAN, FOREST):
        chosen = [row for row in rows if row["surrogate"] == surrogate]
        means = [np.exp(np.mean(np.log([float(row[str(samples)]) for row in chosen]))) for samples in SAMPLES]
        seconds = np.mean([float(row["seconds"]) for row in chosen])
        lines.append(f"| {surrogate} | {' | '.join(f'{mean:.3f}' for mean in means)} | {seconds:.1f} |")
        ends[surrogate] = {(row["problem"], row["seed"]): float(row[str(SAMPLES[-1])]) for row in chosen}
    pairs = [(ends[FOREST][key], ends[GAUSSIAN][key]) for key in ends[FOREST]]
    lower, higher = sum(one < other for one, other in pairs), sum(one > other for one, other in pairs)
    told = f"After {SAMPLES[-1]} samples the forest is lower in {lower} of {len(pairs)}, higher in {higher}."
    return "\n".join([*lines, "", told])


if __name__ == "__main__":
    run()
    keep(FILE.with_suffix(".md"), "experiments.tuning.surrogates", table())
