"""Tunes a searcher on development layers: `python -m experiments.tuning.tune genetic [--workers 2]`.

Every searcher has as many trials: its defaults, and settings drawn at random from the ranges in ranges.py,
each run once on the twelve problems of devhard.toml. The best two of them and the defaults then run again,
from two other seeds; with the best of these the searcher runs in the campaigns hard12 and heldout12
(`gradient` as it was, for its best learns from four times as many mini-batches). A score is the mean of the
logs of best loss / optimum over problems and over 500, 2,000 and 5,000 samples (`bayesian` stops at 2,000, as
it does there), written as a factor. `a2c` stops there too; so do `maddpg` and `masac`, whose trials have four
of the problems, the first of them one in each form, and whose finals have all. `d4pg`, `ddpg`, `dqn`,
`generative`, `gradient`, `mast` and `qmix` stop at 500, as do `maddpg-often` and `masac-often`, which are
`maddpg` and `masac` with earlier and more updates. Writes NAME.csv in results/tuning, a line a trial,
and goes on where it was stopped. A file without `final` lines is not done: its searcher runs with its
defaults.

`ppo-categorical` is `ppo` with categorical actions. `team` and `local` were tuned by hand: see team.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest

import numpy as np

from dse.campaign.config import Campaign
from dse.campaign.reading import load_campaign
from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from experiments import RESULTS, read_rows, write_rows
from experiments.tuning.ranges import FIRST, RANGES, VARIANTS, Settings
from workloads import load_layer

HERE = RESULTS / "tuning"
SAMPLES = (500, 2000, 5000)
FEWER_SAMPLES = dict.fromkeys(("a2c", "bayesian", "maddpg", "masac"), SAMPLES[:2])
FEWER_SAMPLES |= dict.fromkeys(("d4pg", "ddpg", "dqn", "generative", "gradient", "mast", "qmix"), SAMPLES[:1])
FEWER_SAMPLES |= dict.fromkeys(("maddpg-often", "masac-often"), SAMPLES[:1])
FEWER_PROBLEMS = dict.fromkeys(("maddpg", "masac", "maddpg-often", "masac-often"), (0, 3, 7, 11))
"""Which problems the trials have; the finals have all."""
TRIALS = 20
FINALISTS = 2
FIRST_SEED, FINAL_SEEDS = 2000, (2001, 2002)
HEAD = ("round", "settings", "score", *(f"ratio_{samples}" for samples in SAMPLES))


def drawn(name: str) -> list[Settings]:
    """The settings of the trials: the defaults first, then random ones."""
    rng = np.random.Generator(np.random.PCG64(sum(name.encode())))
    trials = list(FIRST.get(name, [{}]))
    while len(trials) < TRIALS:
        trials.append({field: values[rng.integers(len(values))] for field, values in RANGES[name].items()})
    return trials


def best_losses(task: tuple[str, Settings, int, int]) -> list[float]:
    """The best losses after so many SAMPLES of a searcher on a problem of the campaign from a seed."""
    name, settings, place, seed = task
    kind, always = VARIANTS.get(name, (name, {}))
    settings = {**always, **settings}
    problem = development_problems().problems[place].problem
    places = FEWER_SAMPLES.get(name, SAMPLES)
    record = run_cell(Cell(problem, kind, make_searcher(kind, settings), seed, max(places)))
    best = np.minimum.accumulate(record.evaluations().loss)
    return [float(best[samples - 1]) for samples in places]


def tune(name: str, workers: int) -> None:
    """Run the trials that are missing, and the finals, and write each as it is done."""
    campaign = development_problems()
    proven = optimum_figures(campaign)
    optima = np.array([proven[at.label]["loss"] for at in campaign.problems])
    everywhere = range(len(optima))
    path = HERE / f"{name}.csv"
    rows = read_rows(path)
    with ProcessPoolExecutor(workers) as pool:

        def run(stage: str, settings: Settings, places: Sequence[int], seeds: Sequence[int]) -> None:
            if any(row["round"] == stage and json.loads(row["settings"]) == settings for row in rows):
                return
            tasks = [(name, settings, place, seed) for seed in seeds for place in places]
            ratios = np.array(list(pool.map(best_losses, tasks))).reshape(len(seeds), len(places), -1)
            logs = np.log(ratios / optima[list(places), np.newaxis]).mean(axis=(0, 1))
            values = [stage, json.dumps(settings), *(f"{np.exp(log):.4f}" for log in (logs.mean(), *logs))]
            rows.append(dict(zip_longest(HEAD, values, fillvalue="")))
            write_rows(path, HEAD, rows)
            print(name, *values, flush=True)

        for settings in drawn(name):
            run("trial", settings, FEWER_PROBLEMS.get(name, everywhere), [FIRST_SEED])
        trials = sorted((row for row in rows if row["round"] == "trial"), key=lambda row: float(row["score"]))
        finalists = [json.loads(row["settings"]) for row in trials[:FINALISTS]]
        first = drawn(name)[0]
        for settings in (first, *(found for found in finalists if found != first)):
            run("final", settings, everywhere, FINAL_SEEDS)
    finals = [row for row in rows if row["round"] == "final"]
    print(name, "best:", min(finals, key=lambda row: float(row["score"]))["settings"])


def development_problems() -> Campaign:
    """The campaign devhard.toml, for its problems."""
    return load_campaign(str(RESULTS / "campaigns" / "devhard.toml"), lambda name: {name: load_layer(name)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", choices=sorted(RANGES), help="the searchers to tune")
    parser.add_argument("--workers", type=int, default=2, help="how many processes run cells")
    options = parser.parse_args()
    for each in options.names:
        tune(each, options.workers)
