"""Equal trials where samples are dear: `python -m experiments.tuning.few [team bayesian] [--workers 2]`.

Each searcher has twenty trials: its settings as they are, and settings drawn at random from RANGES here, each
run once on twelve of the problems of varied.py, under both cost models, from templates (`team` with what it
expects, as where nobody names a start). The best two of them and the settings as they are run again, from two
other seeds. A score is the mean of the logs of best loss / optimum over problems and over the budgets of
`final2`, written as a factor; trials of `bayesian` and `tpe` stop at 200 samples. Writes NAME.csv in
results/tuning/few, a line a trial, and goes on where it was stopped; and once all are done the campaigns
final2-tuned-loopnest and -maestro: the problems of `final2`, and every searcher with what was best in its
finals, but those that are best as they are: these are in final2 and final2-own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from experiments import RESULTS
from experiments.draw_small import MODELS
from experiments.final2 import BUDGETS
from experiments.tuning.ranges import RANGES as LONG
from experiments.tuning.ranges import Settings
from experiments.tuning.trials import FINALISTS, Trials, drawn
from experiments.tuning.varied import problems

HERE = RESULTS / "tuning" / "few"
PLACES = (0, 2, 4, 6, 8, 11, 12, 15, 16, 19, 20, 23)
"""Of the problems of varied.py: seven under `maestro`, five under `loopnest`, two with `any` tiles."""
FEWER_SAMPLES = {"bayesian": 200, "tpe": 200}
FIRST_SEED, FINAL_SEEDS = 6000, (6001, 6002)
RANGES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "bayesian": {
        **LONG["bayesian"],
        "n_startup_trials": [5, 10, 20, 30],
        "batch_fraction": [0.005, 0.01, 0.02, 0.04],
    },
    "gamma": {**LONG["gamma"], "population_size": [8, 12, 20, 30, 50]},
    "genetic": {**LONG["genetic"], "population_size": [10, 20, 30, 50, 80]},
    "local": {
        "n_startup_trials": [2, 4, 8, 16, 32],
        "candidates": [1, 2, 4],
        "neighbour_share": [0.25, 0.5, 0.75],
        "perturbation": [2, 3, 5, 8],
        "patience": [4, 8, 16, 32],
    },
    "team": {
        "n_teams": [2, 4, 6],
        "moves": [1, 2, 4],
        "perturbation": [2, 3, 5],
        "batch_fraction": [0.01, 0.03, 0.06],
        "exploration": [1.0, 2.0, 3.0, 5.0],
        "patience": [40, 80, 160],
        "n_restart_trials": [4, 8, 16],
        "max_training_samples": [150, 250, 350],
    },
    "tpe": {
        "n_startup_trials": [5, 10, 20, 40],
        "n_ei_candidates": [12, 24, 48, 96],
        "multivariate": [True, False],
    },
}
CAMPAIGN = """\
# Written by tuning/few.py: the problems of {first}.toml, and searchers after equal trials on other problems.
name = "{name}"
budget = {budget}
seeds = 14
cost_model = "{model}"
start = "templates"
looks = "../looks.toml"
"""


@cache
def problem(place: int) -> tuple[Problem, float]:
    """One of the problems, with its optimum."""
    made = list(problems())[PLACES[place]]
    best = certify(made).best
    assert best is not None, "solvable"
    return made, best.loss


def ratios(task: tuple[str, Settings, int, int]) -> list[float]:
    """Best loss over the optimum on a problem from a seed, after each of BUDGETS that the searcher has."""
    name, settings, place, seed = task
    made, optimum = problem(place)
    budgets = [budget for budget in BUDGETS if budget <= FEWER_SAMPLES.get(name, BUDGETS[-1])]
    points = start_points(made, "templates")
    record = run_cell(Cell(made, name, make_searcher(name, settings), seed, budgets[-1], points))
    best = np.minimum.accumulate(record.evaluations().loss)
    return [float(best[budget - 1] / optimum) for budget in budgets]


def tune(name: str, pool: ProcessPoolExecutor) -> None:
    """Run the trials that are missing, and the finals, and write each as it is done."""
    trials = Trials(HERE / f"{name}.csv", BUDGETS)

    def run(stage: str, settings: Settings, seeds: Sequence[int]) -> None:
        tasks = [(name, settings, place, seed) for seed in seeds for place in range(len(PLACES))]
        trials.run(stage, settings, lambda: pool.map(ratios, tasks))

    for settings in drawn(name, [{}], RANGES[name]):
        run("trial", settings, [FIRST_SEED])
    for settings in ({}, *trials.best("trial", FINALISTS)):
        run("final", settings, FINAL_SEEDS)


def best(name: str) -> Settings:
    """The settings that were best in a searcher's finals; those as they are, where others are no better."""
    return Trials(HERE / f"{name}.csv", BUDGETS).best("final")[0]


def campaign(model: str) -> str:
    """The file of the campaign of searchers as they are after the trials, under a cost model."""
    first = f"final2-{model}"
    text = (RESULTS / "campaigns" / f"{first}.toml").read_text(encoding="utf-8")
    problems = text[text.index("[[problems]]") : text.index("[searchers.")].rstrip()
    head = CAMPAIGN.format(first=first, name=f"final2-tuned-{model}", budget=BUDGETS[-1], model=model)
    tables = []
    for name in [name for name in RANGES if best(name)]:
        fewer = ["seeds = 4"] if name in FEWER_SAMPLES else []
        fewer += ["budget = 200"] if name == "tpe" else []
        settings = [f"{field} = {json.dumps(value)}" for field, value in best(name).items()]
        tables.append("\n".join((f"[searchers.{name}-tuned]", f'type = "{name}"', *fewer, *settings)))
    return "\n\n".join((head.rstrip(), problems, *tables)) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the searchers to tune; all if none is named"
    )
    parser.add_argument("--workers", type=int, default=2, help="how many processes run cells")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(RANGES)):
        parser.error(f"{unknown[0]!r} has no ranges; choose of {', '.join(RANGES)}")
    with ProcessPoolExecutor(options.workers) as processes:
        for each in options.names or RANGES:
            tune(each, processes)
    if all((HERE / f"{each}.csv").exists() for each in RANGES):
        for of in MODELS:
            path = RESULTS / "campaigns" / f"final2-tuned-{of}.toml"
            path.write_text(campaign(of), encoding="utf-8")
