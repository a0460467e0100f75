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
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from dse.campaign.config import Campaign
from dse.campaign.reading import load_campaign
from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.arrays import FloatArray
from experiments import RESULTS
from experiments.tuning.ranges import FIRST, RANGES, VARIANTS, Settings
from experiments.tuning.trials import FINALISTS, Trials, drawn
from workloads import load_layer

HERE = RESULTS / "tuning"
SAMPLES = (500, 2000, 5000)
FEWER_SAMPLES = dict.fromkeys(("a2c", "bayesian", "maddpg", "masac"), SAMPLES[:2])
FEWER_SAMPLES |= dict.fromkeys(("d4pg", "ddpg", "dqn", "generative", "gradient", "mast", "qmix"), SAMPLES[:1])
FEWER_SAMPLES |= dict.fromkeys(("maddpg-often", "masac-often"), SAMPLES[:1])
FEWER_PROBLEMS = dict.fromkeys(("maddpg", "masac", "maddpg-often", "masac-often"), (0, 3, 7, 11))
"""Which problems the trials have; the finals have all."""
FIRST_SEED, FINAL_SEEDS = 2000, (2001, 2002)


def best_losses(task: tuple[str, Settings, int, int]) -> FloatArray:
    """The best losses after so many SAMPLES of a searcher on a problem of the campaign from a seed."""
    name, settings, place, seed = task
    kind, always = VARIANTS.get(name, (name, {}))
    settings = {**always, **settings}
    problem = development_problems().problems[place].problem
    places = FEWER_SAMPLES.get(name, SAMPLES)
    record = run_cell(Cell(problem, kind, make_searcher(kind, settings), seed, max(places)))
    best = np.minimum.accumulate(record.evaluations().loss)
    found: FloatArray = best[np.array(places) - 1]
    return found


def tune(name: str, workers: int) -> None:
    """Run the trials that are missing, and the finals, and write each as it is done."""
    campaign = development_problems()
    proven = optimum_figures(campaign)
    optima = np.array([proven[at.label]["loss"] for at in campaign.problems])
    everywhere = range(len(optima))
    trials = Trials(HERE / f"{name}.csv", SAMPLES)
    settled = drawn(name, FIRST.get(name, [{}]), RANGES[name])
    with ProcessPoolExecutor(workers) as pool:

        def run(stage: str, settings: Settings, places: Sequence[int], seeds: Sequence[int]) -> None:
            tasks = [(name, settings, place, seed) for seed in seeds for place in places]

            def ratios() -> list[FloatArray]:
                found = zip(tasks, pool.map(best_losses, tasks), strict=True)
                return [losses / optima[place] for (_, _, place, _), losses in found]

            trials.run(stage, settings, ratios)

        for settings in settled:
            run("trial", settings, FEWER_PROBLEMS.get(name, everywhere), [FIRST_SEED])
        finalists = [found for found in trials.best("trial", FINALISTS) if found != settled[0]]
        for settings in (settled[0], *finalists):
            run("final", settings, everywhere, FINAL_SEEDS)
    print(name, "best:", trials.best("final")[0])


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
